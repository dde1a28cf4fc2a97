// SPDX-License-Identifier: Apache-2.0
// The host's end of the board link (docs/reference/link.md): requests in frames, go-back-N, over
// any stream of bytes.
//
// Requests are executed in the order in which they were sent, each once, whatever the stream loses,
// doubles or changes. A request that has been sent need not have been executed: link_flush waits
// for the answers. The first error ends the link.
#ifndef UFP4_LINK_H
#define UFP4_LINK_H

#include <stddef.h>
#include <stdint.h>

#include "ufp4/status.h"

#define LINK_VERSION 2
#define LINK_WINDOW_MAX 8
#define LINK_DATA_MAX 1008

typedef enum {
  LINK_HELLO,
  LINK_PING,
  LINK_REGISTER_READ,
  LINK_REGISTER_WRITE,
  LINK_MEMORY_READ,
  LINK_MEMORY_WRITE,
  LINK_MEMORY_CHECKSUM,
  LINK_WAIT,
  LINK_BOARD_READ,
  LINK_BOARD_WRITE,
  LINK_COMMAND_COUNT
} link_command_t;

/** Registers of the board, for LINK_BOARD_READ and LINK_BOARD_WRITE. */
enum {
  LINK_BOARD_MARCH = 0x04,          ///< write 1: start; read: 1 busy, 2 done, 4 failed
  LINK_BOARD_MARCH_ADDRESS = 0x08,  ///< the first that failed
  LINK_BOARD_MARCH_COUNT = 0x0C,    ///< how many failed
  LINK_BOARD_DROPPED = 0x10,        ///< frames that came with a wrong CRC or framing
  LINK_BOARD_REPEATED = 0x14,       ///< frames that were answered again
  LINK_BOARD_CORE_RESET = 0x20,     ///< write 1: the core alone, whatever it is at
};

/** A board's identity, as it says itself. */
typedef struct {
  unsigned window, data_bytes;
  int has_march, is_sdram;
  uint32_t memory_base, memory_bytes;
  uint32_t clock_hz, baud;
  char board[17];
} link_identity_t;

typedef enum {
  LINK_STREAM_OK,
  LINK_STREAM_ANEW,  ///< it was interrupted and goes on: what was on the way is lost
  LINK_STREAM_LOST,
} link_stream_status_t;

/** Bytes to the board and back. */
typedef struct {
  void *user;
  /** Takes the first *taken of @p out_bytes and gives the *got, up to @p in_bytes, that have come.
   * Returns as soon as there is one of either; after @p timeout_us there may be none. */
  link_stream_status_t (*exchange)(void *user, const uint8_t *out, size_t out_bytes, size_t *taken,
                                   uint8_t *in, size_t in_bytes, size_t *got, uint64_t timeout_us);
  /** Microseconds since any fixed moment. */
  uint64_t (*now)(void *user);
  /** Why it is lost, or was interrupted last. */
  const char *(*message)(void *user);
} link_stream_t;

typedef struct {
  unsigned window;       ///< frames on the way at once, 1 to 8; fewer if the board has less
  unsigned data_bytes;   ///< in a frame, a multiple of 8 up to 1008; fewer if the board has less
  uint32_t baud;         ///< of the wire, for how long a frame takes; 0: no time
  uint64_t patience_us;  ///< silence, and a sixth of a time without progress, that ends the link;
                         ///< counted from the beginning of a call
} link_options_t;

link_options_t link_options_default(void);

/** Counts since the link was opened. */
typedef struct {
  uint64_t requests, frames;  ///< asked for; sent, repeats among them
  uint64_t timeouts;
  uint64_t bytes_out, bytes_in;
  uint64_t dropped;  ///< that came with a wrong CRC or framing
} link_counts_t;

typedef struct link link_t;

/** One request. */
typedef struct {
  link_command_t command;
  uint32_t address;
  const void *data;  ///< copied; NULL in a read
  unsigned length;   ///< of data, or of what a read asks for
  void *answer;      ///< where the answer's data go, once link_flush has returned; or NULL
  unsigned answer_bytes;
  uint64_t extra_us;  ///< what the board may take for it
} link_request_t;

/** NULL without memory. The stream is copied, and its user's. */
link_t *link_open(const link_stream_t *stream, const link_options_t *options);
void link_close(link_t *link);

/** Begins a session: whatever was on the way is forgotten. */
ufp4_status_t link_hello(link_t *link, link_identity_t *identity);
/** Sends one request, as soon as there is room in the window. UFP4_ERROR_DEVICE: this one or an
 * earlier one has failed. */
ufp4_status_t link_send(link_t *link, const link_request_t *request);
/** Waits for all answers. */
ufp4_status_t link_flush(link_t *link);
/** link_send and link_flush. */
ufp4_status_t link_call(link_t *link, const link_request_t *request);

/** Most bytes of data in the next frame: more and more of what the session allows, and fewer where
 * the line damages frames of that length. */
unsigned link_data_bytes(const link_t *link);
/** The level of the interrupt in the last answer. */
int link_interrupt(const link_t *link);
link_counts_t link_counts(const link_t *link);
/** One line on what ended the link. */
const char *link_message(const link_t *link);

#endif
