// SPDX-License-Identifier: Apache-2.0
// The frame of all commands: the command table, options, messages and exit statuses
// (docs/reference/commands.md).
#ifndef UFP4_CLI_H
#define UFP4_CLI_H

#include <stdint.h>
#include <stdio.h>

#include "bounds.h"
#include "json.h"
#include "ufp4.h"
#include "ufp4_file.h"

/** Exit statuses; the shell adds 128 + n for signal n. */
enum {
  CLI_OK = 0,        ///< success, and equal if compared
  CLI_MISMATCH = 1,  ///< a mismatch, or a verdict failed
  CLI_USAGE = 2,     ///< usage or bad input
  CLI_DEVICE = 3,    ///< device or environment error, or unsupported in this version
};

/** A command; the file of each command defines one, and main.c lists them. */
typedef struct {
  const char *name;
  const char *arguments;       ///< for the usage line: "A B -o D.npy [options]"
  const char *summary;         ///< one sentence
  const char *example;         ///< a command that works
  void (*details)(FILE *out);  ///< prints further lines of --help after the options; or NULL
  int (*run)(int argc, char **argv);
} cli_command_t;

extern const cli_command_t cli_quantize, cli_dequantize, cli_gemm, cli_layer, cli_train, cli_demo,
    cli_info, cli_cast, cli_random, cli_bench, cli_bias, cli_vectors, cli_explore;

// --- Messages -----------------------------------------------------------------------------------

/** Prints "ufp4 COMMAND: message" as one line to stderr and returns @p exit_status. */
int cli_fail(const cli_command_t *command, int exit_status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/** Prints such a line for a failed library call, with @p message, or if that is empty, with the
 * text of the status. @return the exit status: UFP4_ERROR_UNSUPPORTED, MEMORY, DEVICE, JOB, TIMEOUT
 * and STORAGE 3, all others 2. */
int cli_fail_status(const cli_command_t *command, ufp4_status_t status, const char *message);
/** Prints @p json, which may be NULL for exhausted memory, to stdout with that many digits of real
 * numbers, and frees it. @return CLI_GO_ON or the exit status. */
int cli_json_print(const cli_command_t *command, json_t *json, int digits);
/** Checks that all output to stdout has been written. Commands call it before files get their
 * names, so that a result that could not be printed leaves no files. Prints the error. @return
 * CLI_GO_ON or the exit status. */
int cli_printed(void);

/** Quotes @p word for the shell if necessary, as far as there is room. @return the length that it
 * needs. */
size_t cli_quote(const char *word, char *text, size_t size);
/** Formats "ufp4" and the arguments, quoted and separated by blanks, as far as there is room. */
void cli_join_words(int argc, char **argv, char *words, size_t size);
/** Returns a CRC of the program's file in hex; "unknown" if the system does not reveal the
 * file. */
void cli_program_mark(char mark[16]);

/** Prints "ufp4 COMMAND: PATH: cannot DOING: reason" for a failed file operation, from errno.
 * @return 3 if there is no room or the disk fails, otherwise 2. */
int cli_fail_errno(const cli_command_t *command, const char *path, const char *doing);

// --- Signals ------------------------------------------------------------------------------------

/** Makes signals that end the program print a line first, and turns a write beyond ulimit -f into
 * an error of that write. */
void cli_signals_begin(void);
/** Makes that line say that --resume continues with @p command; NULL: not any more. */
void cli_signals_resume(const cli_command_t *command);
/** From now on the first SIGINT, SIGTERM or SIGHUP only sets cli_interrupted, and the second ends
 * the program at once. */
void cli_catch_interrupts(void);
/** Returns the number of the signal since cli_catch_interrupts, or 0. Any thread may call it, at
 * each step of long work. */
int cli_interrupted(void);
/** Prints "ufp4 COMMAND: interrupted; HOW" after the work has stopped, where @p how says how to
 * continue. @return the exit status, 128 + the signal's number. */
int cli_fail_interrupted(const cli_command_t *command, const char *how);
/** While waveforms for @p path are written to @p beside, a full disk may raise SIGBUS: prints a
 * line, ends with exit status 3, and leaves no file. Signals that end the program also remove the
 * file. */
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
  CLI_NEEDS_BACKEND,        ///< CLI_TEXT: what the named backend runs on
  CLI_NEEDS_CONFIGURATION,  ///< CLI_TEXT: the named core, if a backend simulates its RTL
  CLI_NEEDS_DRAWING,        ///< a Python that draws
  CLI_NEEDS_PAGE,           ///< a Python that draws; without it the command runs, but draws no page
} cli_need_t;

