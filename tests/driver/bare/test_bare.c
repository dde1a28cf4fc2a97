// SPDX-License-Identifier: Apache-2.0
// Tests the driver without an operating system (ufp4_bare.h) on a fake core. This file needs no C
// library: freestanding.c runs it on other machines.
#include "check.h"
#include "ufp4_bare.h"

enum { LOG2 = 2, JOBS = 1 << LOG2, BYTES = 8192 };
#define BASE 0x1234567000ull
#define RING (BASE + 128)

// --- A core that records accesses ---------------------------------------------------------------

typedef struct {
  uint32_t registers[UFP4_REG_SIZE / 4];
  uint8_t memory[BYTES];
  uint32_t order;         // of accesses: 1 irq_status was written, 2 then ring_head was read
  unsigned calls, fails;  // the call of this number fails; 0: none
} core_t;

static core_t core;
static ufp4_bare_t bare;

static ufp4_status_t count(core_t *core) {
  return ++core->calls == core->fails ? UFP4_ERROR_DEVICE : UFP4_OK;
}

static ufp4_status_t register_read(void *user, uint32_t offset, uint32_t *value) {
  core_t *of = user;
  if (offset == UFP4_REG_RING_HEAD && of->order == 1) of->order = 2;
  *value = of->registers[offset / 4];
  return count(of);
}

static ufp4_status_t register_write(void *user, uint32_t offset, uint32_t value) {
  core_t *of = user;
  if (offset == UFP4_REG_IRQ_STATUS) of->order = 1;
  of->registers[offset / 4] = value;
  return count(of);
}

static ufp4_status_t memory_read(void *user, uint64_t address, void *data, uint64_t bytes) {
  core_t *of = user;
  for (uint64_t i = 0; i < bytes; i++) ((uint8_t *)data)[i] = of->memory[address - BASE + i];
  return count(of);
}

static ufp4_status_t memory_write(void *user, uint64_t address, const void *data, uint64_t bytes) {
  core_t *of = user;
  for (uint64_t i = 0; i < bytes; i++) of->memory[address - BASE + i] = ((const uint8_t *)data)[i];
  return count(of);
}

static void start(uint32_t jobs) {
  for (unsigned i = 0; i < sizeof core; i++) ((uint8_t *)&core)[i] = 0;
  bare = (ufp4_bare_t){.io = {&core, register_read, register_write, memory_read, memory_write},
                       .ring = RING,
                       .ring_log2 = LOG2,
                       .submitted = jobs,
                       .taken = jobs};
  core.registers[UFP4_REG_RING_HEAD / 4] = jobs;
}

static uint64_t bytes_at(uint64_t offset, unsigned bytes) {
  uint64_t value = 0;
  for (unsigned i = 0; i < bytes; i++) value |= (uint64_t)core.memory[offset + i] << 8 * i;
  return value;
}

static void put(uint64_t offset, unsigned bytes, uint64_t value) {
  for (unsigned i = 0; i < bytes; i++) core.memory[offset + i] = (uint8_t)(value >> 8 * i);
}

static uint32_t reg(uint32_t offset) {
  return core.registers[offset / 4];
}

// --- Registers ----------------------------------------------------------------------------------

TEST(identify_reads_what_the_core_is) {
  ufp4_bare_identity_t is;
  start(0);
  core.registers[UFP4_REG_ID / 4] = UFP4_CORE_ID;
  core.registers[UFP4_REG_VERSION / 4] = UFP4_BARE_VERSION;
  core.registers[UFP4_REG_CONFIG_ARRAY / 4] = 1;
  core.registers[UFP4_REG_CONFIG_TILE / 4] = 2;
  core.registers[UFP4_REG_CONFIG_MEMORY / 4] = 3;
  core.registers[UFP4_REG_CONFIG_QUANT / 4] = 4;
  check_bits(0, ufp4_bare_identify(&bare, &is), UFP4_OK, "status");
  check_bits(0, is.id, UFP4_CORE_ID, "id");
  check_bits(0, is.version, UFP4_BARE_VERSION, "version");
  check_bits(0, is.config_array, 1, "config_array");
  check_bits(0, is.config_tile, 2, "config_tile");
  check_bits(0, is.config_memory, 3, "config_memory");
  check_bits(0, is.config_quant, 4, "config_quant");
  // A core of another version may have another register at that place.
  core.registers[UFP4_REG_VERSION / 4] = UFP4_BARE_VERSION ^ 0x100;
  check_bits(1, ufp4_bare_identify(&bare, &is), UFP4_OK, "status");
  check_bits(1, is.config_quant, 0, "config_quant of a core that is not known");
}

