// SPDX-License-Identifier: Apache-2.0
// Tests what a host sees of the timed model amid jobs, which calls the model makes to its host, and
// what it refuses.
#include <stdlib.h>
#include <string.h>

#include "jobs.h"

#define SOFT_RESET 4u
#define SLOT_WRITTEN 0x10000u

static const twin_memory_t memory = {.latency = 60, .bandwidth = 5};

// --- As the RTL does ----------------------------------------------------------------------------

static void same_registers(twin_t *twin) {
  twin_write(twin, UFP4_REG_CONTROL, 1);
  for (uint32_t offset = UFP4_REG_ID; offset < 0x200; offset += 4) {
    twin_same_register(twin, offset, "register", offset);
  }
}

// The host reads the registers a few hundred times, which slows the jobs down.
SLOW_TEST(registers_amid_jobs_are_the_same) {
  for (uint64_t stall = 0; stall < 4; stall++) {
    twin_t *twin = twin_open("small", (twin_memory_t){30, 0, stall, NULL}, 0);
    twin->random.state = check_stream(stall);
    for (unsigned list = 0; list < 4; list++) {
      twin_job_t jobs[16];
      const unsigned count = timing_list(twin, 50, jobs);
      twin_give(twin, jobs, count);
      for (unsigned look = 0; look < 12; look++) {
        twin_cycles(twin, check_below(&twin->random, 500));
        same_registers(twin);
      }
      twin_finish(twin, jobs, count);
    }
    check_that((int64_t)stall, twin->differences == 0, "%u differences", twin->differences);
    twin_close(twin);
  }
}

TEST(soft_reset_between_jobs_is_the_same) {
  twin_t *twin = twin_open("small", memory, 0);
  for (unsigned i = 0; i < 6; i++) {
    twin_job_t job = timing_gemm(twin, 30, 20 + 5 * i, 50);
    twin_run(twin, &job, 1);
    twin_write(twin, UFP4_REG_CONTROL, SOFT_RESET);
    twin->tail = 0;
    twin_cycles(twin, i);
    same_registers(twin);
    twin_cycles(twin, 20 + i);
  }
  check_that(0, twin->differences == 0, "%u differences", twin->differences);
  twin_close(twin);
}

TEST(reset_amid_jobs_is_the_same) {
  twin_t *twin = twin_open("small", memory, 0);
  for (unsigned i = 0; i < 6; i++) {
    twin_job_t jobs[2] = {timing_gemm(twin, 60, 60, 200), timing_quant(twin, 60, 60, 0)};
    jobs[1].header.flags = 2;
    twin_give(twin, jobs, 2);
    twin_cycles(twin, 700 * i);
    twin_reset(twin);
    twin_run(twin, jobs, 2);
  }
  check_that(0, twin->differences == 0, "%u differences", twin->differences);
  twin_close(twin);
}

// Soft-resets a stopped core and compares it during and after the reset.
static void same_after_reset(twin_t *twin, unsigned wait) {
  twin_write(twin, UFP4_REG_CONTROL, SOFT_RESET);
  twin_cycles(twin, wait);
  same_registers(twin);
  twin_cycles(twin, 3000);
  same_registers(twin);
  twin->tail = 0;
  twin_write(twin, UFP4_REG_WATCHDOG, 0);
  twin_job_t job = timing_gemm(twin, 20, 30, 40);
  twin_run(twin, &job, 1);
}

SLOW_TEST(soft_reset_amid_jobs_is_the_same) {
  for (unsigned kind = 0; kind < 3; kind++) {
    twin_t *twin = twin_open("small", (twin_memory_t){30 + 200 * kind, 0, kind == 2, NULL}, 0);
    for (unsigned i = 0; i < 24; i++) {
      twin_job_t jobs[16];
      const unsigned count = timing_list(twin, 50, jobs);
      twin_give(twin, jobs, count);
      twin_cycles(twin, 1 + i * i * 7);
      same_after_reset(twin, i);
    }
    check_that(kind, twin->differences == 0, "%u differences", twin->differences);
    twin_close(twin);
  }
}

