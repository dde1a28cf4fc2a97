// SPDX-License-Identifier: Apache-2.0
// The host's end of the board link (docs/reference/link.md): requests in frames, go-back-N, over
// any stream of bytes.
//
// Requests are executed exactly once and in the order in which they were sent, even if the stream
// loses, duplicates or damages bytes. A request may not have been executed when it has been sent:
// link_flush waits for the answers. The first error ends the link.
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
  LINK_BOARD_MARCH_ADDRESS = 0x08,  ///< the first failed address
  LINK_BOARD_MARCH_COUNT = 0x0C,    ///< the number of failures
  LINK_BOARD_DROPPED = 0x10,        ///< frames received with a wrong CRC or framing
  LINK_BOARD_REPEATED = 0x14,       ///< frames that were answered again
  LINK_BOARD_CORE_RESET = 0x20,     ///< write 1: resets the core alone, even during a transfer
};

/** The identity that a board reports. */
typedef struct {
  unsigned window, data_bytes;
  int has_march, is_sdram;
  uint32_t memory_base, memory_bytes;
  uint32_t clock_hz, baud;
  char board[17];
} link_identity_t;

typedef enum {
  LINK_STREAM_OK,
  LINK_STREAM_ANEW,  ///< interrupted and resumed: bytes under way are lost
  LINK_STREAM_LOST,
} link_stream_status_t;

/** The bytes to and from the board. */
typedef struct {
  void *user;
  /** Sends the first *taken of @p out_bytes, and receives *got bytes, up to @p in_bytes. Returns
   * as soon as there are bytes of either kind, or after @p timeout_us, possibly without any. */
  link_stream_status_t (*exchange)(void *user, const uint8_t *out, size_t out_bytes, size_t *taken,
                                   uint8_t *in, size_t in_bytes, size_t *got, uint64_t timeout_us);
  /** Returns the microseconds since an arbitrary fixed moment. */
  uint64_t (*now)(void *user);
  /** Returns why the stream is lost, or was last interrupted. */
  const char *(*message)(void *user);
} link_stream_t;

typedef struct {
  unsigned window;       ///< frames under way at once, 1 to 8, limited by the board
  unsigned data_bytes;   ///< bytes of data in a frame, a multiple of 8 up to 1008, limited by the
                         ///< board
  uint32_t baud;         ///< baud rate, for the duration of a frame; 0: no duration
  uint64_t patience_us;  ///< limit of silence, and a sixth of the limit without progress; counted
                         ///< from the beginning of a call
} link_options_t;

link_options_t link_options_default(void);

/** Counts since the link was opened. */
typedef struct {
  uint64_t requests, frames;  ///< requests made; frames sent, including repetitions
  uint64_t timeouts;
  uint64_t bytes_out, bytes_in;
  uint64_t dropped;  ///< answers with a wrong CRC or framing
} link_counts_t;

typedef struct link link_t;

/** A request. */
typedef struct {
  link_command_t command;
  uint32_t address;
  const void *data;  ///< copied; NULL for a read
  unsigned length;   ///< bytes of data, or bytes to read
  void *answer;      ///< receives the answer's data before link_flush returns; or NULL
  unsigned answer_bytes;
  uint64_t extra_us;  ///< additional time that the board may take
} link_request_t;

/** Makes a link; NULL if memory is exhausted. @p stream is copied, and its user remains the
 * caller's. */
link_t *link_open(const link_stream_t *stream, const link_options_t *options);
void link_close(link_t *link);

/** Begins a session; everything under way is forgotten. */
ufp4_status_t link_hello(link_t *link, link_identity_t *identity);
/** Sends a request as soon as there is room in the window. UFP4_ERROR_DEVICE: this request or an
 * earlier one has failed. */
ufp4_status_t link_send(link_t *link, const link_request_t *request);
/** Waits for all answers. */
ufp4_status_t link_flush(link_t *link);
/** link_send and link_flush. */
ufp4_status_t link_call(link_t *link, const link_request_t *request);

/** Returns the most bytes of data in the next frame. They grow up to the session's limit, and
 * shrink if the line damages frames of that length. */
unsigned link_data_bytes(const link_t *link);
/** Returns the level of the interrupt in the last answer. */
int link_interrupt(const link_t *link);
link_counts_t link_counts(const link_t *link);
/** Returns in one line what ended the link. */
const char *link_message(const link_t *link);

#endif