TEST(set_up_names_both_rings) {
  start(0);
  check_bits(0, ufp4_bare_set_up(&bare), UFP4_OK, "status");
  check_bits(0, reg(UFP4_REG_RING_BASE_LO), (uint32_t)RING, "ring_base_lo");
  check_bits(0, reg(UFP4_REG_RING_BASE_HI), RING >> 32, "ring_base_hi");
  check_bits(0, reg(UFP4_REG_RING_LOG2), LOG2, "ring_log2");
  check_bits(0, reg(UFP4_REG_COMPLETION_BASE_LO), (uint32_t)(RING + 128 * JOBS), "completion_base");
  check_bits(0, reg(UFP4_REG_COMPLETION_BASE_HI), RING >> 32, "completion_base_hi");
  check_bits(0, reg(UFP4_REG_IRQ_MASK), 7, "irq_mask");
  check_bits(0, UFP4_BARE_RING_BYTES(LOG2), 144 * JOBS, "bytes of both rings");
}

TEST(set_up_rejects_rings_that_no_core_has) {
  static const struct {
    uint64_t ring;
    unsigned log2;
    ufp4_status_t status;
  } cases[] = {{RING, 15, UFP4_OK},
               {RING + 64, 2, UFP4_ERROR_ARGUMENT},
               {RING, 16, UFP4_ERROR_ARGUMENT},
               {RING, 32, UFP4_ERROR_ARGUMENT},
               {(1ull << UFP4_ADDR_BITS) - 4 * 144 - 64, 2, UFP4_OK},
               {(1ull << UFP4_ADDR_BITS) - 4 * 144 + 64, 2, UFP4_ERROR_ARGUMENT},
               {1ull << UFP4_ADDR_BITS, 2, UFP4_ERROR_ARGUMENT}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    start(0);
    bare.ring = cases[i].ring;
    bare.ring_log2 = cases[i].log2;
    check_bits(i, ufp4_bare_set_up(&bare), cases[i].status, "status");
    check_bits(i, core.calls, cases[i].status == UFP4_OK ? 8 : 0, "nothing is written");
  }
}

TEST(knows_cores_of_its_minor_version) {
  check_that(0, UFP4_BARE_KNOWS(UFP4_BARE_VERSION), "its own");
  check_that(1, UFP4_BARE_KNOWS(UFP4_BARE_VERSION ^ 1), "another patch number");
  check_that(2, !UFP4_BARE_KNOWS(UFP4_BARE_VERSION ^ 0x100), "another minor one");
  check_that(3, !UFP4_BARE_KNOWS(UFP4_BARE_VERSION ^ 0x10000), "another major one");
}

TEST(reset_ends_when_the_core_says_so) {
  int resetting = 0;
  start(9);
  check_bits(0, ufp4_bare_reset(&bare), UFP4_OK, "status");
  check_bits(0, reg(UFP4_REG_CONTROL), 4, "control");
  check_bits(0, bare.submitted | bare.taken, 0, "counts");
  core.registers[UFP4_REG_STATUS / 4] = 9;
  check_bits(0, ufp4_bare_resetting(&bare, &resetting), UFP4_OK, "status");
  check_bits(0, (uint64_t)resetting, 1, "while it lasts");
  core.registers[UFP4_REG_STATUS / 4] = 7;
  check_bits(0, ufp4_bare_resetting(&bare, &resetting), UFP4_OK, "status");
  check_bits(0, (uint64_t)resetting, 0, "after it");
}

TEST(slots_are_signed) {
  int exponent = 0;
  start(0);
  core.registers[(UFP4_REG_SLOT_BASE + 4 * 5) / 4] = 0x1FFF3;
  check_bits(0, ufp4_bare_slot_read(&bare, 5, &exponent), UFP4_OK, "status");
  check_bits(0, (uint64_t)(int64_t)exponent, (uint64_t)-13, "exponent");
}

