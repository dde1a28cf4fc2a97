// SPDX-License-Identifier: Apache-2.0
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "link_bytes.h"
#include "link_names.h"
#include "little_endian.h"

enum { HEADER = 8, ANSWER_HEADER = 4, CRC = 4 };
enum {
  STATUS_OK,
  STATUS_UNKNOWN,
  STATUS_REFUSED,
  STATUS_BUS,
  STATUS_NO_SESSION,
  STATUS_ORDER,
  STATUS_COUNT
};

#define TIMEOUT_US 20000u          // the least timeout
#define FIRST_TIMEOUT_US 250000u   // timeout before the first answer
#define SILENT_TIMEOUT_US 250000u  // the largest timeout after doublings
#define PAUSE_US 10000u            // the host was elsewhere: what lay here meanwhile tells no time
#define LYING_READS 16u            // reads that drain a window of answers and all buffers of a port
#define PROGRESS_PATIENCES 6u      // limit without progress if something is heard, in patiences
#define DATA_FIRST 64u             // data of a frame at the beginning of a session
#define DATA_LEAST 16u
#define DATA_GOOD 8u  // full frames without a loss before their length is doubled

// A request that has not been answered.
typedef struct {
  link_request_t request;
  uint32_t number;                        // counts from the beginning of the session
  uint8_t bytes[HEADER + LINK_DATA_MAX];  // without CRC
  size_t size;
  uint64_t sent[8];  // times of sending, by the low bits of the round
} frame_t;

typedef struct {
  uint8_t number, status, round;
  const uint8_t *data;
  unsigned length;
} answer_t;

struct link {
  link_stream_t stream;
  link_options_t options;
  unsigned window, data_bytes, data_most;  // frames of this session have at most data_most
  unsigned good;                           // full frames since data_bytes was set or a frame was
                                           // lost
  int in_session, failed, interrupt;
  ufp4_message_t message;
  link_counts_t counts;

  // The window: frame number n in slot n mod 8.
  frame_t frames[LINK_WINDOW_MAX];
  uint32_t oldest;       // number of the first frame, whose low byte is transmitted
  unsigned count, sent;  // frames in the window; those sent in this round
  unsigned round;
  uint32_t nonce;

  uint8_t out[2 * (HEADER + LINK_DATA_MAX + CRC) + 2];  // the frame that is being sent
  size_t out_bytes, out_at;
  uint8_t in[ANSWER_HEADER + LINK_DATA_MAX + CRC];  // the frame that is being received
  size_t in_bytes;
  int escaped, bad;

  // Times in microseconds. progress is the time of the last expected answer, or of the beginning of
  // a call; quiet is the time at which something was last heard, a call began, or the stream came
  // back.
  uint64_t progress, quiet, timer, heard;
  uint64_t trip, deviation;  // round trip: smoothed time, and its mean deviation
  uint64_t looked, back;     // end of the last turn; end of the host's last pause
  unsigned silent;           // timeouts since anything was heard
  answer_t last;
};

// --- Errors -------------------------------------------------------------------------------------

static uint64_t now(const link_t *link) {
  return link->stream.now(link->stream.user);
}

static const char *describe_heard(const link_t *link, char text[128]) {
  if (link->heard != 0) {
    snprintf(text, 128, "last heard: answer %u (%s), %.1f s ago", link->last.number,
             link_status_name(link->last.status), (double)(now(link) - link->heard) * 1e-6);
  } else if (link->counts.bytes_in != 0) {
    snprintf(text, 128, "%llu bytes came, but no valid frame: is the baud rate right?",
             (unsigned long long)link->counts.bytes_in);
  } else {
    snprintf(text, 128, "the board has sent nothing");
  }
  return text;
}

static frame_t *frame_of(link_t *link, unsigned index) {
  return &link->frames[(link->oldest + index) % LINK_WINDOW_MAX];
}

static ufp4_status_t fail(link_t *link) {
  link->failed = 1;
  return UFP4_ERROR_DEVICE;
}

