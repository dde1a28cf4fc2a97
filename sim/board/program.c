// SPDX-License-Identifier: Apache-2.0
// ufp4-board-sim: runs the simulated board behind a pseudo-terminal until a signal ends it. ./ufp4
// board-sim --help lists its options.
#define _GNU_SOURCE  // pseudo-terminals
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "ufp4_board_sim.h"

enum { USAGE = 2, ENVIRONMENT = 3 };
enum { STEP = 256, BUFFER = 8192 };
// How long the board runs at full speed after a byte, because a request may take time.
#define AWAKE_MS 2000u
// Sleep between two steps of an idle board.
#define NAP_MS 10
#define LED_BUSY 2u

typedef struct {
  const char *configuration, *memory;
  uint64_t fault_seed, fault_bytes;  // one of this many bytes is damaged; 0: none
} options_t;

typedef struct {
  ufp4_board_sim_t *board;
  int terminal, held;  // the master, and the other end, which stays open while programs come and go
  uint8_t out[2 * BUFFER];
  size_t out_bytes;
  uint64_t random, faults, fault_bytes;
  uint64_t bytes_in, bytes_out;
} sim_t;

static volatile sig_atomic_t ended, pressed;

static void on_signal(int number) {
  if (number == SIGUSR1) {
    pressed = 1;
  } else {
    ended = 1;
  }
}

static int fail(int status, const char *what, const char *why) {
  fprintf(stderr, "ufp4 board-sim: %s%s%s\n", what, why[0] != '\0' ? ": " : "", why);
  return status;
}

// --- Faults -------------------------------------------------------------------------------------

static uint32_t draw(sim_t *sim) {
  sim->random = sim->random * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(sim->random >> 32);
}

// Transmits a byte, which is occasionally dropped, duplicated, or has a bit flipped. @return the
// number of bytes received
static size_t carry(sim_t *sim, uint8_t byte, uint8_t out[2]) {
  out[0] = out[1] = byte;
  if (sim->fault_bytes == 0 || draw(sim) % sim->fault_bytes != 0) return 1;
  sim->faults++;
  const uint32_t kind = draw(sim) % 3;
  if (kind == 2) out[0] ^= (uint8_t)(1u << draw(sim) % 8);
  return kind == 2 ? 1 : 2 * kind;
}

// --- Bytes --------------------------------------------------------------------------------------

// Takes no more than the board can accept at once; the rest waits in the terminal.
static size_t hear(sim_t *sim) {
  uint8_t bytes[BUFFER], carried[2];
  if (ufp4_board_sim_queued(sim->board) >= BUFFER) return 0;
  const ssize_t count = read(sim->terminal, bytes, sizeof bytes);
  for (ssize_t i = 0; i < count; i++)
    ufp4_board_sim_push(sim->board, carried, carry(sim, bytes[i], carried));
  if (count > 0) sim->bytes_in += (uint64_t)count;
  return count > 0 ? (size_t)count : 0;
}

static size_t say(sim_t *sim) {
  uint8_t bytes[BUFFER / 2];
  const size_t room = (sizeof sim->out - sim->out_bytes) / 2;
  const size_t count =
      ufp4_board_sim_take(sim->board, bytes, room < sizeof bytes ? room : sizeof bytes);
  for (size_t i = 0; i < count; i++)
    sim->out_bytes += carry(sim, bytes[i], sim->out + sim->out_bytes);
  const ssize_t written = sim->out_bytes > 0 ? write(sim->terminal, sim->out, sim->out_bytes) : 0;
  if (written > 0) {
    sim->out_bytes -= (size_t)written;
    memmove(sim->out, sim->out + written, sim->out_bytes);
    sim->bytes_out += (uint64_t)written;
  }
  return count;
}

static uint64_t now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000u + (uint64_t)time.tv_nsec / 1000000u;
}

// --- The board ----------------------------------------------------------------------------------

