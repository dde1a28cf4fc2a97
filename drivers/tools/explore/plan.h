// SPDX-License-Identifier: Apache-2.0
// ufp4 explore: the settings of all cases, and of each case.
#ifndef UFP4_CLI_EXPLORE_PLAN_H
#define UFP4_CLI_EXPLORE_PLAN_H

#include "explore/model/model.h"
#include "frame/cli.h"
#include "frame/ranks.h"
#include "frame/split.h"

extern const cli_command_t cli_explore;

enum { EXPLORE_MAX_CORES = SPLIT_MAX_CORES };

/** How cores share GEMMs: each by rows or columns of D, or by the better of both; or equal layers
 * run concurrently, one per core, and single layers are shared by the better of both. */
typedef enum {
  EXPLORE_SPLIT_ROWS,
  EXPLORE_SPLIT_COLUMNS,
  EXPLORE_SPLIT_AUTO,
  EXPLORE_SPLIT_GEMMS,
  EXPLORE_SPLIT_COUNT,  ///< in a row: the GEMM was not split
} explore_split_t;

/** The chips that share a step. */
typedef struct {
  char text[32];               ///< as given
  int data, tensor, pipeline;  ///< parallelism of each kind
  int experts;                 ///< replicas that share the experts
} explore_chips_t;

/** A link: 10^9 bytes per second in each direction, and the latency of a message. */
typedef struct {
  double gbps, us;
} explore_link_t;

/** How chips share a step, and their properties. */
typedef struct {
  const char *text;               ///< --chips as given, or NULL: one chip
  explore_link_t tensor, others;  ///< between chips that share layers, and between all others
  int zero;                       ///< stage of ZeRO: replicas share the optimizer, dW, W
  int recompute, sequence;        ///< switches
  int interleave;                 ///< stages per chip
  int reduce;                     ///< format of dW on links: explore_reduce_bytes
  double hbm_gb, link_pj;         ///< 0: not given
} explore_layout_t;

/** Core, memory, recipe and size of a step. */
typedef struct {
  ufp4_recipe_t recipe;
  ufp4_configuration_t core;
  unsigned cores;  ///< cores that share the memory
  unsigned mem_bandwidth, mem_latency;
  char dram[24];     ///< a name from base/dram.h, or empty
  double clock_mhz;  ///< the requested one, or that of its core
  int64_t tokens;    ///< tokens of a step
  int micro;         ///< micro-batches of a step, one after the other
  explore_chips_t chips;
  char reason[sizeof((ufp4_message_t *)0)->text];  ///< why the core cannot run it; empty if it can
  char note[192];  ///< settings without effect, and rows that --ppa lacks; may be empty
} explore_case_t;

enum { EXPLORE_LISTS = 10 };
/** The options that accept lists. */
extern const char *const explore_list_names[EXPLORE_LISTS];

enum { EXPLORE_UNITS = 10 };

/** The figures of a unit from ./ufp4 ppa; NaN if it has no row. Energies are in fJ. */
typedef struct {
  const char *name;
  double um2;
  double fprop[UFP4_ELEM_KINDS], wgrad[UFP4_ELEM_KINDS];  ///< per MAC, by the elements of its data
  double idle, clock_pins;  ///< per cycle of a lane without load, and of the clock pins
} explore_unit_t;

/** The rows of a cell library. */
typedef struct {
  const char *text;  ///< as given, or NULL: no library
  char name[128];    ///< library and flow
  double byte_pj;    ///< per byte on the bus; 0: unknown
  double bit_um2;    ///< per bit of a memory; NaN: unknown
  double bit_fj;     ///< per bit read or written; NaN: unknown
  explore_unit_t units[EXPLORE_UNITS];
} explore_ppa_t;

/** The settings common to all cases. */
typedef struct {
  const char *folder;
  const char *lists[EXPLORE_LISTS];  ///< as given
  char words[1024];                  ///< the command line, for the report
  explore_model_t model;
  ufp4_dtype_t source;
  int serial;  ///< jobs run one after the other
  explore_split_t split;
  int host_bytes;        ///< add rows of the host's layers
  int batches;           ///< micro-batches; 0: explore_batches decides
  const char *timeline;  ///< file for the only case, or NULL
  double clock_mhz;      ///< of all cases, or 0: each has its core's
  explore_layout_t layout;
  explore_ppa_t ppa;
  explore_case_t *cases;
  int case_count;
  uint32_t mark;  ///< checksum of everything that rows depend on: explore_kept_mark
  ranks_t ranks;
} explore_plan_t;

#endif
