// SPDX-License-Identifier: Apache-2.0
// The register file over AXI4-Lite (docs/ip/registers.md).
#include "stand.h"

static const ufp4_configuration_t configurations[] = UFP4_CONFIGURATIONS;

TEST(identity) {
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    const ufp4_configuration_t *c = &configurations[i];
    if (!ufp4_sim_has(c->name)) continue;
    stand_t stand = stand_open(c->name, 1, 0, 0);
    const uint32_t version =
        UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
    check_bits(i, stand_read(&stand, UFP4_REG_ID), UFP4_CORE_ID, "id");
    check_bits(i, stand_read(&stand, UFP4_REG_VERSION), version, "version");
    const uint32_t array = c->rows | c->cols << 8 | c->lanes << 16 | c->contract << 24 |
                           c->formats << 26 | (c->quant ? 1u << 28 : 0u) |
                           (c->quant ? (uint32_t)__builtin_ctz(c->quant) << 29 : 0u);
    check_bits(i, stand_read(&stand, UFP4_REG_CONFIG_ARRAY), array, "config_array");
    check_bits(i, stand_read(&stand, UFP4_REG_CONFIG_TILE),
               c->rows * c->tile_rows | c->cols * c->tile_cols << 16, "config_tile");
    check_bits(i, stand_read(&stand, UFP4_REG_CONFIG_MEMORY),
               c->bus_bytes | UFP4_ADDR_BITS << 8 | c->chunk << 16 | (uint32_t)UFP4_SLOTS << 24,
               "config_memory");
    check_bits(i, stand_read(&stand, UFP4_REG_CONFIG_QUANT), c->mixed, "config_quant");
    stand_close(&stand);
  }
}

static uint32_t bits_of(unsigned strobes) {
  uint32_t bits = 0;
  for (unsigned byte = 0; byte < 4; byte++) bits |= strobes >> byte & 1 ? 0xFFu << 8 * byte : 0;
  return bits;
}

TEST(reads_zero_between_words) {
  stand_t stand = stand_open("small", 1, 0, 0);
  for (uint32_t byte = 1; byte < 4; byte++) {
    check_bits(byte, stand_read(&stand, UFP4_REG_ID + byte), 0, "byte %u of id", byte);
  }
  check_bits(0, stand_read(&stand, UFP4_REG_ID), UFP4_CORE_ID, "id");
  stand_close(&stand);
}

// Each writable register keeps the bits that it has, in the bytes that are written, and no other
// register changes.
TEST(keeps_what_is_written) {
  static const struct {
    uint32_t offset, mask;
  } registers[] = {
      {UFP4_REG_IRQ_MASK, 7},
      {UFP4_REG_RING_BASE_LO, 0xFFFFFF80},
      {UFP4_REG_RING_BASE_HI, 0xFF},
      {UFP4_REG_RING_LOG2, 0xF},
      {UFP4_REG_COMPLETION_BASE_LO, 0xFFFFFF80},
      {UFP4_REG_COMPLETION_BASE_HI, 0xFF},
      {UFP4_REG_WATCHDOG, 0xFFFFFFFF},
  };
  enum { COUNT = sizeof registers / sizeof registers[0] };
  stand_t stand = stand_open("small", 1, 0, 0);
  check_random_t random = check_random();
  uint32_t values[COUNT] = {0};
  for (int i = 0; i < COUNT; i++) stand_write(&stand, registers[i].offset, 0);
  for (int round = 0; round < 200; round++) {
    const uint32_t at = check_below(&random, COUNT);
    const uint32_t value = (uint32_t)check_next(&random);
    const unsigned strobes = check_below(&random, 16);
    stand_write_bytes(&stand, registers[at].offset, value, strobes);
    values[at] =
        ((values[at] & ~bits_of(strobes)) | (value & bits_of(strobes))) & registers[at].mask;
    for (int i = 0; i < COUNT; i++) {
      check_bits(round, stand_read(&stand, registers[i].offset), values[i],
                 "register 0x%x after a write of 0x%x, strobes %x, to 0x%x", registers[i].offset,
                 value, strobes, registers[at].offset);
    }
  }
  stand_close(&stand);
}

