// SPDX-License-Identifier: Apache-2.0
// The processes of one mpirun. Outside of it, or without MPI, there is one.
#ifndef UFP4_CLI_RANKS_H
#define UFP4_CLI_RANKS_H

#include "cli.h"

typedef struct {
  int rank;   ///< 0 to count - 1
  int count;  ///< 1: alone
} ranks_t;

/** Once, from the main thread. Under mpirun without MPI in this program: refused, since each
 * process would do all of the work. @return CLI_GO_ON or the exit status. */
int ranks_begin(const cli_command_t *command, ranks_t *ranks);
/** All ranks come here, in the same order, from their main threads. @return the largest @p value.
 */
int ranks_meet(int value);
/** After ranks_begin, last: with an exit status that is not CLI_OK, and that not all ranks have, it
 * ends them all. @return @p status. */
int ranks_end(int status);

#endif
