// SPDX-License-Identifier: Apache-2.0
// The commands share this: the command table, options, messages and exit statuses
// (docs/reference/commands.md).
#ifndef UFP4_CLI_H
#define UFP4_CLI_H

#include <stdint.h>
#include <stdio.h>

#include "bounds.h"
#include "json.h"
#include "ufp4.h"
#include "ufp4_file.h"

/** Exit statuses; 128 + n on signal n is the shell's. */
enum {
  CLI_OK = 0,        ///< done and equal
  CLI_MISMATCH = 1,  ///< a mismatch, or a verdict failed
  CLI_USAGE = 2,     ///< usage or bad input
  CLI_DEVICE = 3,    ///< device or environment, or not in this version
};

/** One command; each command's file defines one, and main.c lists them. */
typedef struct {
  const char *name;
  const char *arguments;       ///< for the usage line: "A B -o D.npy [options]"
  const char *summary;         ///< one sentence
  const char *example;         ///< a command that works
  void (*details)(FILE *out);  ///< prints what --help says after the options, in lines; or NULL
  int (*run)(int argc, char **argv);
} cli_command_t;

extern const cli_command_t cli_quantize, cli_dequantize, cli_gemm, cli_layer, cli_train, cli_demo,
    cli_info, cli_cast, cli_random, cli_bench, cli_bias, cli_vectors, cli_explore;

// --- Messages -----------------------------------------------------------------------------------

