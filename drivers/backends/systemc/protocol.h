// SPDX-License-Identifier: Apache-2.0
// The messages between the backends systemc and systemc:timed and the process of a device: one
// message per packet, and each call is answered before the next. The device's memory is shared.
#ifndef UFP4_SYSTEMC_PROTOCOL_H
#define UFP4_SYSTEMC_PROTOCOL_H

#include <stdint.h>

/** The numbers of the files that the process is given: the socket, and the memory. */
#define SYSTEMC_SOCKET 0
#define SYSTEMC_MEMORY 3

/** The first message, which is answered like a call. */
typedef struct {
  uint32_t version;  // version of both programs
  uint32_t timed;
  char configuration[80], dram[16];
  uint64_t memory_base, memory_bytes;
  uint32_t latency, bandwidth;
} systemc_open_t;

typedef enum {
  SYSTEMC_REGISTER_READ,
  SYSTEMC_REGISTER_WRITE,
  SYSTEMC_WAIT_INTERRUPT,
  SYSTEMC_RUN,
} systemc_call_t;

typedef struct {
  uint32_t call, offset;
  uint64_t value;  // value of a register, or cycles
} systemc_request_t;

typedef struct {
  uint32_t status;  // ufp4_status_t; after UFP4_ERROR_DEVICE the process ends
  uint32_t value;   // value of a register
  uint64_t now;     // cycles
  char message[256];
} systemc_reply_t;

#endif