static ufp4_status_t fail_silence(link_t *link, uint64_t us) {
  char what[96], heard[128];
  ufp4_message_set(&link->message, "no answer to %s for %.1f s; %s",
                   link_describe(&frame_of(link, 0)->request, what), (double)us * 1e-6,
                   describe_heard(link, heard));
  return fail(link);
}

static ufp4_status_t fail_answer(link_t *link, const answer_t *answer) {
  char what[96];
  const frame_t *frame = frame_of(link, 0);
  if (answer->status == STATUS_NO_SESSION) {
    ufp4_message_set(&link->message, "the board has been reset");
  } else if (answer->status != STATUS_OK) {
    ufp4_message_set(&link->message, "the board answers '%s' to %s",
                     link_status_name(answer->status), link_describe(&frame->request, what));
  } else {
    ufp4_message_set(&link->message, "the board answers %u bytes to %s, not %u", answer->length,
                     link_describe(&frame->request, what), frame->request.answer_bytes);
  }
  return fail(link);
}

// --- Out ----------------------------------------------------------------------------------------

// A frame's CRC also covers the session and the part of the number that is not transmitted, so that
// an intact but old frame, of another session or of 256 requests ago, is rejected. It excludes the
// number's low byte, because that equals the frame's first byte and the two would cancel in the
// CRC.
static uint32_t key_of(const link_t *link, uint32_t number) {
  return link->nonce ^ (number & ~0xFFu);
}

static void encode(link_t *link, frame_t *frame) {
  const uint32_t key = frame->request.command == LINK_HELLO ? 0 : key_of(link, frame->number);
  uint8_t crc[CRC];
  frame->sent[link->round & 7] = now(link);
  frame->bytes[1] = (uint8_t)((unsigned)frame->request.command | link->round << 4);
  put32(crc, (uint32_t)crc32(key, frame->bytes, (uInt)frame->size));
  link->out_at = 0;
  link->out_bytes = 1;
  link->out[0] = END;
  link->out_bytes += link_escape(link->out + link->out_bytes, frame->bytes, frame->size);
  link->out_bytes += link_escape(link->out + link->out_bytes, crc, CRC);
  link->out[link->out_bytes++] = END;
  link->counts.frames++;
}

static uint64_t extra_us(link_t *link) {
  return frame_of(link, 0)->request.extra_us;
}

static int is_overdue(link_t *link) {
  return now(link) - link->progress >=
         PROGRESS_PATIENCES * link->options.patience_us + extra_us(link);
}

// The cost of a damaged byte grows with the length of its frame, so frames are as long as the line
// allows. The loss of a frame that was made for a longer limit than the present one is ignored.
static void lost_one(link_t *link) {
  const unsigned length = link->count > 0 ? frame_of(link, 0)->request.length : 0;
  if (length > link->data_bytes || 2 * length <= link->data_bytes) return;
  link->good = 0;
  link->data_bytes = link->data_bytes / 2 & ~7u;
  const unsigned least = link->data_most < DATA_LEAST ? link->data_most : DATA_LEAST;
  if (link->data_bytes < least) link->data_bytes = least;
}

static void got_one(link_t *link, unsigned length) {
  if (length < link->data_bytes || ++link->good < DATA_GOOD) return;
  link->good = 0;
  link->data_bytes *= 2;
  if (link->data_bytes > link->data_most) link->data_bytes = link->data_most;
}

// Sends all unanswered frames again, in a new round. A half-sent frame is cut off; the END of the
// next frame terminates it.
static ufp4_status_t go_back(link_t *link) {
  if (is_overdue(link)) return fail_silence(link, now(link) - link->progress);
  lost_one(link);
  link->round = (link->round + 1) & 15;
  link->sent = 0;
  link->out_bytes = link->out_at = 0;
  link->timer = now(link);
  return UFP4_OK;
}

// --- In -----------------------------------------------------------------------------------------

// Measures the round trip of a frame and its answer; the round tells which transmission was
// answered. An answer that arrived while the host paused is not used.
static void learn(link_t *link, const frame_t *frame, const answer_t *answer) {
  const uint64_t sent = frame->sent[answer->round];
  if (frame->request.extra_us != 0 || sent < link->back) return;
  const uint64_t trip = now(link) - sent + 1;
  const uint64_t off = trip > link->trip ? trip - link->trip : link->trip - trip;
  link->trip = link->trip == 0 ? trip : (7 * link->trip + trip + 7) / 8;
  link->deviation = (3 * link->deviation + off) / 4;
}