// The latency exceeds the watchdog's limit in six of eight runs; the host looks in time, or too
// late.
TEST(watchdog_is_the_same) {
  for (unsigned i = 0; i < 8; i++) {
    twin_t *twin = twin_open("small", (twin_memory_t){900, 0, 0, NULL}, 0);
    twin_job_t job = timing_gemm(twin, 60, 60, 200);
    twin_write(twin, UFP4_REG_WATCHDOG, 100 + 150 * i);
    twin_write(twin, UFP4_REG_IRQ_MASK, 7);
    twin_give(twin, &job, 1);
    twin_cycles(twin, 800 + 300 * i);
    same_registers(twin);
    twin_cycles(twin, 2000);
    same_registers(twin);
    same_after_reset(twin, 3 * i);
    check_that((int64_t)i, twin->differences == 0, "%u differences", twin->differences);
    twin_close(twin);
  }
}

TEST(ring_overflow_is_the_same) {
  twin_t *twin = twin_open("small", memory, 0);
  for (unsigned i = 0; i < 8; i++) {
    twin_job_t jobs[3];
    for (unsigned j = 0; j < 3; j++) jobs[j] = timing_gemm(twin, 20, 20, 100);
    twin_give(twin, jobs, 3);
    twin_cycles(twin, 90 * i);
    // The tail is too far ahead, or moved back.
    twin_write(twin, UFP4_REG_RING_TAIL, i % 2 ? TWIN_RING + 4 : 2);
    twin_cycles(twin, 5 * i);
    same_registers(twin);
    twin_cycles(twin, 5000);
    same_registers(twin);
    same_after_reset(twin, i);
  }
  check_that(0, twin->differences == 0, "%u differences", twin->differences);
  twin_close(twin);
}

// --- Calls to the host --------------------------------------------------------------------------

typedef struct {
  twin_job_t ring[TWIN_RING];
  uint32_t done, written;  // jobs and completions, which come in the order of the ring
  int read_fails, write_fails, execute_fails;
} host_t;

static int read_memory(void *user, uint64_t address, void *data, uint32_t bytes) {
  const host_t *host = user;
  memcpy(data, (const uint8_t *)host->ring + (address - TWIN_BASE), bytes);
  return host->read_fails;
}

static int write_memory(void *user, uint64_t address, const void *data, uint32_t bytes) {
  host_t *host = user;
  const ufp4_completion_t *completion = data;
  check_bits(host->written, bytes, sizeof *completion, "bytes of a completion");
  check_bits(host->written, address, sizeof *completion * host->written, "its address");
  check_bits(host->written, completion->job, host->written, "its job");
  check_that(host->written, completion->cycles != 0, "a job without cycles");
  check_bits(host->written, completion->flags, 1u + host->written, "what execute has set");
  host->written++;
  return host->write_fails;
}

static int execute(void *user, const uint8_t descriptor[UFP4_DESCRIPTOR_BYTES],
                   uint16_t slots[UFP4_SLOTS], ufp4_completion_t *completion) {
  host_t *host = user;
  check_that(host->done, memcmp(descriptor, &host->ring[host->done], UFP4_DESCRIPTOR_BYTES) == 0,
             "the descriptor of job %u", host->done);
  if (host->ring[host->done].header.opcode == UFP4_OPCODE_AMAX)
    slots[host->ring[host->done].quant.row_exponent] = 123;
  host->done++;
  completion->flags = (uint16_t)host->done;
  return host->execute_fails;
}

static ufp4_timed_t *open_host(host_t *host, unsigned latency) {
  char message[200] = "";
  const ufp4_timed_host_t functions = {host, read_memory, write_memory, execute, NULL};
  const ufp4_timed_options_t options = {.configuration = "small", .latency_cycles = latency};
  ufp4_timed_t *timed = ufp4_timed_open(&options, &functions, message, sizeof message);
  check_that(0, timed != NULL, "%s", message);
  ufp4_timed_register_write(timed, UFP4_REG_RING_BASE_LO, (uint32_t)TWIN_BASE);
  ufp4_timed_register_write(timed, UFP4_REG_RING_LOG2, TWIN_RING_LOG2);
  ufp4_timed_register_write(timed, UFP4_REG_IRQ_MASK, 7);
  return timed;
}

