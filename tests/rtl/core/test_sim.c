// SPDX-License-Identifier: Apache-2.0
// The simulator around the core: refusals, the end of waits and hangs, waveforms, and that time is
// the core's own.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stand.h"

static const ufp4_sim_options_t plain = {
    .configuration = "small",
    .memory_base = STAND_MEMORY,
    .memory_bytes = STAND_MEMORY_BYTES,
    .latency_cycles = 10,
};

static void check_refused(int64_t index, const ufp4_sim_options_t *options, const char *text) {
  char message[256] = "";
  ufp4_sim_t *sim = ufp4_sim_open(options, message, sizeof message);
  check_that(index, sim == NULL, "a simulator was made");
  check_that(index, strstr(message, text) != NULL, "the message says '%s', not '%s'", message,
             text);
  ufp4_sim_close(sim);
}

TEST(rejects_what_it_cannot_make) {
  ufp4_sim_options_t options = plain;
  options.configuration = "huge";
  check_refused(0, &options, "'huge'");
  options = plain;
  options.memory_base += 128;
  check_refused(1, &options, "4096");
  options = plain;
  options.memory_bytes = 0;
  check_refused(2, &options, "4096");
  options = plain;
  options.memory_bytes = 1ull << 60;
  check_refused(3, &options, "cannot allocate");
  options = plain;
  options.trace_path = "/nowhere/at/all.fst";
  check_refused(4, &options, "/nowhere/at/all.fst");
}

TEST(rejects_memory_outside) {
  stand_t stand = stand_open("small", 1, 0, 0);
  const uint64_t end = STAND_MEMORY + STAND_MEMORY_BYTES;
  check_that(0, ufp4_sim_memory(stand.sim, STAND_MEMORY, STAND_MEMORY_BYTES) != NULL,
             "all of memory");
  check_that(1, ufp4_sim_memory(stand.sim, end, 0) != NULL, "nothing, at its end");
  check_that(2, ufp4_sim_memory(stand.sim, STAND_MEMORY - 1, 1) == NULL, "before memory");
  check_that(3, ufp4_sim_memory(stand.sim, end - 1, 2) == NULL, "across its end");
  check_that(4, ufp4_sim_memory(stand.sim, STAND_MEMORY, ~0ull) == NULL,
             "a length that wraps around");
  check_that(5, ufp4_sim_memory(stand.sim, ~0ull, 2) == NULL, "an address that wraps around");
  stand_close(&stand);
}

// A wait that ends early changes nothing: the job continues.
TEST(limit_ends_a_wait) {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device = NULL;
  options.configuration = "small";
  options.memory_bytes = 1 << 20;
  options.max_cycles = 20;
  check_bits(0, ufp4_device_open("rtl", &options, &device), UFP4_OK, "open");
  const ufp4_descriptor_t fence = stand_fence(0);
  uint32_t job = 0;
  check_bits(1, ufp4_submit(device, &fence, &job), UFP4_OK, "submit");
  check_bits(2, ufp4_wait(device, job, 0, NULL), UFP4_ERROR_TIMEOUT, "wait");
  const char *message = ufp4_device_message(device);
  check_that(3, strstr(message, "20 cycles") && strstr(message, "ring head 0, tail 1"),
             "the message: %s", message);
  ufp4_status_t status = UFP4_ERROR_TIMEOUT;
  for (int i = 0; i < 100 && status == UFP4_ERROR_TIMEOUT; i++)
    status = ufp4_wait(device, job, 0, NULL);
  check_bits(4, status, UFP4_OK, "waits after that");
  ufp4_device_close(device);
}

// Jobs that a reset ended are cancelled; later ones run.
TEST(reset_cancels_jobs) {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_device_t *device = NULL;
  options.configuration = "small";
  options.memory_bytes = 1 << 20;
  options.max_cycles = 20;
  check_bits(0, ufp4_device_open("rtl", &options, &device), UFP4_OK, "open");
  const ufp4_descriptor_t fence = stand_fence(0);
  uint32_t jobs[3], next = 0;
  for (int i = 0; i < 3; i++)
    check_bits(i, ufp4_submit(device, &fence, &jobs[i]), UFP4_OK, "submit");
  check_bits(1, ufp4_wait(device, jobs[0], 0, NULL), UFP4_ERROR_TIMEOUT, "wait");
  check_bits(2, ufp4_device_reset(device), UFP4_OK, "reset: %s", ufp4_device_message(device));
  for (int i = 0; i < 3; i++) {
    ufp4_completion_t done;
    check_bits(i, ufp4_wait(device, jobs[i], 0, &done), UFP4_ERROR_JOB, "wait for a cancelled job");
    check_bits(i, done.status, UFP4_CORE_STATUS_CANCELLED, "its status");
  }
  check_bits(3, ufp4_submit(device, &fence, &next), UFP4_OK, "submit");
  check_bits(3, next, jobs[2] + 1, "number of the next job");
  ufp4_status_t status = UFP4_ERROR_TIMEOUT;
  for (int i = 0; i < 100 && status == UFP4_ERROR_TIMEOUT; i++)
    status = ufp4_wait(device, next, 0, NULL);
  check_bits(4, status, UFP4_OK, "wait for it: %s", ufp4_device_message(device));
  ufp4_device_close(device);
}

