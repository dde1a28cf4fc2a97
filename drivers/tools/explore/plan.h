// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: the settings of all cases, and of each.
#ifndef UFP4_CLI_EXPLORE_PLAN_H
#define UFP4_CLI_EXPLORE_PLAN_H

#include "explore/model/model.h"
#include "frame/cli.h"
#include "frame/ranks.h"
#include "frame/split.h"

extern const cli_command_t cli_explore;

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

#endif