// Every other offset reads as zero, whatever was written to it, and read-only registers do not
// change.
TEST(rejects_writes_elsewhere) {
  stand_t stand = stand_open("small", 1, 0, 0);
  const uint32_t head = stand_read(&stand, UFP4_REG_RING_HEAD);
  for (uint32_t offset = 0; offset < UFP4_REG_SIZE; offset += 4) {
    if (offset >= UFP4_REG_CONTROL && offset <= UFP4_REG_WATCHDOG && offset != UFP4_REG_RING_HEAD)
      continue;
    stand_write(&stand, offset, 0xFFFFFFFF);
  }
  check_bits(0, stand_read(&stand, UFP4_REG_ID), UFP4_CORE_ID, "id");
  check_bits(0, stand_read(&stand, UFP4_REG_RING_HEAD), head, "ring_head");
  for (uint32_t offset = UFP4_REG_FATAL; offset < UFP4_REG_SIZE; offset += 4) {
    check_bits(offset, stand_read(&stand, offset), 0, "offset 0x%x", offset);
  }
  for (uint32_t offset = 0x14; offset < UFP4_REG_CONTROL; offset += 4) {
    check_bits(offset, stand_read(&stand, offset), 0, "offset 0x%x", offset);
  }
  check_bits(0, stand_read(&stand, UFP4_REG_CONTROL), 0, "control");
  check_bits(0, stand_read(&stand, UFP4_REG_STATUS), 2,
             "status: nothing runs and the ring is empty");
  stand_close(&stand);
}

// One byte of the tail: the others, all zero, are not written (rtl.rings.of_each_large_size has
// larger tails). Nor is a byte of control and irq_status that strobes leave out.
TEST(writes_bytes_of_the_doorbell) {
  stand_t stand = stand_open("small", 1, 0, 0);
  const ufp4_descriptor_t none = {.header = {.opcode = 0xFF, .flags = 1}};
  for (int i = 0; i < 3; i++) stand_put(&stand, &none);
  stand_write_bytes(&stand, UFP4_REG_RING_TAIL, 0xFFFFFF00u | stand.tail, 1);
  check_bits(0, stand_read(&stand, UFP4_REG_RING_TAIL), stand.tail, "ring_tail");
  check_that(0, stand_drain(&stand), "the descriptors are not taken");
  const uint32_t raised = stand_read(&stand, UFP4_REG_IRQ_STATUS);
  check_that(0, raised != 0, "no interrupt");
  for (unsigned strobes = 0; strobes < 16; strobes += 2) {
    stand_write_bytes(&stand, UFP4_REG_IRQ_STATUS, 0xFFFFFFFF, strobes);
    check_bits(strobes, stand_read(&stand, UFP4_REG_IRQ_STATUS), raised, "irq_status");
    stand_write_bytes(&stand, UFP4_REG_CONTROL, 0xFFFFFFFF, strobes);
    check_bits(strobes, stand_read(&stand, UFP4_REG_RING_HEAD), stand.tail,
               "ring_head: no soft reset");
  }
  stand_write_bytes(&stand, UFP4_REG_IRQ_STATUS, 0xFFFFFFFF, 1);
  check_bits(0, stand_read(&stand, UFP4_REG_IRQ_STATUS), 0, "irq_status");
  stand_close(&stand);
}

TEST(counters_count_idle_cycles) {
  stand_t stand = stand_open("small", 1, 0, 0);
  uint64_t before[UFP4_COUNTER_COUNT], after[UFP4_COUNTER_COUNT], held[UFP4_COUNTER_COUNT];
  stand_counters(&stand, before);
  const uint64_t start = ufp4_sim_cycles(stand.sim);
  ufp4_sim_run(stand.sim, 12345);
  stand_counters(&stand, after);
  const uint64_t reads = 2 * UFP4_COUNTER_COUNT;
  check_that(0, after[UFP4_COUNTER_IDLE] - before[UFP4_COUNTER_IDLE] >= 12345, "idle cycles");
  check_that(0,
             after[UFP4_COUNTER_CYCLES] - before[UFP4_COUNTER_CYCLES] <=
                 ufp4_sim_cycles(stand.sim) - start + 8 * reads,
             "cycles");
  stand_check_sum(0, after);
  for (int i = UFP4_COUNTER_ARRAY_BUSY; i < UFP4_COUNTER_COUNT; i++) {
    if (i != UFP4_COUNTER_IDLE) check_bits(i, after[i], 0, "counter of an idle core");
  }
  // A snapshot does not change until the next one.
  ufp4_sim_run(stand.sim, 1000);
  for (unsigned i = 0; i < UFP4_COUNTER_COUNT; i++)
    held[i] = stand_read(&stand, UFP4_REG_COUNTER_BASE + 8 * i);
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++)
    check_bits(i, held[i], after[i], "counter without a new snapshot");
  stand_write(&stand, UFP4_REG_CONTROL, 2);
  stand_counters(&stand, after);
  check_that(0, after[UFP4_COUNTER_CYCLES] < 100, "cycles after they were cleared: %llu",
             (unsigned long long)after[UFP4_COUNTER_CYCLES]);
  stand_check_sum(1, after);
  stand_close(&stand);
}
