// SPDX-License-Identifier: Apache-2.0
// Tests the statements of docs/ip that a driver's author relies on: the worked example, byte by
// byte, on the core and on the golden model; the durations; the effect on a GEMM of codes beyond k,
// and of tensor exponents over the whole range.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand.h"

#define MEMORY 0x80000000ull  // of the page
#define MEMORY_BYTES 0x10000ull
#define TENSORS 0x2000u  // behind the rings
#define LINE_BYTES 16

// Bytes at an address, a line of the page.
typedef struct {
  uint64_t address;
  unsigned count;
  uint8_t bytes[LINE_BYTES];
} line_t;

typedef struct {
  unsigned offset;
  uint32_t value;
} write_t;

typedef struct {
  line_t before[64], after[8];
  unsigned befores, afters, writes;
  write_t write[16];
} example_t;

static FILE *open_page(const char *name) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s", UFP4_PAGES, name);
  FILE *page = fopen(path, "r");
  if (page == NULL) {
    fprintf(stderr, "example: %s cannot be read\n", path);
    exit(1);
  }
  return page;
}

// "    80000000: 03 01 .."
static int parse_line(const char *text, line_t *line) {
  int used = 0;
  unsigned long long address;
  if (sscanf(text, "    %8llx:%n", &address, &used) != 1 || used == 0) return 0;
  *line = (line_t){.address = address};
  for (unsigned byte; line->count < LINE_BYTES; line->count++) {
    int more = 0;
    if (sscanf(text + used, " %2x%n", &byte, &more) != 1) break;
    line->bytes[line->count] = (uint8_t)byte;
    used += more;
  }
  return line->count != 0;
}

static example_t read_example(void) {
  static example_t example;
  char text[512];
  int after = 0;
  FILE *page = open_page("example.md");
  example = (example_t){0};
  while (fgets(text, sizeof text, page) != NULL) {
    line_t line;
    write_t write;
    if (strncmp(text, "## Memory after", 15) == 0) after = 1;
    if (parse_line(text, &line)) {
      if (after && example.afters < 8) example.after[example.afters++] = line;
      if (!after && example.befores < 64) example.before[example.befores++] = line;
    }
    if (sscanf(text, "| 0x%x | %*[a-z_0-9] | 0x%x |", &write.offset, &write.value) == 2 &&
        example.writes < 16)
      example.write[example.writes++] = write;
  }
  fclose(page);
  check_bits(0, example.befores, 44, "lines of memory before: descriptor, codes and scales");
  check_bits(0, example.afters, 3, "lines of memory after: D and the completion");
  check_bits(0, example.writes, 7, "register writes");
  return example;
}

static void check_after(const example_t *example, unsigned count, uint8_t *memory) {
  for (unsigned i = 0; i < count; i++) {
    const line_t *line = &example->after[i];
    const uint8_t *got = memory + (line->address - MEMORY);
    for (unsigned j = 0; j < line->count; j++)
      check_bits(i, got[j], line->bytes[j], "byte 0x%llx", (unsigned long long)(line->address + j));
  }
}

// Everything that the page does not specify is garbage.
static void fill(const example_t *example, uint8_t *memory) {
  check_random_t random = check_random();
  for (uint64_t i = 0; i < MEMORY_BYTES; i++) memory[i] = (uint8_t)check_next(&random);
  for (unsigned i = 0; i < example->befores; i++) {
    const line_t *line = &example->before[i];
    memcpy(memory + (line->address - MEMORY), line->bytes, line->count);
  }
}

static void give_page_to(const char *configuration, uint64_t stall) {
  const example_t example = read_example();
  char message[256] = "";
  const ufp4_sim_options_t options = {.configuration = configuration,
                                      .memory_base = MEMORY,
                                      .memory_bytes = MEMORY_BYTES,
                                      .latency_cycles = 20,
                                      .stall_seed = check_stall(stall)};
  stand_t stand = {.sim = ufp4_sim_open(&options, message, sizeof message)};
  if (!check_that(0, stand.sim != NULL, "%s", message)) return;
  uint8_t *memory = ufp4_sim_memory(stand.sim, MEMORY, MEMORY_BYTES);
  fill(&example, memory);
  for (unsigned i = 0; i < example.writes; i++)
    stand_write(&stand, example.write[i].offset, example.write[i].value);
  check_bits(0, ufp4_sim_wait_interrupt(stand.sim, 10000), UFP4_SIM_OK, "the interrupt of %s: %s",
             configuration, ufp4_sim_message(stand.sim));
  check_bits(0, stand_read(&stand, UFP4_REG_IRQ_STATUS), 1, "irq_status");
  check_bits(0, stand_read(&stand, UFP4_REG_RING_HEAD), 1, "ring_head");
  check_after(&example, example.afters, memory);
  stand_close(&stand);
}

