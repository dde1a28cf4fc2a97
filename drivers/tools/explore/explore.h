// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: what its parts share.
#ifndef UFP4_CLI_EXPLORE_H
#define UFP4_CLI_EXPLORE_H

#include <stdio.h>

#include "frame/cli.h"
#include "frame/ranks.h"
#include "frame/split.h"

extern const cli_command_t cli_explore;

// --- Models -------------------------------------------------------------------------------------

enum { EXPLORE_MAX_LAYERS = 256, EXPLORE_NAME = 48 };

typedef enum {
  EXPLORE_LINEAR,
  EXPLORE_MATMUL,  ///< a product of two activations, the second in the place of W
  EXPLORE_BF16,    ///< the host's: a product of two tensors
  EXPLORE_HOST,    ///< the host's: reads cin and writes cout numbers of each token
} explore_kind_t;

/** In the place of a width: the tokens of a sequence, which are those of the step. */
enum { EXPLORE_SEQUENCE = 0 };

/** The part of a layer that each of the chips has which share it: all of it; some columns of Y, and
 * so rows of W; some columns of X, and so a part of each sum; some of its matrices. */
typedef enum { EXPLORE_WHOLE, EXPLORE_COLUMNS, EXPLORE_ROWS, EXPLORE_HEADS } explore_share_t;

/** Layers of one shape in one block of a model. */
typedef struct {
  char name[EXPLORE_NAME];
  explore_kind_t kind;
  int64_t cin, cout, count;
  int64_t tokens;                ///< that it sees; 0: a share of those of the step
  int64_t tokens_of, tokens_by;  ///< this one
  int64_t group;                 ///< matrices of so many tokens that share one W
  explore_share_t share;
  int64_t parts;   ///< that many chips, or a divisor of it, can share it; 0: any
  int joined;      ///< what it gives is added up with another layer's before it is sent
  unsigned kinds;  ///< of blocks, that have it: bits
  int64_t blocks;  ///< of the model, that have it
} explore_layer_t;

enum { EXPLORE_MAX_KINDS = 2 };

/** Blocks that are alike. */
typedef struct {
  const char *name;  ///< of their total
  int64_t blocks;
} explore_blocks_t;

typedef struct {
  char name[EXPLORE_NAME];
  int64_t blocks;
  int kind_count;
  explore_blocks_t kinds[EXPLORE_MAX_KINDS];  ///< in their order
  int64_t every;  ///< each so many-th block is of the second kind; 0: the first kind's are in front
  int layer_count, host_count;                 ///< the core's, and behind them the host's
  explore_layer_t layers[EXPLORE_MAX_LAYERS];  ///< all of them
} explore_model_t;

static inline int explore_is_host(const explore_layer_t *layer) {
  return layer->kind == EXPLORE_BF16 || layer->kind == EXPLORE_HOST;
}

static inline int explore_is_of(const explore_layer_t *layer, int kind) {
  return layer->kinds >> kind & 1;
}

/** The kind of the block with that number, from 0 on. */
static inline int explore_kind_at(const explore_model_t *model, int64_t block) {
  if (model->every != 0) return (block + 1) % model->every == 0;
  return model->kind_count > 1 && block >= model->kinds[0].blocks;
}

/** A model that is built in, or the layers of a CSV file, which are one block; or with @p hf of a
 * config.json. @p attention: its products are the core's. @p blocks: the first of them, or 0: its
 * own. @return CLI_GO_ON or the exit status. */
int explore_model(const char *shapes, const char *hf, int attention, int64_t blocks,
                  explore_model_t *model);
/** @return whether there is such a model. */
int explore_architecture(const char *name, explore_model_t *model);
void explore_architecture_details(FILE *out);
int explore_hf(const char *path, int64_t blocks, explore_model_t *model);
/** Prints what --help says of models. */
void explore_model_details(FILE *out);

// --- Lists --------------------------------------------------------------------------------------

enum { EXPLORE_MAX_WORDS = 1024 };

/** The words that an option lists. */
typedef struct {
  char *words[EXPLORE_MAX_WORDS];
  int count;
} explore_list_t;

/** Adds the words of @p text. @return CLI_GO_ON or the exit status. */
int explore_list(const char *option, const char *text, explore_list_t *list);
void explore_list_free(explore_list_t *list);

// --- Cases --------------------------------------------------------------------------------------

enum { EXPLORE_MAX_CORES = SPLIT_MAX_CORES };

/** How cores share a GEMM: by rows or columns of D, or by the better of both; or layers that are
 * alike, one on each core, and a layer alone by the better of both. */
typedef enum {
  EXPLORE_SPLIT_ROWS,
  EXPLORE_SPLIT_COLUMNS,
  EXPLORE_SPLIT_AUTO,
  EXPLORE_SPLIT_GEMMS,
  EXPLORE_SPLIT_COUNT,  ///< of a row: it was not split
} explore_split_t;