static int run(sim_t *sim) {
  uint64_t moved = 0;  // time of the last byte
  while (!ended) {
    if (pressed) {
      pressed = 0;
      sim->out_bytes = 0;
      ufp4_board_sim_reset(sim->board);
    }
    const size_t heard = hear(sim);
    if (ufp4_board_sim_step(sim->board, STEP) != 0)
      return fail(ENVIRONMENT, "an assertion of the RTL has failed", "");
    const size_t said = say(sim);
    if (heard > 0 || said > 0) moved = now_ms();
    const int busy =
        ufp4_board_sim_queued(sim->board) > 0 || (ufp4_board_sim_leds(sim->board) & LED_BUSY) != 0;
    if (busy || now_ms() - moved < AWAKE_MS) continue;
    struct pollfd file = {.fd = sim->terminal, .events = POLLIN};
    poll(&file, 1, NAP_MS);
  }
  return 0;
}

static int open_terminal(sim_t *sim, const char **name) {
  struct termios line;
  sim->terminal = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
  if (sim->terminal < 0 || grantpt(sim->terminal) != 0 || unlockpt(sim->terminal) != 0) return 0;
  *name = ptsname(sim->terminal);
  sim->held = open(*name, O_RDWR | O_NOCTTY);
  if (sim->held < 0 || tcgetattr(sim->held, &line) != 0) return 0;
  cfmakeraw(&line);
  return tcsetattr(sim->held, TCSANOW, &line) == 0;
}

static void catch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR1};
  struct sigaction action = {.sa_handler = on_signal};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    sigaction(numbers[i], &action, NULL);
}

static int simulate(const options_t *options) {
  static sim_t sim;
  char text[512] = "";
  const char *name;
  const ufp4_board_sim_options_t board = {
      .configuration = options->configuration, .memory = options->memory, .cycles_per_byte = 1};
  sim.board = ufp4_board_sim_open(&board, text, sizeof text);
  if (sim.board == NULL) return fail(ENVIRONMENT, text, "");
  sim.random = options->fault_seed;
  sim.fault_bytes = options->fault_bytes;
  catch_signals();
  if (!open_terminal(&sim, &name)) return fail(ENVIRONMENT, "no pseudo-terminal is available", "");
  printf("%s\n", name);
  fflush(stdout);
  const int end = run(&sim);
  fprintf(stderr,
          "ufp4 board-sim: %" PRIu64 " cycles, %" PRIu64 " bytes to the board, %" PRIu64
          " back, %" PRIu64 " of them damaged\n",
          ufp4_board_sim_cycles(sim.board), sim.bytes_in, sim.bytes_out, sim.faults);
  ufp4_board_sim_close(sim.board);
  return end;
}

// --- The command line ---------------------------------------------------------------------------

static int read_number(const char *text, uint64_t *value) {
  char *end;
  *value = strtoull(text, &end, 10);
  return text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

int main(int argc, char **argv) {
  static const struct option known[] = {{"board", required_argument, NULL, 'b'},
                                        {"config", required_argument, NULL, 'c'},
                                        {"faults", required_argument, NULL, 'f'},
                                        {"fault-bytes", required_argument, NULL, 'n'},
                                        {0}};
  options_t options = {.configuration = "tiny", .memory = "block"};
  uint64_t one_in = 20000;
  int faults = 0, bytes_given = 0, good = 1;
  opterr = 0;
  for (int code; good && (code = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    if (code == '?') return fail(USAGE, "see ./ufp4 board-sim --help", argv[optind - 1]);
    if (code == 'b') options.memory = optarg;
    if (code == 'c') options.configuration = optarg;
    if (code == 'f') faults = good = read_number(optarg, &options.fault_seed);
    if (code == 'n') bytes_given = good = read_number(optarg, &one_in) && one_in > 0;
    if (!good && code == 'f')
      return fail(USAGE, "--faults must be a seed, a whole number from 0", optarg);
  }
  if (!good) return fail(USAGE, "--fault-bytes must be a whole number from 1", optarg);
  if (bytes_given && !faults) return fail(USAGE, "it needs --faults", "--fault-bytes");
  if (optind < argc) return fail(USAGE, "this command takes no inputs", argv[optind]);
  if (faults) options.fault_bytes = one_in;
  return simulate(&options);
}
