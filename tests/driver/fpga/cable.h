// SPDX-License-Identifier: Apache-2.0
// A board in C behind a pseudo-terminal, in front of the simulated core.
#ifndef UFP4_CABLE_H
#define UFP4_CABLE_H

#include <pthread.h>
#include <stdatomic.h>

#include "fake_board.h"
#include "ufp4_sim.h"

enum { CABLE_MEMORY = 1 << 18 };

typedef struct {
  ufp4_sim_t *sim;
  fake_board_t *board;
  fake_faults_t to, from;
  char path[64], name[80];  // a link to the terminal; the name of the backend
  int terminal;
  pthread_t thread;
  atomic_int stop;
  uint64_t bytes;                // from the host
  uint64_t reset_at, replug_at;  // after so many bytes; 0: never
  uint32_t offset, value;        // this register reads as that value
  uint64_t until_resets;         // until the board has reset the core so often; 0: always
} cable_t;

/** Makes a cable that is connected but not served before cable_start, which returns it. */
cable_t *cable_make(void);
cable_t *cable_start(cable_t *cable);
void cable_end(cable_t *cable);
void cable_plug_in(cable_t *cable);
void cable_pull_out(cable_t *cable);

#endif
