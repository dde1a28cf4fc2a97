// SPDX-License-Identifier: Apache-2.0
// DIR/report.html: what its parts share.
#ifndef UFP4_CLI_EXPLORE_PAGE_H
#define UFP4_CLI_EXPLORE_PAGE_H

#include "explore.h"

/** The total of a case. */
int page_is_step(const explore_row_t *row);
/** MACs a cycle that the array can do. */
double page_peak(const explore_row_t *row);
/** NaN where there is no multiplication. */
double page_util_percent(const explore_row_t *row);
/** Bytes a cycle, each way. */
unsigned page_bandwidth(const explore_row_t *row);
/** The name of its DRAM, or "none". */
const char *page_dram(const explore_case_t *of);

/** The chart of what memory allows and what is reached. */
void page_put_roofline(FILE *out, const explore_rows_t *rows);

#endif