/** An option. The variable that @p value points to is unchanged if the option is not given. A name
 * of one letter is a short option. */
typedef struct {
  const char *name;
  cli_kind_t kind;
  void *value;
  const char *argument;  ///< its name in --help, and the words of CLI_CHOICE; NULL for CLI_FLAG
  const char *help;
  int given;          ///< set by cli_parse
  const char *range;  ///< legal values, for messages; NULL: all of the kind
  cli_need_t need;
} cli_option_t;

#define CLI_MAX_OPTIONS 40
typedef struct {
  cli_option_t items[CLI_MAX_OPTIONS];
  int count;
} cli_options_t;

void cli_option_add(cli_options_t *options, const char *name, cli_kind_t kind, void *value,
                    const char *argument, const char *help);
/** Sets the legal values of the last option as messages name them: "1 or 2". */
void cli_option_range(cli_options_t *options, const char *range);
/** Sets what the last option needs. */
void cli_option_need(cli_options_t *options, cli_need_t need);

/** cli_parse handled everything (--help), or failed: the command returns cli_parse's other
 * value. */
#define CLI_GO_ON (-1)
/** Parses argv[1..] and moves the inputs to argv[argc - count..]. An option given twice is
 * refused. @return CLI_GO_ON, or the exit status. */
int cli_parse(const cli_command_t *command, cli_options_t *options, int argc, char **argv,
              int min_inputs, int max_inputs, char ***inputs, int *count);
/** Returns whether cli_parse found this option. */
int cli_option_given(const cli_options_t *options, const char *name);

/** `ufp4 --needs COMMAND ..`: prints what the launcher has to install or build before it runs
 * `ufp4 COMMAND ..`, and nothing for a command line that cli_parse refuses. @p command is NULL if
 * the program has no command argv[0]. @return the exit status. */
int cli_needs(const cli_command_t *command, int argc, char **argv);
/** From now on cli_parse gives the options that it has read to @p taker and ends the command with
 * CLI_OK; it prints no help. */
void cli_parse_for(void (*taker)(const cli_options_t *options));

// --- Device options -----------------------------------------------------------------------------

/** A simulated memory cannot answer in the cycle of the request. */
enum { CLI_MEM_LATENCY_LEAST = 1 };

/** --backend and the options of simulated backends. */
typedef struct {
  const char *backend;
  ufp4_device_options_t options;
  const char *configuration;  ///< NULL: "default", or the board's own
  uint64_t mem_latency, mem_bandwidth, stall_seed, max_cycles, threads;
  const char *trace, *timeline, *dram;
  int timing_only;
  int any_configuration;  ///< --config applies to every backend
  int may_be_same;        ///< the other backend may be the same one without a word about it
} cli_device_t;

/** Resolves --config: a name, parameters (base/configuration.h), or a FILE.toml of parameters,
 * with the fields of cmodel/spec/ufp4.toml. @return as configuration_find */
ufp4_status_t cli_configuration(const char *word, ufp4_configuration_t *core,
                                ufp4_message_t *message);
/** Raises the device memory so that it holds @p bytes of buffers. */
void cli_device_demand(cli_device_t *device, uint64_t bytes);
/** Returns the memory of --mem-latency and --mem-bandwidth for report_case_make. */
bounds_memory_t cli_device_memory(const cli_device_t *device);
/** Defaults: backend "model". */
void cli_device_init(cli_device_t *device);
/** Adds --backend, --config, --mem-latency, --mem-bandwidth, --dram, --stall, --max-cycles,
 * --trace, --timeline and --threads. */
void cli_device_add(cli_options_t *options, cli_device_t *device);
/** Adds --timing-only; cli_device_check decides whether it is legal. */
void cli_device_add_timing(cli_options_t *options, cli_device_t *device);
/** Refuses illegal values of --dram. @return CLI_GO_ON or the exit status. */
int cli_dram(const cli_command_t *command, const char *name);
/** Refuses options of the simulated core unless device->backend or @p check (or NULL) is one, and
 * --timing-only if there is no tlm or results are to be compared. @return CLI_GO_ON or the exit
 * status. */
int cli_device_check(const cli_command_t *command, const cli_options_t *options,
                     const cli_device_t *device, const char *check);
/** Refuses a --trace or --timeline that cannot be written, or that is one of the command's @p
 * count other files (NULL: not given). @return CLI_GO_ON or the exit status. */
int cli_device_check_trace(const cli_command_t *command, const cli_device_t *device,
                           const char *const *files, int count);