// Makes an AMAX into slot 5, a QUANT that reads it, and a GEMM.
static void three_jobs(host_t *host) {
  twin_t twin = {.random = check_random()};
  twin_configure(&twin, "small");
  host->ring[0] = timing_quant(&twin, 40, 40, 1);
  host->ring[0].quant.row_mode = UFP4_MODE_ENABLE;
  host->ring[0].quant.col_mode = 0;
  host->ring[0].quant.row_exponent = 5;
  host->ring[1] = host->ring[0];
  host->ring[1].header.opcode = UFP4_OPCODE_QUANT;
  host->ring[1].quant.row_mode |= UFP4_MODE_SLOT;
  host->ring[2] = timing_gemm(&twin, 30, 30, 30);
  for (uint32_t i = 0; i < 3; i++) host->ring[i].header.job = i;
  host->ring[2].header.flags = 1;
}

TEST(jobs_are_done_once_each_in_order) {
  host_t host = {.done = 0};
  three_jobs(&host);
  ufp4_timed_t *timed = open_host(&host, 20);
  ufp4_timed_register_write(timed, UFP4_REG_RING_TAIL, 3);
  check_bits(0, ufp4_timed_wait_interrupt(timed, 1000000), UFP4_TIMED_OK, "status");
  check_bits(0, host.done, 3, "jobs done");
  check_bits(0, host.written, 3, "completions");
  uint32_t slot = 0;
  ufp4_timed_register_read(timed, UFP4_REG_SLOT_BASE + 4 * 5, &slot);
  check_bits(0, slot, SLOT_WRITTEN | 123, "slot 5");
  check_bits(0, ufp4_timed_reset(timed), UFP4_TIMED_OK, "reset");
  ufp4_timed_register_read(timed, UFP4_REG_SLOT_BASE + 4 * 5, &slot);
  check_bits(0, slot, 0, "slot 5 after a reset");
  ufp4_timed_close(timed);
}

// --- Refusals -----------------------------------------------------------------------------------

TEST(rejects_an_unknown_configuration) {
  char message[200] = "";
  host_t host = {.done = 0};
  const ufp4_timed_host_t functions = {&host, read_memory, write_memory, NULL, NULL};
  const ufp4_timed_options_t options = {.configuration = "huge"};
  check_that(0, ufp4_timed_open(&options, &functions, message, sizeof message) == NULL, "opened");
  check_that(0, strstr(message, "huge") != NULL, "%s", message);
}

// Runs the three jobs and expects a failure with the text @p why.
static void fails(host_t *host, const char *why) {
  three_jobs(host);
  ufp4_timed_t *timed = open_host(host, 20);
  ufp4_timed_register_write(timed, UFP4_REG_RING_TAIL, 3);
  check_bits(0, ufp4_timed_wait_interrupt(timed, 1000000), UFP4_TIMED_FAILED, "status");
  check_that(0, strstr(ufp4_timed_message(timed), why) != NULL, "%s", ufp4_timed_message(timed));
  ufp4_timed_close(timed);
}

TEST(rejects_what_the_host_cannot_do) {
  fails(&(host_t){.read_fails = 1}, "cannot be read");
  fails(&(host_t){.write_fails = 1}, "cannot be written");
  fails(&(host_t){.execute_fails = 1}, "could not do job 0");
}

// The registers show that a core has stopped; with that interrupt masked, a wait for the core would
// never end.
TEST(rejects_a_wait_for_a_core_that_hangs) {
  host_t host = {.done = 0};
  three_jobs(&host);
  ufp4_timed_t *timed = open_host(&host, 20);
  ufp4_timed_register_write(timed, UFP4_REG_IRQ_MASK, 1);
  ufp4_timed_register_write(timed, UFP4_REG_RING_TAIL, TWIN_RING + 1);
  check_bits(0, ufp4_timed_wait_interrupt(timed, 3000000), UFP4_TIMED_FAILED, "status");
  check_that(0, strstr(ufp4_timed_message(timed), "nothing has moved") != NULL, "%s",
             ufp4_timed_message(timed));
  ufp4_timed_close(timed);
}