TEST(rejects_a_slot_that_was_never_written) {
  int exponent = 77;
  start(0);
  check_bits(0, ufp4_bare_slot_read(&bare, 5, &exponent), UFP4_ERROR_ARGUMENT, "status");
  check_bits(0, (uint64_t)exponent, 77, "stays");
}

TEST(counters_have_both_halves) {
  uint64_t counters[UFP4_COUNTER_COUNT];
  start(0);
  for (uint32_t i = 0; i < 2 * UFP4_COUNTER_COUNT; i++)
    core.registers[UFP4_REG_COUNTER_BASE / 4 + i] = 100 + i;
  check_bits(0, ufp4_bare_counters(&bare, counters), UFP4_OK, "status");
  check_bits(0, reg(UFP4_REG_CONTROL), 1, "control");
  for (unsigned i = 0; i < UFP4_COUNTER_COUNT; i++)
    check_bits(i, counters[i], (uint64_t)(101 + 2 * i) << 32 | (100 + 2 * i), "counter");
}

// --- Jobs ---------------------------------------------------------------------------------------

// Members by their offset in docs/ip/registers.md.
typedef struct {
  unsigned offset, bytes;
  uint64_t value;
} member_t;

static void check_members(const ufp4_descriptor_t *descriptor, const member_t *members,
                          unsigned many) {
  start(0);
  check_bits(0, ufp4_bare_submit(&bare, descriptor), UFP4_OK, "status");
  for (unsigned i = 0; i < many; i++)
    check_bits(members[i].offset, bytes_at(RING - BASE + members[i].offset, members[i].bytes),
               members[i].value, "member");
}

TEST(a_gemm_is_little_endian) {
  const ufp4_descriptor_t job = {.gemm = {.opcode = UFP4_OPCODE_GEMM,
                                          .flags = 2,
                                          .after = 3,
                                          .panels = 4,
                                          .job = 0x01020304,
                                          .m = 0x11121314,
                                          .k = 0x21222324,
                                          .b_elem = 0x31,
                                          .d_mode = 0x41,
                                          .b_exponent = 0x5152,
                                          .a_codes_addr = 0x6162636465666768,
                                          .d_addr = 0x7172737475767778,
                                          .c_stride_bytes = 0x81828384,
                                          .tensor_scale = 0x91929394}};
  static const member_t members[] = {{0, 1, UFP4_OPCODE_GEMM},
                                     {1, 1, 3},
                                     {2, 1, 3},
                                     {3, 1, 4},
                                     {4, 4, 0x01020304},
                                     {8, 4, 0x11121314},
                                     {16, 4, 0x21222324},
                                     {21, 1, 0x31},
                                     {27, 1, 0x41},
                                     {30, 2, 0x5152},
                                     {32, 8, 0x6162636465666768},
                                     {64, 8, 0x7172737475767778},
                                     {84, 4, 0x81828384},
                                     {112, 4, 0x91929394}};
  check_members(&job, members, sizeof members / sizeof members[0]);
}

TEST(a_quant_is_little_endian) {
  const ufp4_descriptor_t job = {.quant = {.opcode = UFP4_OPCODE_QUANT,
                                           .job = 0x01020304,
                                           .cols = 0x11121314,
                                           .src_addr = 0x2122232425262728,
                                           .src_stride_bytes = 0x31323334,
                                           .scale_round = 0x41,
                                           .rht_mask = 0x5152,
                                           .col_exponent = 0x6162,
                                           .col_stride_blocks = 0x71727374,
                                           .seed = 0x8182838485868788,
                                           .scale = 0x91}};
  static const member_t members[] = {{0, 1, UFP4_OPCODE_QUANT},
                                     {4, 4, 0x01020304},
                                     {12, 4, 0x11121314},
                                     {24, 4, 0x31323334},
                                     {16, 8, 0x2122232425262728},
                                     {31, 1, 0x41},
                                     {34, 2, 0x5152},
                                     {38, 2, 0x6162},
                                     {76, 4, 0x71727374},
                                     {104, 1, 0x91},
                                     {80, 8, 0x8182838485868788}};
  ufp4_descriptor_t amax = job;
  member_t changed[sizeof members / sizeof members[0]];
  check_members(&job, members, sizeof members / sizeof members[0]);
  for (unsigned i = 0; i < sizeof members / sizeof members[0]; i++) changed[i] = members[i];
  amax.header.opcode = UFP4_OPCODE_AMAX;
  changed[0].value = UFP4_OPCODE_AMAX;
  check_members(&amax, changed, sizeof members / sizeof members[0]);
}