static void pop(link_t *link, const answer_t *answer) {
  learn(link, frame_of(link, 0), answer);
  got_one(link, frame_of(link, 0)->request.length);
  link->oldest++;
  link->count--;
  if (link->sent > 0) link->sent--;
  link->progress = link->timer = now(link);
}

static ufp4_status_t take_hello(link_t *link, const answer_t *answer) {
  const frame_t *frame = frame_of(link, 0);
  if (link->count == 0 || answer->number != (uint8_t)link->oldest || answer->status != STATUS_OK ||
      answer->length != LINK_IDENTITY_BYTES ||
      get32(answer->data + LINK_IDENTITY_BYTES - 4) != link->nonce)
    return UFP4_OK;
  memcpy(frame->request.answer, answer->data, LINK_IDENTITY_BYTES);
  link->in_session = 1;
  pop(link, answer);
  return UFP4_OK;
}

static ufp4_status_t take_answer(link_t *link, const answer_t *answer) {
  const int is_current = answer->round == (link->round & 7) && link->sent > 0;
  const unsigned index = (uint8_t)(answer->number - link->oldest);
  if (!link->in_session) return take_hello(link, answer);
  if (answer->status == STATUS_NO_SESSION) return fail_answer(link, answer);
  // A request of this round, or an answer to one, was lost.
  if (answer->status == STATUS_ORDER || index != 0) {
    if (is_current && (answer->status == STATUS_ORDER || index < link->count)) return go_back(link);
    return UFP4_OK;
  }
  if (link->count == 0) return UFP4_OK;
  const link_request_t *request = &frame_of(link, 0)->request;
  if (answer->status != STATUS_OK || answer->length != request->answer_bytes)
    return fail_answer(link, answer);
  if (answer->length != 0 && request->answer != NULL)
    memcpy(request->answer, answer->data, answer->length);
  pop(link, answer);
  return UFP4_OK;
}

// Answers that may concern another session or count are protected without a key.
static uint32_t answer_key(const link_t *link, const uint8_t *in) {
  const unsigned status = in[1] & 15;
  if (!link->in_session || status == STATUS_NO_SESSION || status == STATUS_ORDER) return 0;
  const uint32_t ahead = (uint8_t)(in[0] - link->oldest);
  return key_of(link, link->oldest + ahead - (ahead < 128 ? 0 : 256));
}

static ufp4_status_t end_frame(link_t *link) {
  const uint8_t *in = link->in;
  const size_t bytes = link->in_bytes;
  const int bad = link->bad || link->escaped;
  link->in_bytes = 0;
  link->escaped = link->bad = 0;
  if (bytes == 0 && !bad) return UFP4_OK;
  const unsigned length = bytes < ANSWER_HEADER + CRC ? 0 : get16(in + 2);
  if (bad || bytes != ANSWER_HEADER + length + CRC || (in[1] & 15) >= STATUS_COUNT ||
      get32(in + bytes - CRC) != (uint32_t)crc32(answer_key(link, in), in, (uInt)(bytes - CRC))) {
    link->counts.dropped++;
    return UFP4_OK;
  }
  link->last = (answer_t){.number = in[0],
                          .status = in[1] & 15,
                          .round = in[1] >> 4 & 7,
                          .data = in + ANSWER_HEADER,
                          .length = length};
  link->heard = link->quiet = now(link);
  link->silent = 0;
  link->interrupt = in[1] >> 7;
  return take_answer(link, &link->last);
}

static ufp4_status_t take_byte(link_t *link, uint8_t byte) {
  if (byte == END) return end_frame(link);
  if (link->escaped) {
    link->escaped = 0;
    if (byte != ESC_END && byte != ESC_ESC) link->bad = 1;
    byte = byte == ESC_END ? END : ESC;
  } else if (byte == ESC) {
    link->escaped = 1;
    return UFP4_OK;
  }
  if (link->in_bytes == sizeof link->in) {
    link->bad = 1;
  } else {
    link->in[link->in_bytes++] = byte;
  }
  return UFP4_OK;
}

