// SPDX-License-Identifier: Apache-2.0
#include "fake_board.h"

#include <stdlib.h>
#include <string.h>

enum { OK, UNKNOWN, REFUSED, BUS, NO_SESSION, OUT_OF_ORDER };

// --- Numbers ------------------------------------------------------------------------------------

// Computes the CRC-32 of IEEE 802.3 bit by bit.
static uint32_t crc_from(uint32_t key, const uint8_t *bytes, size_t count) {
  uint32_t crc = ~key;
  for (size_t i = 0; i < count; i++) {
    crc ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return ~crc;
}

static uint32_t crc_of(const uint8_t *bytes, size_t count) {
  return crc_from(0, bytes, count);
}

static uint32_t get(const uint8_t *from, int bytes) {
  uint32_t value = 0;
  while (bytes-- > 0) value = value << 8 | from[bytes];
  return value;
}

static void put(uint8_t *out, int bytes, uint32_t value) {
  for (int i = 0; i < bytes; i++) out[i] = (uint8_t)(value >> 8 * i);
}

// --- Answers ------------------------------------------------------------------------------------

static void emit(fake_board_t *board, uint8_t byte) {
  if (board->out_bytes == board->out_capacity) {
    board->out_capacity = 2 * board->out_capacity + 4096;
    board->out = realloc(board->out, board->out_capacity);
    if (board->out == NULL) abort();
  }
  board->out[board->out_bytes++] = byte;
}

static void emit_escaped(fake_board_t *board, const uint8_t *bytes, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (bytes[i] == 0xC0 || bytes[i] == 0xDB) {
      emit(board, 0xDB);
      emit(board, bytes[i] == 0xC0 ? 0xDC : 0xDD);
    } else {
      emit(board, bytes[i]);
    }
  }
}

// Sends an answer whose header and data lie in @p bytes, with the fields that change on each repeat
// made anew.
static void answer(fake_board_t *board, uint32_t key, uint8_t *bytes, unsigned length,
                   unsigned round) {
  uint8_t crc[4];
  const int level = board->core.wait != NULL && board->core.wait(board->core.user, 0);
  bytes[1] = (uint8_t)((bytes[1] & 15) | (round & 7) << 4 | (level ? 0x80 : 0));
  put(bytes + 2, 2, length);
  put(crc, 4, crc_from(key, bytes, 4 + length));
  emit(board, 0xC0);
  emit_escaped(board, bytes, 4 + length);
  emit_escaped(board, crc, 4);
  emit(board, 0xC0);
}

static void answer_status(fake_board_t *board, uint8_t number, unsigned status, unsigned round) {
  uint8_t bytes[4] = {number, (uint8_t)status};
  answer(board, 0, bytes, 0, round);
}

// --- Commands -----------------------------------------------------------------------------------

typedef struct {
  unsigned command, length;
  uint32_t address;
  const uint8_t *data;
  unsigned data_bytes;
} request_t;

static unsigned identify(const fake_board_t *board, const request_t *request, uint8_t *out) {
  put(out, 2, board->version);
  put(out + 2, 2, board->window);
  put(out + 4, 2, board->data_bytes);
  put(out + 6, 2, board->march);
  put(out + 8, 4, board->core.memory_base);
  put(out + 12, 4, board->core.memory_bytes);
  put(out + 16, 4, 25000000);
  put(out + 20, 4, 3000000);
  memset(out + 24, 0, 16);
  memcpy(out + 24, "fake", 4);
  memcpy(out + 40, request->data, 4);
  return 44;
}

static unsigned do_register(fake_board_t *board, const request_t *r, uint8_t *out,
                            unsigned *length) {
  uint32_t value = 0;
  const fake_core_t *core = &board->core;
  if (r->length != 4) return REFUSED;
  if (r->command == 3)
    return core->register_write(core->user, r->address, get(r->data, 4)) ? OK : BUS;
  if (!core->register_read(core->user, r->address, &value)) return BUS;
  put(out, 4, value);
  *length = 4;
  return OK;
}

static unsigned do_memory(fake_board_t *board, const request_t *r, uint8_t *out, unsigned *length) {
  const uint32_t bytes = r->command == 6 ? get(r->data, 4) : r->length;
  uint8_t *memory = board->core.memory(board->core.user, r->address, bytes);
  if (board->march_reads > 0) return BUS;  // a real board waits instead
  if (memory == NULL || bytes == 0) return REFUSED;
  if (r->command == 4) memcpy(out, memory, *length = bytes);
  if (r->command == 5) memcpy(memory, r->data, bytes);
  if (r->command == 6) put(out, 4, crc_of(memory, bytes)), *length = 4;
  return OK;
}

static unsigned do_board(fake_board_t *board, const request_t *r, uint8_t *out, unsigned *length) {
  const uint64_t values[] = {
      0, board->march_reads > 0 ? 1 : 2, 0, 0, board->dropped, board->repeats};
  if (r->length != 4 || r->address % 4 != 0 || r->address > 0x20) return REFUSED;
  if (r->command == 9) {
    board->core_resets += r->address == 0x20 && get(r->data, 4) == 1;
    return OK;
  }
  if (r->address == 4 && board->march_reads > 0) board->march_reads--;
  put(out, 4, r->address < 0x18 ? (uint32_t)values[r->address / 4] : 0);
  *length = 4;
  return OK;
}