TEST(core_gives_the_page) {
  give_page_to("small", 0);
  give_page_to("small", 5);
  give_page_to("default", 0);
}

static void must(ufp4_device_t *device, ufp4_status_t status) {
  if (status == UFP4_OK) return;
  fprintf(stderr, "example: %s\n", ufp4_device_message(device));
  exit(1);
}

// The descriptor elsewhere: @p by is added to its addresses.
static ufp4_descriptor_t moved(const uint8_t *bytes, uint64_t by) {
  ufp4_descriptor_t descriptor;
  memcpy(&descriptor, bytes, sizeof descriptor);
  descriptor.gemm.a_codes_addr += by;
  descriptor.gemm.a_scales_addr += by;
  descriptor.gemm.b_codes_addr += by;
  descriptor.gemm.b_scales_addr += by;
  descriptor.gemm.d_addr += by;
  return descriptor;
}

// A device of the driver with the memory of the page; callers may change the job.
typedef struct {
  ufp4_device_t *device;
  uint64_t address;
  uint8_t memory[MEMORY_BYTES];
  ufp4_descriptor_t job;
} place_t;

static void open_place(place_t *place, const char *backend) {
  const example_t example = read_example();
  ufp4_device_options_t options = ufp4_device_options_default();
  options.configuration = "small";
  check_bits(0, ufp4_device_open(backend, &options, &place->device), UFP4_OK, "open %s", backend);
  must(place->device, ufp4_buffer_alloc(place->device, MEMORY_BYTES, &place->address));
  fill(&example, place->memory);
  place->job = moved(place->memory, place->address - MEMORY);
}

// Writes memory, runs the job and reads memory.
static void run_place(place_t *place) {
  uint32_t number;
  ufp4_completion_t done;
  must(place->device,
       ufp4_buffer_write(place->device, place->address, place->memory, MEMORY_BYTES));
  must(place->device, ufp4_submit(place->device, &place->job, &number));
  must(place->device, ufp4_wait(place->device, number, 0, &done));
  check_bits(0, done.status, UFP4_CORE_STATUS_OK, "status");
  must(place->device, ufp4_buffer_read(place->device, place->address, place->memory, MEMORY_BYTES));
}

TEST(model_gives_the_page) {
  static place_t place;
  const example_t example = read_example();
  open_place(&place, "model");
  run_place(&place);
  check_after(&example, example.afters - 1, place.memory);  // the completion lies elsewhere
  ufp4_device_close(place.device);
}

// Makes the same change to the example on the core and on the model.
static void same_on_both(void (*change)(place_t *place, int n), int count) {
  static place_t places[2];
  open_place(&places[0], "rtl");
  open_place(&places[1], "model");
  for (int n = 0; n < count; n++) {
    for (int i = 0; i < 2; i++) {
      change(&places[i], n);
      run_place(&places[i]);
    }
    check_that(n, memcmp(places[0].memory, places[1].memory, MEMORY_BYTES) == 0, "memory differs");
  }
  for (int i = 0; i < 2; i++) ufp4_device_close(places[i].device);
}

static const int exponents[] = {-32768, -32767, -200, -1, 0, 1, 150, 32766, 32767};
#define EXPONENTS ((int)(sizeof exponents / sizeof exponents[0]))

static void change_exponents(place_t *place, int n) {
  place->job.gemm.a_exponent = (uint16_t)exponents[n % EXPONENTS];
  place->job.gemm.b_exponent = (uint16_t)exponents[n / EXPONENTS];
}

TEST(exponents_have_sixteen_bits_with_a_sign) {
  same_on_both(change_exponents, EXPONENTS * EXPONENTS);
}

// Code 1 in element k of row 0 of A and of B, which the page does not have.
TEST(codes_beyond_k_change_d) {
  static place_t place;
  float d[2];
  open_place(&place, "rtl");
  for (int n = 0; n < 2; n++) {
    run_place(&place);
    memcpy(&d[n], place.memory + 0x4000, sizeof d[n]);
    place.memory[TENSORS + 128 + 2] = place.memory[0x3000 + 128 + 2] = 0x01;
  }
  // Quanta 1 by 1, units 1/2 and 1/4, scales 3 and 448, 2^-(3 - 1).
  check_that(0, d[1] - d[0] == 3.0f * 448.0f / 8 / 4, "D[0][0] is %g, and %g with them",
             (double)d[0], (double)d[1]);
  ufp4_device_close(place.device);
}

