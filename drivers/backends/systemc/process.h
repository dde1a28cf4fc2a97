// SPDX-License-Identifier: Apache-2.0
// The process of a device, which has its own because SystemC elaborates only once per process and
// is not thread-safe.
#ifndef UFP4_SYSTEMC_PROCESS_H
#define UFP4_SYSTEMC_PROCESS_H

#include <sys/types.h>

#include "protocol.h"
#include "ufp4.h"

typedef struct {
  int socket;  // -1: there is no process
  pid_t pid;
  uint8_t *memory;  // shared with it
  uint64_t memory_bytes;
} process_t;

/** Starts the process with zeroed memory, and waits until it has made the device that @p open
 * names. On failure there is no process, and @p message says why. */
ufp4_status_t process_start(process_t *process, const systemc_open_t *open,
                            ufp4_message_t *message);
/** Makes one call. @return its status; UFP4_ERROR_DEVICE, with a message, if the process has
 * ended. */
ufp4_status_t process_call(process_t *process, const systemc_request_t *request,
                           systemc_reply_t *reply);
/** Ends the process, if there is one, and frees the memory. */
void process_end(process_t *process);

#endif
