// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <stdlib.h>

static int under_mpirun(void) {
  // Variables set by Open MPI; by MPICH and its derivatives, and Slurm's PMI.
  return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_SIZE") != NULL;
}

#ifdef UFP4_HAVE_MPI
#include <mpi.h>

static int begun;

int ranks_begin(const cli_command_t *command, ranks_t *ranks) {
  *ranks = (ranks_t){0, 1};
  if (!under_mpirun()) return CLI_GO_ON;
  int level;
  if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level) != MPI_SUCCESS ||
      level < MPI_THREAD_FUNNELED)
    return cli_fail(command, CLI_DEVICE, "MPI does not start, or does not support threads");
  begun = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &ranks->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks->count);
  return CLI_GO_ON;
}

int ranks_meet(int value) {
  if (begun) MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return value;
}

int ranks_end(int status) {
  if (!begun) return status;
  // The other ranks would wait for a rank that has failed.
  if (status != CLI_OK && status < 128) MPI_Abort(MPI_COMM_WORLD, status);
  MPI_Finalize();
  return status;
}

#else

int ranks_begin(const cli_command_t *command, ranks_t *ranks) {
  *ranks = (ranks_t){0, 1};
  if (!under_mpirun()) return CLI_GO_ON;
  return cli_fail(command, CLI_DEVICE,
                  "mpirun has started this program, which was built without MPI; build it with "
                  "-DUFP4_MPI=ON");
}

int ranks_meet(int value) {
  return value;
}

int ranks_end(int status) {
  return status;
}

#endif