TEST(a_fence_has_no_more_than_its_header) {
  const ufp4_descriptor_t job = {.header = {.opcode = UFP4_OPCODE_FENCE, .job = 0x01020304}};
  static const member_t members[] = {
      {0, 1, UFP4_OPCODE_FENCE}, {1, 1, 1}, {4, 4, 0x01020304}, {8, 8, 0}, {120, 8, 0}};
  check_members(&job, members, sizeof members / sizeof members[0]);
}

TEST(a_completion_is_little_endian) {
  ufp4_completion_t done;
  start(0);
  put(RING - BASE + 128 * JOBS, 8, 0x1112212231323334);
  put(RING - BASE + 128 * JOBS + 8, 8, 0x4142434445464748);
  check_bits(0, ufp4_bare_take(&bare, &done), UFP4_OK, "status");
  check_bits(0, done.job, 0x31323334, "job");
  check_bits(0, done.status, 0x2122, "status");
  check_bits(0, done.flags, 0x1112, "flags");
  check_bits(0, done.cycles, 0x4142434445464748, "cycles");
}

// The counts pass the end of the rings and of 32 bits.
TEST(rings_go_round) {
  uint32_t ended, fatal;
  ufp4_completion_t done;
  start(0xFFFFFFFD);
  for (uint32_t i = 0; i < 3 * JOBS; i++) {
    const uint32_t number = 0xFFFFFFFD + i, place = number % JOBS;
    const ufp4_descriptor_t job = {.header = {.opcode = UFP4_OPCODE_FENCE, .job = 1000 + i}};
    check_bits(i, ufp4_bare_submit(&bare, &job), UFP4_OK, "submit");
    check_bits(i, reg(UFP4_REG_RING_TAIL), number + 1, "ring_tail");
    check_bits(i, bytes_at(RING - BASE + 128 * place + 4, 4), 1000 + i, "descriptor");
    check_bits(i, ufp4_bare_poll(&bare, &ended, &fatal), UFP4_OK, "poll");
    check_bits(i, ended, 0, "before its end");
    put(RING - BASE + 128 * JOBS + 16 * place, 4, 1000 + i);
    core.registers[UFP4_REG_RING_HEAD / 4] = number + 1;
    check_bits(i, ufp4_bare_poll(&bare, &ended, &fatal), UFP4_OK, "poll");
    check_bits(i, ended, 1, "after its end");
    check_bits(i, ufp4_bare_take(&bare, &done), UFP4_OK, "take");
    check_bits(i, done.job, 1000 + i, "completion");
  }
}

TEST(rejects_a_job_in_a_full_ring) {
  const ufp4_descriptor_t job = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  ufp4_completion_t done;
  start(7);
  for (int i = 0; i < JOBS; i++) check_bits(i, ufp4_bare_submit(&bare, &job), UFP4_OK, "submit");
  check_bits(0, ufp4_bare_submit(&bare, &job), UFP4_ERROR_MEMORY, "one more");
  check_bits(0, reg(UFP4_REG_RING_TAIL), 7 + JOBS, "ring_tail");
  check_bits(0, ufp4_bare_take(&bare, &done), UFP4_OK, "take");
  check_bits(0, ufp4_bare_submit(&bare, &job), UFP4_OK, "after one is taken");
}

TEST(poll_clears_the_interrupt_before_it_looks) {
  uint32_t ended, fatal;
  start(0);
  check_bits(0, ufp4_bare_poll(&bare, &ended, &fatal), UFP4_OK, "poll");
  check_bits(0, core.order, 2, "irq_status, then ring_head");
  check_bits(0, reg(UFP4_REG_IRQ_STATUS), 3, "irq_status");
}