/** Chips that share a step. */
typedef struct {
  char text[32];               ///< as they were given
  int data, tensor, pipeline;  ///< parallel
  int experts;                 ///< of the replicas, so many share the experts
} explore_chips_t;

/** A link, each way: 10^9 bytes a second, and a message's latency. */
typedef struct {
  double gbps, us;
} explore_link_t;

/** How chips share a step, and what they have. */
typedef struct {
  const char *text;               ///< --chips as it was given, or NULL: there is one chip
  explore_link_t tensor, others;  ///< between chips that share layers, and all others
  int zero;                       ///< stage: what replicas share of optimizer, dW, W
  int recompute, sequence;        ///< switches
  int interleave;                 ///< stages of a chip
  int reduce;                     ///< what dW is sent in: explore_reduce_bytes
  double hbm_gb, link_pj;         ///< 0: not given
} explore_layout_t;

/** Core, memory, recipe and size of a step. */
typedef struct {
  ufp4_recipe_t recipe;
  ufp4_configuration_t core;
  unsigned cores;  ///< of these that share the memory
  unsigned mem_bandwidth, mem_latency;
  char dram[24];     ///< a name of base/dram.h, or empty
  double clock_mhz;  ///< that was asked for, or its core's
  int64_t tokens;    ///< of a step
  int micro;         ///< micro-batches of it, one after the other
  explore_chips_t chips;
  char reason[sizeof((ufp4_message_t *)0)->text];  ///< why the core cannot do it; empty if it can
  char note[192];  ///< which setting has no effect, and what --ppa lacks; empty if neither
} explore_case_t;

enum { EXPLORE_LISTS = 10 };
/** The options that take lists. */
extern const char *const explore_list_names[EXPLORE_LISTS];

enum { EXPLORE_UNITS = 7 };

/** The figures of a unit, as ./ufp4 ppa has them; NaN where it has no row. Energies are in fJ. */
typedef struct {
  const char *name;
  double um2;
  double fprop[UFP4_ELEM_COUNT], wgrad[UFP4_ELEM_COUNT];  ///< of a MAC, by the elements of its data
  double idle, clock_pins;  ///< of a lane's cycle without load, and of the pins that a clock drives
} explore_unit_t;

/** Rows of a cell library. */
typedef struct {
  const char *text;  ///< as it was given, or NULL: without
  char name[128];    ///< library and flow
  double byte_pj;    ///< of a byte on the bus, 0: not known
  double bit_um2;    ///< of a bit of a memory, NaN: not known
  double bit_fj;     ///< of one that is read or written, likewise
  explore_unit_t units[EXPLORE_UNITS];
} explore_ppa_t;

/** The settings that hold for all cases. */
typedef struct {
  const char *folder;
  const char *lists[EXPLORE_LISTS];  ///< as they were given
  char words[1024];                  ///< the command as it was given, for the report
  explore_model_t model;
  ufp4_dtype_t source;
  int serial;  ///< one job after the other
  explore_split_t split;
  int host_bytes;        ///< with rows of the host's layers
  int batches;           ///< micro-batches, 0: explore_batches decides
  const char *timeline;  ///< of the only case, or NULL
  double clock_mhz;      ///< of all cases, or 0: each has its core's
  explore_layout_t layout;
  explore_ppa_t ppa;
  explore_case_t *cases;
  int case_count;
  uint32_t mark;  ///< of all that a row depends on: explore_kept_mark
  ranks_t ranks;
} explore_plan_t;

/** Gives a case its clock: that of --clock-mhz, or of its core. @return likewise. */
int explore_clock(const explore_plan_t *plan, explore_case_t *one);
/** The length of a cycle for a memory with banks, in femtoseconds; 0: the case has none. */
uint64_t explore_cycle_fs(const explore_case_t *of);
/** The seconds that these cycles take. */
double explore_seconds(const explore_case_t *of, double cycles);
/** Prints of which cores the clocks are, a line of each, unless a clock was asked for. */
void explore_print_clocks(const explore_plan_t *plan);
/** @param chips, link  options, or NULL. @return CLI_GO_ON or the exit status. */
int explore_link(const char *chips, const char *link, explore_plan_t *plan);
/** A word of --chips, or NULL. @return likewise */
int explore_chips(const char *word, explore_case_t *one);
/** Gives a case the reason why its chips cannot share the model. */
void explore_check_chips(const explore_plan_t *plan, explore_case_t *one);
/** @param path  a ppa.json, or asap7 for the rows that are built in, or NULL. @return likewise. */
int explore_ppa(const char *path, float byte_pj, float bit_um2, float bit_fj, explore_plan_t *plan);
/** Notes of a case what the rows lack. */
void explore_ppa_note(const explore_plan_t *plan, explore_case_t *one);
/** Whether two have the same core, memory, recipe and tokens. */
int explore_is_same_case(const explore_case_t *a, const explore_case_t *b);
/** Refuses a case that those of the plan have already, by other words: one is enough. @return
 * likewise. */