// --- Time ---------------------------------------------------------------------------------------

// Returns the time on the wire of all frames in the window, in both directions.
static uint64_t wire_us(link_t *link) {
  uint64_t bytes = 0;
  if (link->options.baud == 0) return 0;
  for (unsigned i = 0; i < link->count; i++) {
    const frame_t *frame = frame_of(link, i);
    bytes += frame->size + frame->request.answer_bytes + HEADER + 2 * CRC;
  }
  return bytes * 10000000u / link->options.baud;
}

static uint64_t timeout_us(link_t *link) {
  const uint64_t learned = link->trip == 0 ? FIRST_TIMEOUT_US : link->trip + 4 * link->deviation;
  uint64_t time = learned > TIMEOUT_US ? learned : TIMEOUT_US;
  for (unsigned i = 0; i < link->silent && 2 * time <= SILENT_TIMEOUT_US; i++) time *= 2;
  return time + wire_us(link) + extra_us(link);
}

// Handles a timeout: sends again, or gives up. A single timeout may be a pause of the host.
static ufp4_status_t try_again(link_t *link) {
  const uint64_t silence = now(link) - link->quiet;
  link->counts.timeouts++;
  if (link->silent > 0 && silence >= link->options.patience_us + extra_us(link))
    return fail_silence(link, silence);
  link->silent++;
  return go_back(link);
}

// --- One turn -----------------------------------------------------------------------------------

static ufp4_status_t handle_stream(link_t *link, link_stream_status_t status) {
  if (status == LINK_STREAM_LOST) {
    ufp4_message_set(&link->message, "%s", link->stream.message(link->stream.user));
    return fail(link);
  }
  link->in_bytes = 0;
  link->escaped = link->bad = 0;
  link->quiet = now(link);
  link->silent = 0;
  if (link->count == 0) return UFP4_OK;
  if (!is_overdue(link)) return go_back(link);
  ufp4_message_set(&link->message, "the port disconnects again and again; no answer for %.1f s: %s",
                   (double)(now(link) - link->progress) * 1e-6,
                   link->stream.message(link->stream.user));
  return fail(link);
}

// Sends and receives what is possible, and waits for that at most @p wait_us.
static ufp4_status_t turn(link_t *link, uint64_t wait_us) {
  uint8_t in[4096];
  size_t taken = 0, got = 0;
  ufp4_status_t status = UFP4_OK;
  const uint64_t began = now(link);
  if (began - link->looked > PAUSE_US) link->back = began;
  if (link->out_at == link->out_bytes && link->sent < link->count)
    encode(link, frame_of(link, link->sent++));
  const link_stream_status_t stream =
      link->stream.exchange(link->stream.user, link->out + link->out_at,
                            link->out_bytes - link->out_at, &taken, in, sizeof in, &got, wait_us);
  link->looked = now(link);
  if (link->looked - began > wait_us + PAUSE_US) link->back = link->looked;
  if (stream != LINK_STREAM_OK) return handle_stream(link, stream);
  link->out_at += taken;
  link->counts.bytes_out += taken;
  link->counts.bytes_in += got;
  for (size_t i = 0; i < got && status == UFP4_OK; i++) status = take_byte(link, in[i]);
  return status;
}

// Waits until something happens, or the oldest frame times out. The host may have paused meanwhile,
// so received data are read before the time is judged.
static ufp4_status_t wait(link_t *link) {
  const uint64_t timer = link->timer, spent = now(link) - timer, limit = timeout_us(link);
  ufp4_status_t status = UFP4_OK;
  if (spent < limit) return turn(link, limit - spent);
  for (unsigned i = 0; i < LYING_READS && status == UFP4_OK && link->timer == timer; i++)
    status = turn(link, 0);
  return status == UFP4_OK && link->timer == timer ? try_again(link) : status;
}

// Restarts all timers, because the time between two calls of the caller does not count.
static void begin(link_t *link) {
  link->progress = link->quiet = link->timer = now(link);
  link->silent = 0;
}

// --- Calls --------------------------------------------------------------------------------------