TEST(poll_tells_of_a_stopped_core) {
  uint32_t ended, fatal;
  start(0);
  core.registers[UFP4_REG_FATAL / 4] = 9;
  check_bits(0, ufp4_bare_poll(&bare, &ended, &fatal), UFP4_OK, "poll");
  check_bits(0, fatal, 9, "fatal");
  check_bits(0, reg(UFP4_REG_IRQ_STATUS), 7, "the interrupt of that is cleared");
  core.registers[UFP4_REG_RING_HEAD / 4] = 1;
  check_bits(0, ufp4_bare_poll(&bare, &ended, &fatal), UFP4_OK, "poll");
  check_bits(0, ended, 1, "a completion comes first");
  check_bits(0, reg(UFP4_REG_IRQ_STATUS), 3, "the stop's interrupt stays");
  check_bits(0, fatal, 0, "fatal");
}

TEST(a_quiet_job_raises_no_interrupt) {
  const ufp4_descriptor_t job = {.header = {.opcode = UFP4_OPCODE_FENCE, .flags = 3}};
  start(0);
  check_bits(0, ufp4_bare_submit_quiet(&bare, &job), UFP4_OK, "submit");
  check_bits(0, ufp4_bare_submit(&bare, &job), UFP4_OK, "submit");
  check_bits(0, bytes_at(RING - BASE + 1, 1), 2, "flags");
  check_bits(1, bytes_at(RING - BASE + 128 + 1, 1), 3, "flags of the other");
}

typedef struct {
  unsigned calls, ends, stops, fails;  // the number of the call in which that happens
} pause_t;

static ufp4_status_t pause(void *user) {
  pause_t *pause = user;
  pause->calls++;
  if (pause->calls == pause->ends) core.registers[UFP4_REG_RING_HEAD / 4] = 1;
  if (pause->calls == pause->stops) core.registers[UFP4_REG_FATAL / 4] = 1;
  return pause->calls == pause->fails ? UFP4_ERROR_STORAGE : UFP4_OK;
}

TEST(wait_pauses_until_a_job_ends) {
  static const struct {
    pause_t pause;
    ufp4_status_t status;
    unsigned calls;
  } cases[] = {{{.ends = 3}, UFP4_OK, 3},
               {{.ends = 5}, UFP4_OK, 5},
               {{.ends = 6}, UFP4_ERROR_TIMEOUT, 5},
               {{.stops = 2}, UFP4_ERROR_DEVICE, 2},
               {{.fails = 4}, UFP4_ERROR_STORAGE, 4}};
  const ufp4_descriptor_t job = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    pause_t user = cases[i].pause;
    ufp4_completion_t done;
    start(0);
    check_bits(i, ufp4_bare_wait(&bare, 5, pause, &user, &done), UFP4_ERROR_DEVICE, "no job");
    check_bits(i, ufp4_bare_submit(&bare, &job), UFP4_OK, "submit");
    put(RING - BASE + 128 * JOBS, 4, 77);
    check_bits(i, ufp4_bare_wait(&bare, 5, pause, &user, &done), cases[i].status, "status");
    check_bits(i, user.calls, cases[i].calls, "pauses");
    check_bits(i, bare.taken, cases[i].status == UFP4_OK, "taken");
    if (cases[i].status == UFP4_OK) check_bits(i, done.job, 77, "its completion");
  }
}

// Each access of each call fails in turn.
TEST(rejects_an_access_that_fails) {
  const ufp4_descriptor_t job = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  static const unsigned accesses[] = {5, 1, 1, 8, 2, 3, 1, 1, 1 + 2 * UFP4_COUNTER_COUNT};
  for (unsigned call = 0; call < sizeof accesses / sizeof accesses[0]; call++) {
    for (unsigned nth = 1; nth <= accesses[call] + 1; nth++) {
      ufp4_bare_identity_t is;
      ufp4_completion_t done;
      uint64_t counters[UFP4_COUNTER_COUNT];
      uint32_t ended, fatal;
      int number;
      start(0);
      core.registers[UFP4_REG_SLOT_BASE / 4] = 0x10000;
      core.fails = nth;
      const ufp4_status_t status = call == 0   ? ufp4_bare_identify(&bare, &is)
                                   : call == 1 ? ufp4_bare_reset(&bare)
                                   : call == 2 ? ufp4_bare_resetting(&bare, &number)
                                   : call == 3 ? ufp4_bare_set_up(&bare)
                                   : call == 4 ? ufp4_bare_submit(&bare, &job)
                                   : call == 5 ? ufp4_bare_poll(&bare, &ended, &fatal)
                                   : call == 6 ? ufp4_bare_take(&bare, &done)
                                   : call == 7 ? ufp4_bare_slot_read(&bare, 0, &number)
                                               : ufp4_bare_counters(&bare, counters);
      check_bits(call, status, nth <= accesses[call] ? UFP4_ERROR_DEVICE : UFP4_OK, "access %u",
                 nth);
      check_bits(call, core.calls, nth <= accesses[call] ? nth : accesses[call], "calls");
      if (nth <= accesses[call]) check_bits(call, bare.submitted | bare.taken, 0, "counts");
    }
  }
}