int explore_check_case(const explore_plan_t *plan, const explore_case_t *one);

// --- Results ------------------------------------------------------------------------------------

typedef enum {
  EXPLORE_FPROP,
  EXPLORE_DGRAD,
  EXPLORE_WGRAD,
  EXPLORE_AMAX,
  EXPLORE_QUANT,
  EXPLORE_ALL,       ///< a total
  EXPLORE_FORWARD,   ///< the host's part
  EXPLORE_BACKWARD,  ///< likewise
} explore_pass_t;

enum { EXPLORE_NO_BATCH = -1 };

/** Behind the core's counters the bits that were read and written in its memories, parity included:
 * of accumulators, operands with their scales, C and earlier sums, and QUANT. */
enum {
  EXPLORE_SUM_BITS = UFP4_COUNTER_COUNT,
  EXPLORE_OPERAND_BITS,
  EXPLORE_ADDEND_BITS,
  EXPLORE_QUANT_BITS,
  EXPLORE_COUNTERS,
};
/** A case does not go, and says why. */
enum { EXPLORE_FAILED = -2 };

/** One line: a job, or a total of jobs. What has no meaning is NaN, what is not there is NULL. */
typedef struct {
  const char *layer;
  explore_pass_t pass;
  const char *tensor;  ///< that AMAX and QUANT read
  int batch;           ///< its micro-batch, or EXPLORE_NO_BATCH
  explore_split_t split;
  const explore_case_t *of;
  int64_t count;    ///< of this job in a step of the model
  int64_t m, n, k;  ///< of AMAX and QUANT rows, columns and 0; of totals 0
  double macs;      ///< useful ones, of one
  double cycles;    ///< of one; of several at once those of all, divided by how many
  double tokens;
  double compute, load, memory, output;    ///< cycles that each alone would need
  double ahead, burst;                     ///< of memory, of a GEMM's; bounds.h
  double array;                            ///< the array with its ports; bounds.h
  double read, written;                    ///< bytes of data, of one
  double counters[EXPLORE_COUNTERS];       ///< of one
  double block_cycles[EXPLORE_MAX_KINDS];  ///< of a step: those of one block of each kind
} explore_row_t;

typedef struct {
  explore_row_t *rows;
  int count, capacity;
} explore_rows_t;

/** Micro-batches of a case: those that were asked for, else two where each layer has two
 * macro-tiles of rows in each, for with fewer W is read twice and hardly used more. */
int explore_batches(const explore_plan_t *plan, const explore_case_t *of);
int explore_add_row(explore_rows_t *rows, const explore_row_t *row);
/** Measures all jobs of a case, adds their rows and the totals; or where that does not go a row
 * with the reason. @return CLI_GO_ON or the exit status. */
int explore_run(const explore_plan_t *plan, explore_case_t *one, explore_rows_t *rows);
/** Writes down why a case does not go. @return EXPLORE_FAILED. */
int explore_fail(explore_case_t *one, ufp4_status_t status, const char *message);
void explore_print_csv_head(FILE *out, const explore_plan_t *plan);
void explore_print_csv(FILE *out, const explore_plan_t *plan, const explore_row_t *row);
void explore_print_head(const explore_plan_t *plan);
void explore_print_line(const explore_plan_t *plan, const explore_row_t *row);
/** Prints what the steps need, and what they take on many chips, a line of each. */
void explore_print_steps(const explore_plan_t *plan, const explore_rows_t *rows);
json_t *explore_json_row(const explore_plan_t *plan, const explore_row_t *row);

// --- Cases that have ended ----------------------------------------------------------------------

/** Gives the plan its mark, which the files of its cases have. @return as all of these */
int explore_kept_mark(explore_plan_t *plan);
/** Makes DIR/cases, or goes on with it, if it is of the same settings. @return CLI_GO_ON or the
 * exit status. */
int explore_kept_open(const explore_plan_t *plan, int resume);
int explore_kept_write(const explore_plan_t *plan, int index, const explore_row_t *rows, int count);
/** Adds the rows, and gives the case its reason. @param[out] found 0: it has not ended, or under
 * other settings */
int explore_kept_read(const explore_plan_t *plan, int index, explore_rows_t *rows, int *found);
int explore_kept_remove(const explore_plan_t *plan);

/** Returns what explore.csv does not say of its cases, as DIR/explore.json has it; NULL without
 * memory. */
json_t *explore_document(const explore_plan_t *plan, const explore_rows_t *rows);

#endif