link_options_t link_options_default(void) {
  return (link_options_t){
      .window = LINK_WINDOW_MAX, .data_bytes = LINK_DATA_MAX, .patience_us = 5000000};
}

link_t *link_open(const link_stream_t *stream, const link_options_t *options) {
  link_t *link = calloc(1, sizeof *link);
  if (link == NULL) return NULL;
  link->stream = *stream;
  link->options = *options;
  link->window = 1;
  link->data_bytes = link->data_most = options->data_bytes;
  return link;
}

void link_close(link_t *link) {
  free(link);
}

static void push(link_t *link, const link_request_t *request) {
  frame_t *frame = frame_of(link, link->count);
  frame->request = *request;
  frame->number = link->oldest + link->count;
  frame->bytes[0] = (uint8_t)frame->number;
  put16(frame->bytes + 2, request->length);
  put32(frame->bytes + 4, request->address);
  frame->size = HEADER;
  if (request->data != NULL) {
    memcpy(frame->bytes + HEADER, request->data, request->length);
    frame->size += request->length;
  }
  link->count++;
  link->counts.requests++;
}

ufp4_status_t link_send(link_t *link, const link_request_t *request) {
  ufp4_status_t status = link->failed ? UFP4_ERROR_DEVICE : UFP4_OK;
  begin(link);
  while (status == UFP4_OK && link->count == link->window) status = wait(link);
  if (status != UFP4_OK) return status;
  push(link, request);
  return turn(link, 0);
}

ufp4_status_t link_flush(link_t *link) {
  ufp4_status_t status = link->failed ? UFP4_ERROR_DEVICE : UFP4_OK;
  begin(link);
  while (status == UFP4_OK && link->count > 0) status = wait(link);
  return status;
}

ufp4_status_t link_call(link_t *link, const link_request_t *request) {
  const ufp4_status_t status = link_send(link, request);
  return status == UFP4_OK ? link_flush(link) : status;
}

static ufp4_status_t take_identity(link_t *link, const uint8_t *from, link_identity_t *identity) {
  const unsigned version = link_read_identity(from, identity);
  if (version != LINK_VERSION || identity->window == 0 || identity->data_bytes == 0) {
    ufp4_message_set(&link->message,
                     "the board speaks version %u of the link, with a window of %u frames of %u "
                     "bytes; this driver speaks version %d",
                     version, identity->window, identity->data_bytes, LINK_VERSION);
    return fail(link);
  }
  link->window = link->options.window < identity->window ? link->options.window : identity->window;
  if (identity->data_bytes < link->data_most) link->data_most = identity->data_bytes;
  link->data_bytes = link->data_most < DATA_FIRST ? link->data_most : DATA_FIRST;
  return UFP4_OK;
}

ufp4_status_t link_hello(link_t *link, link_identity_t *identity) {
  uint8_t answer[LINK_IDENTITY_BYTES], data[4];
  const link_request_t request = {.command = LINK_HELLO,
                                  .data = data,
                                  .length = sizeof data,
                                  .answer = answer,
                                  .answer_bytes = LINK_IDENTITY_BYTES};
  ufp4_status_t status = link->failed ? UFP4_ERROR_DEVICE : UFP4_OK;
  if (status != UFP4_OK) return status;
  link->in_session = 0;
  link->oldest &= 0xFF;  // the board continues to count from this byte
  link->count = link->sent = 0;
  link->out_bytes = link->out_at = 0;
  // The low byte of the number is not 0, so the key is never 0. Damage that turns another command
  // into a HELLO, or another status into one without a key, is therefore detected.
  link->nonce = ((link->nonce ^ (uint32_t)now(link)) * 2654435761u + (uint32_t)getpid()) | 1;
  put32(data, link->nonce);
  push(link, &request);
  status = link_flush(link);
  return status == UFP4_OK ? take_identity(link, answer, identity) : status;
}

unsigned link_data_bytes(const link_t *link) {
  return link->data_bytes;
}

int link_interrupt(const link_t *link) {
  return link->interrupt;
}

link_counts_t link_counts(const link_t *link) {
  return link->counts;
}

const char *link_message(const link_t *link) {
  return link->message.text;
}