// A descriptor that was lost on the bus has no interrupt flag.
TEST(a_descriptor_that_was_not_fetched_sets_error_alone) {
  stand_t stand = stand_open("small", 5, 0, 0);
  ufp4_descriptor_t fence = stand_fence(7);
  fence.header.flags = 1;
  for (unsigned beat = 1; beat <= 2; beat++) {
    ufp4_sim_fault(stand.sim, UFP4_SIM_FAULT_READ_SLVERR, beat);
    const ufp4_completion_t done = stand_job(&stand, &fence);
    check_bits(beat, done.job, 0, "job");
    check_bits(beat, done.status, UFP4_CORE_STATUS_READ_ERROR, "status");
    check_bits(beat, stand_read(&stand, UFP4_REG_IRQ_STATUS), 2, "irq_status");
    stand_write(&stand, UFP4_REG_IRQ_STATUS, 7);
  }
  stand_close(&stand);
}

TEST(register_accesses_take_the_cycles_of_the_page) {
  stand_t stand = stand_open("small", 5, 0, 0);
  for (int i = 0; i < 4; i++) {
    const uint64_t start = ufp4_sim_cycles(stand.sim);
    stand_read(&stand, UFP4_REG_ID);
    const uint64_t middle = ufp4_sim_cycles(stand.sim);
    stand_write(&stand, UFP4_REG_IRQ_MASK, 3);
    check_bits(i, middle - start, 2, "cycles of a read");
    check_bits(i, ufp4_sim_cycles(stand.sim) - middle, 3, "cycles of a write");
  }
  stand_close(&stand);
}

// The job of a row of the page's table, with all tensors from STAND_DATA on.
static ufp4_descriptor_t short_job(const char *what) {
  ufp4_descriptor_t job = stand_fence(1);
  unsigned a = 1, b = 1, c = 1;
  if (sscanf(what, "gemm %u %u %u", &a, &b, &c) == 3) {
    job.gemm = (ufp4_gemm_descriptor_t){.opcode = UFP4_OPCODE_GEMM,
                                        .m = a,
                                        .n = b,
                                        .k = c,
                                        .a_codes_addr = STAND_DATA,
                                        .a_scales_addr = STAND_DATA + 0x1000,
                                        .b_codes_addr = STAND_DATA + 0x2000,
                                        .b_scales_addr = STAND_DATA + 0x3000,
                                        .d_addr = STAND_DATA + 0x4000,
                                        .a_stride_blocks = 8,
                                        .b_stride_blocks = 8,
                                        .d_stride_bytes = 128};
  } else if (sscanf(what, "quant %u %u", &a, &b) == 2) {
    job.quant = (ufp4_quant_descriptor_t){.opcode = UFP4_OPCODE_QUANT,
                                          .rows = a,
                                          .cols = b,
                                          .src_addr = STAND_DATA,
                                          .src_stride_bytes = 128,
                                          .row_mode = UFP4_MODE_ENABLE,
                                          .row_codes_addr = STAND_DATA + 0x1000,
                                          .row_scales_addr = STAND_DATA + 0x2000,
                                          .row_stride_blocks = 8};
  }
  job.header.flags = 1;
  return job;
}

static uint64_t cycles_of(const char *what, const char *configuration, unsigned latency) {
  stand_t stand = stand_open(configuration, latency, 0, 0);
  const ufp4_descriptor_t job = short_job(what);
  stand_put(&stand, &job);
  stand_start(&stand);
  const uint64_t start = ufp4_sim_cycles(stand.sim);
  check_bits(0, ufp4_sim_wait_interrupt(stand.sim, 100000), UFP4_SIM_OK, "the interrupt");
  const uint64_t cycles = ufp4_sim_cycles(stand.sim) - start;
  check_bits(0, stand_read(&stand, UFP4_REG_IRQ_STATUS), 1, "irq_status of %s", what);
  stand_close(&stand);
  return cycles;
}

TEST(shortest_jobs_take_the_cycles_of_the_page) {
  char text[512], what[32], configuration[32];
  unsigned rows = 0, latency;
  unsigned long long cycles;
  FILE *page = open_page("programmers-guide.md");
  while (fgets(text, sizeof text, page) != NULL) {
    if (sscanf(text, "| %31[a-z 0-9] | %31[a-z0-9-] | %u | %llu |", what, configuration, &latency,
               &cycles) != 4)
      continue;
    check_bits(rows++, cycles_of(what, configuration, latency), cycles, "%s on %s, latency %u",
               what, configuration, latency);
  }
  fclose(page);
  check_bits(rows, rows, 7, "rows of the page");
}