/** Returns a flat JSON object of everything that determines device->backend's cycles; empty if it
 * is not a core. */
json_t *cli_device_settings(const cli_device_t *device);
/** Opens backend @p name (device->backend, or that of --check) with these options. Prints a line if
 * --check names device->backend, because a backend equals itself whatever it computes. If both
 * backends could write waveforms, or a timeline, only device->backend does. On failure *out is NULL
 * and the message has been printed. @return CLI_GO_ON or the exit status. */
int cli_device_open(const cli_command_t *command, const cli_device_t *device, const char *name,
                    ufp4_device_t **out);
/** Calls ufp4_device_trace_end and prints its message. @return CLI_GO_ON or the exit status. */
int cli_device_trace_end(const cli_command_t *command, ufp4_device_t *device);
/** Ends the trace with cli_device_trace_end, and closes the device. */
int cli_device_close(const cli_command_t *command, ufp4_device_t *device);

// --- Kernels ------------------------------------------------------------------------------------

/** Checks that the environment's UFP4_KERNEL, if set, names a kernel that this processor supports;
 * prints the error. @return CLI_GO_ON or the exit status. */
int cli_kernel_check(void);
/** Returns the kernel named by UFP4_KERNEL, or the fastest. */
ufp4_kernel_t cli_kernel(void);

// --- Recipes ------------------------------------------------------------------------------------

/** Finds a named recipe, or reads one from FILE.json; prints errors. @return CLI_GO_ON or the exit
 * status. */
int cli_recipe(const cli_command_t *command, const char *name, ufp4_recipe_t *recipe);
/** Prints the text about recipes in --help. */
void cli_recipe_details(FILE *out);
/** Does what cli_recipe does for a command with a single layer: refuses a recipe that needs a
 * model. */
int cli_recipe_of_one(const cli_command_t *command, const char *name, ufp4_recipe_t *recipe);
/** Checks that @p device runs this recipe's layers, before anything takes long; prints the reason
 * if not, and with @p tells the reason why the host quantizes for it. @return CLI_GO_ON or the exit
 * status. */
int cli_recipe_check(const cli_command_t *command, ufp4_device_t *device,
                     const ufp4_recipe_t *recipe, int tells);

// --- Files --------------------------------------------------------------------------------------

/** Reads a plain tensor of floats and prints errors. @return CLI_GO_ON or the exit status. */
int cli_tensor_read(const cli_command_t *command, const char *path, int uint16_is_bf16,
                    ufp4_tensor_t *out);
/** Calls ufp4_operand_read, and prints to stderr which tensors of a layer were ignored. @return
 * CLI_GO_ON or the exit status. */
int cli_operand_read(const cli_command_t *command, const char *path, ufp4_operand_t *out,
                     ufp4_quantize_t *how);
/** Prints the text about such inputs in --help. */
void cli_operand_details(FILE *out);

/** Refuses a plain tensor that is too large to be quantized. @return CLI_GO_ON or the exit
 * status. */
int cli_tensor_sides(const cli_command_t *command, const char *path, const ufp4_tensor_t *tensor);
/** Reports on stderr that blocks of @p tensor have NaN scales, and why; @p in_bf16: it may be
 * transformed with results in BF16. */
void cli_nan_print(const cli_command_t *command, const char *tensor, int in_bf16);

typedef enum { CLI_ANY_FILE, CLI_NPY, CLI_SAFETENSORS } cli_file_t;
/** Refuses, before the work, an output that would fail after it: @p path cannot be created or
 * replaced, is one of @p count inputs (NULL: not given), or has the ending of another kind of file.
 * @return CLI_GO_ON or the exit status. */
int cli_output_file(const cli_command_t *command, const char *path, cli_file_t kind,
                    const char *const *inputs, int count);
/** Refuses an output directory that would fail after the work. It need not exist yet. */
int cli_output_directory(const cli_command_t *command, const char *path);
/** Refuses an output (NULL: not given) that is one of the files which the command writes to @p
 * folder. @return CLI_GO_ON or the exit status. */
int cli_output_apart(const cli_command_t *command, const char *path, const char *folder,
                     const char *const *files, int count);
/** Creates a folder if it does not exist; *made says whether it did. @return CLI_GO_ON or the exit
 * status. */
int cli_output_make_directory(const cli_command_t *command, const char *path, int *made);
/** Locks a folder for the life of this process, because two processes would write the same files.
 * @return CLI_GO_ON or the exit status. */
int cli_output_lock(const cli_command_t *command, const char *path);
/** Removes a folder that was created and is empty; links are followed. */
void cli_output_remove_directory(const char *path);

#endif