// --- Registers and memory among the processor's own addresses ------------------------------------

TEST(mapped_memory_is_copied_at_any_alignment) {
  static uint64_t memory[8];
  uint8_t host[64];
  ufp4_bare_mapped_t mapped = {.memory = memory, .memory_base = BASE};
  uint8_t *there = (uint8_t *)memory;
  for (unsigned at = 0; at < 20; at++) {
    for (unsigned bytes = 0; bytes < 36; bytes++) {
      for (unsigned i = 0; i < 64; i++) there[i] = (uint8_t)(i + 100), host[i] = (uint8_t)(i + 1);
      ufp4_bare_mapped_memory_write(&mapped, BASE + at, host + at % 3, bytes);
      for (unsigned i = 0; i < 64; i++) {
        const int written = i >= at && i < at + bytes;
        check_bits(i, there[i], written ? i - at + at % 3 + 1 : i + 100, "%u bytes to %u", bytes,
                   at);
        there[i] = (uint8_t)(i + 100);
      }
      ufp4_bare_mapped_memory_read(&mapped, BASE + at, host + at % 3, bytes);
      for (unsigned i = 0; i < 64; i++) {
        const int read = i >= at % 3 && i < at % 3 + bytes;
        check_bits(i, host[i], read ? i - at % 3 + at + 100 : i + 1, "%u bytes from %u", bytes, at);
      }
    }
  }
}

TEST(mapped_registers_are_little_endian) {
  static uint8_t bytes[8] __attribute__((aligned(8)));
  ufp4_bare_mapped_t mapped = {.registers = (volatile uint32_t *)(void *)bytes};
  uint32_t value = 0;
  ufp4_bare_mapped_register_write(&mapped, 4, 0x11121314);
  check_bits(0, bytes[4], 0x14, "the first byte");
  check_bits(0, bytes[7], 0x11, "the last byte");
  ufp4_bare_mapped_register_read(&mapped, 4, &value);
  check_bits(0, value, 0x11121314, "read back");
}

// --- Panels -------------------------------------------------------------------------------------

TEST(panels_lie_as_the_page_says) {
  enum { ROWS = 19, COLS = 40, BLOCKS = 3, STRIDE = 8 };
  static uint8_t codes[ROWS * BLOCKS * 8], scales[ROWS * BLOCKS];
  static uint8_t panel_codes[2 * STRIDE * 128], panel_scales[2 * STRIDE * 16];
  ufp4_operand_t operand = {.rows = ROWS,
                            .cols = COLS,
                            .blocks = BLOCKS,
                            .block = 16,
                            .scale_blocks = BLOCKS,
                            .codes = codes,
                            .scales = scales};
  for (unsigned i = 0; i < sizeof codes; i++) codes[i] = (uint8_t)(i * 7 + 1);
  for (unsigned i = 0; i < sizeof scales; i++) scales[i] = (uint8_t)(i * 5 + 3);
  check_bits(0, (uint64_t)ufp4_panel_stride_blocks(COLS), STRIDE, "stride");
  ufp4_panel_pack(&operand, STRIDE, panel_codes, panel_scales);
  for (unsigned row = 0; row < 32; row++) {
    for (unsigned block = 0; block < BLOCKS; block++) {
      const unsigned unit = row / 16 * STRIDE + block, plain = row * BLOCKS + block;
      const int there = row < ROWS;
      for (unsigned byte = 0; byte < 8; byte++)
        check_bits(row, panel_codes[unit * 128 + row % 16 * 8 + byte],
                   there ? codes[plain * 8 + byte] : 0, "code byte %u of block %u", byte, block);
      check_bits(row, panel_scales[unit * 16 + row % 16], there ? scales[plain] : 0, "scale of %u",
                 block);
    }
  }
}