/** Prints "ufp4 COMMAND: message" as one line to stderr and returns @p exit_status. */
int cli_fail(const cli_command_t *command, int exit_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Does the same for a failed library call: prints @p message, or where that is empty what the
 * status says.
 * @return the exit status that belongs to it: UFP4_ERROR_UNSUPPORTED, MEMORY, DEVICE, JOB, TIMEOUT
 * and STORAGE 3, all others 2. */
int cli_fail_status(const cli_command_t *command, ufp4_status_t status, const char *message);
/** Prints @p json, NULL without memory, to stdout with that many digits of real numbers, and frees
 * it. @return CLI_GO_ON or the exit status. */
int cli_json_print(const cli_command_t *command, json_t *json, int digits);
/** Whether all that went to stdout has got there; to be asked before files take their names, so
 * that a result that could not be printed leaves none. Prints what is wrong. @return CLI_GO_ON or
 * the exit status. */
int cli_printed(void);

/** @p word as a shell reads it: in quotes, where it needs them; as far as there is room. @return
 * the length that it needs. */
size_t cli_quote(const char *word, char *text, size_t size);
/** "ufp4" and the arguments, quoted, with blanks between them, as far as there is room. */
void cli_join_words(int argc, char **argv, char *words, size_t size);
/** A CRC of the program's file, in hex; "unknown" where the system does not show it. */
void cli_program_mark(char mark[16]);

/** Does the same for a failed call on a file, by errno: "PATH: cannot DOING: reason". @return 3
 * where there is no room or the disk fails, else 2. */
int cli_fail_errno(const cli_command_t *command, const char *path, const char *doing);

// --- Signals ------------------------------------------------------------------------------------

/** Signals that end the program say so first; writing beyond ulimit -f becomes an error of that
 * write. */
void cli_signals_begin(void);
/** Signals that end the program say that --resume goes on with @p command; NULL: no longer. */
void cli_signals_resume(const cli_command_t *command);
/** From now on the first SIGINT, SIGTERM or SIGHUP ends nothing: cli_interrupted tells of it. The
 * second ends the program at once, as any did before. */
void cli_catch_interrupts(void);
/** The number of the signal that has come since cli_catch_interrupts, or 0; to be asked by any
 * thread, at each step of long work. */
int cli_interrupted(void);
/** When that work has stopped: "ufp4 COMMAND: interrupted; HOW", where @p how says how to go on.
 * @return the exit status, 128 + the signal's number. */
int cli_fail_interrupted(const cli_command_t *command, const char *how);
/** While waveforms for @p path are written to @p beside, a full disk may come as SIGBUS: then a
 * line, exit status 3, and no file. Signals that end the program remove it, too. */
void cli_signals_trace(const char *path, const char *beside);

// --- Options ------------------------------------------------------------------------------------

typedef enum {
  CLI_FLAG,    ///< int *: 1 if given
  CLI_TEXT,    ///< const char **
  CLI_CHOICE,  ///< int *: index among the words of argument, which are separated by '|'
  CLI_UINT,    ///< uint64_t *: decimal or 0x
  CLI_INT,     ///< int64_t *
  CLI_REAL,    ///< float *
} cli_kind_t;

/** What an option makes the launcher install or build before it runs the command. */
typedef enum {
  CLI_NEEDS_NOTHING,
  CLI_NEEDS_BACKEND,        ///< of CLI_TEXT: what the backend that it names runs on
  CLI_NEEDS_CONFIGURATION,  ///< of CLI_TEXT: this core, if a backend simulates its RTL
  CLI_NEEDS_DRAWING,        ///< a Python that draws
  CLI_NEEDS_PAGE,           ///< the same, without which the command does all but its page
} cli_need_t;

/** One option. What @p value points to keeps its contents where the option is not given. A name of
 * one letter is a short option. */
typedef struct {
  const char *name;
  cli_kind_t kind;
  void *value;
  const char *argument;  ///< what --help calls it, and the words of CLI_CHOICE; NULL for CLI_FLAG
  const char *help;
  int given;          ///< set by cli_parse
  const char *range;  ///< what is legal, for messages; NULL: all of its kind
  cli_need_t need;
} cli_option_t;

#define CLI_MAX_OPTIONS 40
typedef struct {
  cli_option_t items[CLI_MAX_OPTIONS];
  int count;
} cli_options_t;

void cli_option_add(cli_options_t *options, const char *name, cli_kind_t kind, void *value,
                    const char *argument, const char *help);
/** Sets what messages say that the value of the last option must be: "1 or 2". */
void cli_option_range(cli_options_t *options, const char *range);
/** Sets what the last option needs. */
void cli_option_need(cli_options_t *options, cli_need_t need);

/** cli_parse handled everything (--help), or failed: return cli_parse's other value. */
#define CLI_GO_ON (-1)
/** Parses argv[1..]; the inputs are moved to argv[argc - count..]. An option that is given twice is
 * refused.
 *  @return CLI_GO_ON, or the exit status to end with. */
int cli_parse(const cli_command_t *command, cli_options_t *options, int argc, char **argv,
              int min_inputs, int max_inputs, char ***inputs, int *count);
/** Whether cli_parse met this option. */
int cli_option_given(const cli_options_t *options, const char *name);

/** `ufp4 --needs COMMAND ..`: prints what the launcher has to install or build before it runs
 * `ufp4 COMMAND ..`, and nothing for a command line that cli_parse refuses. @p command is NULL if
 * the program has no command argv[0]. @return the exit status. */
int cli_needs(const cli_command_t *command, int argc, char **argv);
/** From now on cli_parse gives the options that it has read to @p taker and ends the command with
 * CLI_OK; it prints no help. */
void cli_parse_for(void (*taker)(const cli_options_t *options));

// --- Device options -----------------------------------------------------------------------------

/** A simulated memory gives nothing in the cycle in which it is asked. */
enum { CLI_MEM_LATENCY_LEAST = 1 };

/** --backend and the options of the simulated backends. */
typedef struct {
  const char *backend;
  ufp4_device_options_t options;
  const char *configuration;  ///< NULL: "default", or what the board has
  uint64_t mem_latency, mem_bandwidth, stall_seed, max_cycles, threads;
  const char *trace, *timeline, *dram;
  int timing_only;
  int any_configuration;  ///< --config has a meaning on every backend
} cli_device_t;

/** Finds what --config gives: a name, parameters (base/configuration.h), or a FILE.toml of these,
 * with the fields of cmodel/spec/ufp4.toml. @return as configuration_find */
ufp4_status_t cli_configuration(const char *word, ufp4_configuration_t *core,
                                ufp4_message_t *message);
/** Raises the device memory to hold @p bytes of buffers. */
void cli_device_demand(cli_device_t *device, uint64_t bytes);
/** The memory of --mem-latency and --mem-bandwidth, for report_case_make. */
bounds_memory_t cli_device_memory(const cli_device_t *device);
/** Defaults: backend "model". */
void cli_device_init(cli_device_t *device);
/** Adds --backend, --config, --mem-latency, --mem-bandwidth, --dram, --stall, --max-cycles,
 * --trace, --timeline and --threads. */
void cli_device_add(cli_options_t *options, cli_device_t *device);
/** Adds --timing-only; what it goes with is cli_device_check's. */
void cli_device_add_timing(cli_options_t *options, cli_device_t *device);
/** Refuses what is no value of --dram. @return CLI_GO_ON or the exit status. */
int cli_dram(const cli_command_t *command, const char *name);
/** Refuses options of the simulated core that were given where neither device->backend nor @p check
 * (or NULL) is one, and --timing-only where there is none or something to compare.
 *  @return CLI_GO_ON or the exit status. */
int cli_device_check(const cli_command_t *command, const cli_options_t *options,
                     const cli_device_t *device, const char *check);
/** Refuses a --trace or --timeline that cannot be written, or that is one of @p count other files
 * of the command (NULL: not given).
 *  @return CLI_GO_ON or the exit status. */
int cli_device_check_trace(const cli_command_t *command, const cli_device_t *device,
                           const char *const *files, int count);
/** A flat JSON object of what device->backend's cycles depend on, empty where it is no core. */
json_t *cli_device_settings(const cli_device_t *device);
/** Opens backend @p name (device->backend, or that of --check) with these options. Where both have
 * waveforms, or a time line, they are those of device->backend. On failure *out is NULL and the
 * message has been printed. @return CLI_GO_ON or the exit status. */
int cli_device_open(const cli_command_t *command, const cli_device_t *device, const char *name,
                    ufp4_device_t **out);
/** ufp4_device_trace_end, with what it says. @return CLI_GO_ON or the exit status. */
int cli_device_trace_end(const cli_command_t *command, ufp4_device_t *device);
/** The same, and closes it. */
int cli_device_close(const cli_command_t *command, ufp4_device_t *device);

// --- Kernels ------------------------------------------------------------------------------------

/** Whether the environment's UFP4_KERNEL, where it is set, names a kernel that this processor has;
 * prints what is wrong. @return CLI_GO_ON or the exit status. */
int cli_kernel_check(void);
/** The kernel that UFP4_KERNEL names, or the fastest. */
ufp4_kernel_t cli_kernel(void);

// --- Recipes ------------------------------------------------------------------------------------

/** A named recipe, or one from FILE.json, with messages. @return CLI_GO_ON or the exit status. */
int cli_recipe(const cli_command_t *command, const char *name, ufp4_recipe_t *recipe);
/** Prints what --help says of recipes. */
void cli_recipe_details(FILE *out);
/** Does what cli_recipe does, for a command that has one layer and no model: refuses a recipe that
 * needs a model.
 */
int cli_recipe_of_one(const cli_command_t *command, const char *name, ufp4_recipe_t *recipe);
/** Whether @p device runs this recipe's layers, to be asked before anything takes long; prints why
 * it does not.
 *  @return CLI_GO_ON or the exit status. */
int cli_recipe_check(const cli_command_t *command, ufp4_device_t *device,
                     const ufp4_recipe_t *recipe);

// --- Files --------------------------------------------------------------------------------------

/** Reads a plain tensor of floats, printing what is wrong. @return CLI_GO_ON or the exit status. */
int cli_tensor_read(const cli_command_t *command, const char *path, int uint16_is_bf16,
                    ufp4_tensor_t *out);
/** Calls ufp4_operand_read, and prints to stderr what of a layer was ignored. @return CLI_GO_ON or
 * the exit status. */
int cli_operand_read(const cli_command_t *command, const char *path, ufp4_operand_t *out,
                     ufp4_quantize_t *how);
/** Prints what --help says of such inputs. */
void cli_operand_details(FILE *out);

/** A plain tensor that is to be quantized: refuses a side that no operand can have.
 *  @return CLI_GO_ON or the exit status. */
int cli_tensor_sides(const cli_command_t *command, const char *path, const ufp4_tensor_t *tensor);
/** Says on stderr that blocks of @p tensor have NaN scales, and why; @p in_bf16: it may be
 * transformed with results in BF16. */
void cli_nan_print(const cli_command_t *command, const char *tensor, int in_bf16);

typedef enum { CLI_ANY_FILE, CLI_NPY, CLI_SAFETENSORS } cli_file_t;
/** Says before the work what would fail after it: @p path cannot be created or replaced, is one of
 * @p count inputs (NULL: not given), or is a name for files of another kind. @return CLI_GO_ON or
 * the exit status. */
int cli_output_file(const cli_command_t *command, const char *path, cli_file_t kind,
                    const char *const *inputs, int count);
/** Does the same for a directory, which need not exist yet. */
int cli_output_directory(const cli_command_t *command, const char *path);
/** Refuses an output (NULL: not given) that is one of the files which the command writes into
 * @p folder. @return CLI_GO_ON or the exit status. */
int cli_output_apart(const cli_command_t *command, const char *path, const char *folder,
                     const char *const *files, int count);
/** Makes it, if it is not there; *made tells. @return CLI_GO_ON or the exit status. */
int cli_output_make_directory(const cli_command_t *command, const char *path, int *made);
/** Two processes in one directory would write the same files: refuses a second one, as long as this
 * one lives. @return CLI_GO_ON or the exit status. */
int cli_output_lock(const cli_command_t *command, const char *path);
/** Removes one that was made and is empty; links are followed. */
void cli_output_remove_directory(const char *path);

#endif