static unsigned execute(fake_board_t *board, const request_t *r, uint8_t *out, unsigned *length) {
  *length = 0;
  switch (r->command) {
    case 0:
      *length = identify(board, r, out);
      return OK;
    case 1:
      memcpy(out, r->data, *length = r->data_bytes);
      return OK;
    case 2:
    case 3:
      return do_register(board, r, out, length);
    case 4:
    case 5:
    case 6:
      return do_memory(board, r, out, length);
    case 7:
      board->core.wait(board->core.user, get(r->data, 2));
      return OK;
    case 8:
    case 9:
      return do_board(board, r, out, length);
    default:
      return UNKNOWN;
  }
}

// --- Rules of the protocol ----------------------------------------------------------------------

static void run(fake_board_t *board, uint32_t count, const request_t *request, unsigned round) {
  const uint8_t number = (uint8_t)count;
  uint8_t *stored = board->stored[number % FAKE_WINDOW];
  unsigned *length = &board->stored_bytes[number % FAKE_WINDOW];
  stored[0] = number;
  stored[1] = (uint8_t)execute(board, request, stored + 4, length);
  board->log[board->executions++ % FAKE_LOG] = number;
  board->expected = count + 1;
  if (board->executed < FAKE_WINDOW) board->executed++;
  answer(board, request->command == 0 ? 0 : board->nonce ^ (count & ~0xFFu), stored, *length,
         round);
}

static int has_data(unsigned command) {
  return command != 2 && command != 4 && command != 8;
}

static void take_frame(fake_board_t *board) {
  const uint8_t *in = board->in;
  const unsigned round = in[1] >> 4, back = (uint8_t)(board->expected - in[0]);
  const request_t request = {.command = in[1] & 15u,
                             .length = get(in + 2, 2),
                             .address = get(in + 4, 4),
                             .data = in + 8,
                             .data_bytes = board->in_bytes - 12};
  if (request.length > 1008 ||
      request.data_bytes != (has_data(request.command) ? request.length : 0)) {
    board->dropped++;
  } else if (request.command == 0) {
    board->session = 1;
    board->executed = 0;
    if (request.length == 4) board->nonce = get(request.data, 4);
    run(board, in[0], &request, round);
  } else if (!board->session) {
    answer_status(board, in[0], NO_SESSION, round);
  } else if (back == 0) {
    run(board, board->expected, &request, round);
  } else if (back <= board->executed) {
    board->repeats++;
    answer(board, board->nonce ^ ((board->expected - back) & ~0xFFu),
           board->stored[in[0] % FAKE_WINDOW], board->stored_bytes[in[0] % FAKE_WINDOW], round);
  } else {
    board->out_of_order++;
    answer_status(board, (uint8_t)board->expected, OUT_OF_ORDER, round);
  }
}

// Before a session the key is unknown, and only HELLO is executed.
static int is_right(const fake_board_t *board) {
  const unsigned bytes = board->in_bytes, number = board->in[0];
  const uint32_t got = get(board->in + bytes - 4, 4);
  const uint32_t ahead = (uint8_t)(number - board->expected);
  const uint32_t count = board->expected + ahead - (ahead < 128 ? 0 : 256);
  if ((board->in[1] & 15) == 0) return got == crc_of(board->in, bytes - 4);
  return !board->session || got == crc_from(board->nonce ^ (count & ~0xFFu), board->in, bytes - 4);
}

void fake_board_byte(fake_board_t *board, uint8_t byte) {
  if (byte == 0xC0) {
    const unsigned bytes = board->in_bytes;
    const int good =
        bytes >= 12 && bytes <= FAKE_FRAME && !board->bad && !board->escaped && is_right(board);
    if (good) take_frame(board);
    if (!good && bytes > 0) board->dropped++;
    board->in_bytes = 0;
    board->bad = board->escaped = 0;
    return;
  }
  if (board->escaped) {
    board->bad |= byte != 0xDC && byte != 0xDD;
    byte = byte == 0xDC ? 0xC0 : 0xDB;
    board->escaped = 0;
  } else if (byte == 0xDB) {
    board->escaped = 1;
    return;
  }
  if (board->in_bytes <= FAKE_FRAME) board->in[board->in_bytes++] = byte;
}

fake_board_t *fake_board_open(const fake_core_t *core) {
  fake_board_t *board = calloc(1, sizeof *board);
  if (board == NULL) abort();
  board->core = *core;
  board->version = 2;
  board->window = FAKE_WINDOW;
  board->data_bytes = 1008;
  return board;
}

void fake_board_close(fake_board_t *board) {
  free(board->out);
  free(board);
}

void fake_board_reset(fake_board_t *board) {
  board->session = 0;
  board->executed = 0;
  board->in_bytes = 0;
  board->bad = board->escaped = 0;
}

void fake_board_take(fake_board_t *board, size_t bytes) {
  if (bytes == 0) return;
  board->out_bytes -= bytes;
  memmove(board->out, board->out + bytes, board->out_bytes);
}

// --- Faults -------------------------------------------------------------------------------------

static uint32_t draw(fake_faults_t *faults) {
  faults->state = faults->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(faults->state >> 32);
}

unsigned fake_faults_apply(fake_faults_t *faults, uint8_t byte, uint8_t out[2]) {
  out[0] = out[1] = byte;
  if (faults->one_in == 0 || draw(faults) % faults->one_in != 0) return 1;
  faults->done++;
  const uint32_t kind = draw(faults) % 3;
  if (kind == 2) out[0] ^= (uint8_t)(1u << draw(faults) % 8);
  return kind == 2 ? 1 : 2 * kind;
}
