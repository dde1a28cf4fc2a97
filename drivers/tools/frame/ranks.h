// SPDX-License-Identifier: Apache-2.0
// The processes of one mpirun. Without mpirun or MPI, there is one.
#ifndef UFP4_CLI_RANKS_H
#define UFP4_CLI_RANKS_H

#include "cli.h"

typedef struct {
  int rank;   ///< 0 to count - 1
  int count;  ///< 1: alone
} ranks_t;

/** Called once, from the main thread. Refuses mpirun if this program has no MPI, because each
 * process would do all of the work. @return CLI_GO_ON or the exit status. */
int ranks_begin(const cli_command_t *command, ranks_t *ranks);
/** Called by all ranks in the same order from their main threads. @return the largest @p value. */
int ranks_meet(int value);
/** Called last, after ranks_begin. If the exit status is not CLI_OK and not all ranks have it,
 * ends all ranks. @return @p status. */
int ranks_end(int status);

#endif