static void check_hang(int64_t index, uint64_t silent_cycle, const char *stuck) {
  ufp4_sim_options_t options = plain;
  options.silent_cycle = silent_cycle;
  char message[256] = "";
  stand_t stand = {.sim = ufp4_sim_open(&options, message, sizeof message)};
  stand_rings(&stand, STAND_RING, STAND_COMPLETIONS);
  const ufp4_descriptor_t fence = stand_fence(1);
  stand_submit(&stand, &fence);
  check_bits(index, ufp4_sim_wait_interrupt(stand.sim, ~0ull), UFP4_SIM_FAILED,
             "wait with silence from cycle %llu", (unsigned long long)silent_cycle);
  const char *text = ufp4_sim_message(stand.sim);
  check_that(index, strstr(text, "hangs") && strstr(text, stuck), "the message has no '%s': %s",
             stuck, text);
  check_that(index, ufp4_sim_cycles(stand.sim) < 1100000, "it took %llu cycles",
             (unsigned long long)ufp4_sim_cycles(stand.sim));
  stand_close(&stand);
}

// The cycle in which the core has ended a fence.
static uint64_t fence_cycles(unsigned latency) {
  stand_t stand = stand_open("small", latency, 0, 0);
  const ufp4_descriptor_t fence = stand_fence(1);
  stand_submit(&stand, &fence);
  check_bits(0, ufp4_sim_wait_interrupt(stand.sim, 100000), UFP4_SIM_OK, "wait");
  const uint64_t cycles = ufp4_sim_cycles(stand.sim);
  stand_close(&stand);
  return cycles;
}

// Memory stops answering before it gives the descriptor, and before it answers the completion.
SLOW_TEST(hang_is_reported) {
  check_hang(0, 5, "AR waiting for ready");
  check_hang(1, fence_cycles(10) - 5, "0 writes, 1 answers");
}

// An idle core moves nothing and is not hung.
SLOW_TEST(idle_is_no_hang) {
  stand_t stand = stand_open("small", 1, 0, 0);
  check_bits(0, ufp4_sim_wait_interrupt(stand.sim, 1200000), UFP4_SIM_LIMIT,
             "wait of an idle core");
  stand_close(&stand);
}

// Latency is counted as documented, and the same run takes the same cycles; with back-pressure it
// takes more.
TEST(cycles_repeat) {
  uint64_t cycles[4];
  static const struct {
    unsigned latency;
    uint64_t stall_seed;
  } runs[4] = {{10, 0}, {10, 0}, {110, 0}, {10, 5}};
  for (int i = 0; i < 4; i++) {
    stand_t stand = stand_open("small", runs[i].latency, 0, runs[i].stall_seed);
    const ufp4_descriptor_t fence = stand_fence(1);
    const uint64_t start = ufp4_sim_cycles(stand.sim);
    stand_submit(&stand, &fence);
    check_bits(i, ufp4_sim_wait_interrupt(stand.sim, 100000), UFP4_SIM_OK, "wait");
    cycles[i] = ufp4_sim_cycles(stand.sim) - start;
    stand_close(&stand);
  }
  check_bits(0, cycles[1], cycles[0], "cycles of the same run");
  check_bits(1, cycles[2], cycles[0] + 2 * 100,
             "cycles with 100 more of latency on the read and on the write");
  check_that(2, cycles[3] > cycles[0], "cycles with back-pressure: %llu",
             (unsigned long long)cycles[3]);
}

// Each core has a context of its own in Verilator's run time, which must be there when it is freed.
TEST(cores_end_in_any_order) {
  for (int order = 0; order < 6; order++) {
    stand_t stand[3];
    for (int i = 0; i < 3; i++) stand[i] = stand_open("small", 1, 0, 0);
    const int first = order / 2, second = (first + 1 + order % 2) % 3;
    stand_close(&stand[first]);
    stand_close(&stand[second]);
    check_bits(order, stand_read(&stand[3 - first - second], UFP4_REG_VERSION),
               UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH,
               "version of the core that is left");
    stand_close(&stand[3 - first - second]);
  }
}

TEST(waveform_is_written) {
  char path[] = "/tmp/ufp4-test-XXXXXX";
  const int file = mkstemp(path);
  check_that(0, file >= 0, "no temporary file");
  close(file);
  ufp4_sim_options_t options = plain;
  options.trace_path = path;
  char message[256] = "";
  ufp4_sim_t *sim = ufp4_sim_open(&options, message, sizeof message);
  check_that(1, sim != NULL, "%s", message);
  ufp4_sim_run(sim, 200);
  ufp4_sim_close(sim);
  uint8_t head[9] = {0};
  FILE *written = fopen(path, "rb");
  check_that(2, written && fread(head, 1, sizeof head, written) == sizeof head,
             "the file is short");
  if (written) fclose(written);
  // An FST file begins with a header block: type 0, length 329, big-endian.
  check_bits(3, head[0], 0, "type of the first block");
  check_bits(4, (uint64_t)head[7] << 8 | head[8], 329, "length of the first block");
  unlink(path);
}
