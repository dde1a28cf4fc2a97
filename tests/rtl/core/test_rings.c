// SPDX-License-Identifier: Apache-2.0
// The rings of descriptors and completions, of each size and everywhere, and their interrupts.
#include <string.h>

#include "stand.h"

static void fences(const char *configuration, uint64_t stall_seed) {
  stand_t stand = stand_open(configuration, 7, 0, stall_seed);
  for (uint32_t i = 0; i < 100; i++) {
    const ufp4_descriptor_t fence = stand_fence(0xABC00000u + i);
    stand_submit(&stand, &fence);
    if (i % 11 != 10) continue;  // some jobs are in the ring together; 16 fit
    check_that(i, stand_drain(&stand), "fences have not ended");
    for (uint32_t j = i - 10; j <= i; j++) {
      const ufp4_completion_t done = stand_completion(&stand, j);
      check_bits(j, done.job, 0xABC00000u + j, "job, stall seed %llu",
                 (unsigned long long)stall_seed);
      check_bits(j, done.status | (uint64_t)done.flags << 16, 0, "status and flags");
      check_bits(j, done.cycles, 0, "cycles of a fence");
    }
  }
  stand_close(&stand);
}

TEST(wrap_around) {
  for (uint64_t seed = 0; seed < 4; seed++) {
    fences("small", seed);
    fences("default", seed);
  }
}

// A simulation does not reach a head of 2^32; here the head's place in the ring wraps, at each size
// up to the stand's.
TEST(of_each_size) {
  for (uint32_t log2 = 0; log2 <= STAND_RING_LOG2; log2++) {
    stand_t stand = stand_open("small", 1, 0, 0);
    stand_write(&stand, UFP4_REG_RING_LOG2, log2);
    for (uint32_t i = 0; i < 40; i++) {
      const ufp4_descriptor_t fence = stand_fence(1000 + i);
      const uint64_t place = i % (1u << log2);
      memcpy(ufp4_sim_memory(stand.sim, STAND_RING + place * sizeof fence, sizeof fence), &fence,
             sizeof fence);
      stand_write(&stand, UFP4_REG_RING_TAIL, ++stand.tail);
      check_that(i, stand_drain(&stand), "a fence has not ended in a ring of 2^%u", log2);
      ufp4_completion_t done;
      memcpy(&done,
             ufp4_sim_memory(stand.sim, STAND_COMPLETIONS + place * sizeof done, sizeof done),
             sizeof done);
      check_bits(i, done.job, 1000 + i, "job in a ring of 2^%u", log2);
    }
    stand_close(&stand);
  }
}

// Writes the bytes of the tail that change, with nonsense in the other bytes.
static void write_doorbell(stand_t *stand, uint32_t from, uint64_t nonsense) {
  unsigned strobes = 0;
  uint32_t kept = 0;
  for (unsigned byte = 0; byte < 4; byte++) {
    const uint32_t bits = 0xFFu << 8 * byte;
    if ((from ^ stand->tail) & bits)
      strobes |= 1u << byte;
    else
      kept |= bits;
  }
  stand_write_bytes(stand, UFP4_REG_RING_TAIL, stand->tail ^ ((uint32_t)nonsense & kept), strobes);
}

// Submits @p count fences to a ring of 2^log2 with one doorbell, and checks their completions.
static void fill(stand_t *stand, uint32_t log2, uint32_t count, uint64_t nonsense) {
  const uint32_t from = stand->tail, mask = (1u << log2) - 1;
  uint8_t *ring = ufp4_sim_memory(stand->sim, stand->ring, sizeof(ufp4_descriptor_t) << log2);
  const uint8_t *completions =
      ufp4_sim_memory(stand->sim, stand->completions, sizeof(ufp4_completion_t) << log2);
  for (uint32_t i = 0; i < count; i++, stand->tail++) {
    const ufp4_descriptor_t fence = stand_fence(~stand->tail);
    memcpy(ring + (stand->tail & mask) * sizeof fence, &fence, sizeof fence);
  }
  write_doorbell(stand, from, nonsense);
  check_bits(log2, stand_read(stand, UFP4_REG_RING_TAIL), stand->tail, "the tail after 0x%x", from);
  for (uint32_t polls = 0; stand_read(stand, UFP4_REG_RING_HEAD) != stand->tail; polls++) {
    const int runs = ufp4_sim_run(stand->sim, 200) == UFP4_SIM_OK && polls < 100 + count;
    if (!check_that(log2, runs, "%u fences in a ring of 2^%u have not ended", count, log2)) return;
  }
  for (uint32_t i = from; i != stand->tail; i++) {
    ufp4_completion_t done;
    memcpy(&done, completions + (i & mask) * sizeof done, sizeof done);
    check_bits(i, done.job | (uint64_t)done.status << 32, ~i, "job in a ring of 2^%u", log2);
  }
}

// Larger rings, whose places have more bits than the tags of the jobs inside: full at once, then
// continued.
TEST(of_larger_sizes) {
  for (uint32_t log2 = 7; log2 <= 9; log2++) {
    stand_t stand = stand_open("small", 1, 0, 0);
    const uint32_t size = 1u << log2;
    stand_rings(&stand, STAND_DATA, STAND_DATA + size * sizeof(ufp4_descriptor_t));
    stand_write(&stand, UFP4_REG_RING_LOG2, log2);
    fill(&stand, log2, size, 0);
    fill(&stand, log2, size / 8, 0);
    stand_close(&stand);
  }
}

// All that are larger than the stand's: full at once, then on in steps, and one too many. The
// largest two are always looked at; in the largest the tail comes to have three bytes.
FULL_TEST(of_each_large_size) {
  check_random_t random = check_random();
  for (uint32_t log2 = (uint32_t)check_draws(14, STAND_RING_LOG2 + 1); log2 <= 15; log2++) {
    stand_t stand = stand_open("small", 1, 0, 0);
    const uint32_t size = 1u << log2;
    stand_rings(&stand, STAND_DATA, STAND_DATA + size * sizeof(ufp4_descriptor_t));
    stand_write(&stand, UFP4_REG_RING_LOG2, log2);
    fill(&stand, log2, size, 0);
    const uint32_t end = (log2 == 15 ? 2 * size : size) + size / 8;
    while (stand.tail < end)
      fill(&stand, log2, 1 + check_below(&random, size / 2), check_next(&random));
    stand_write(&stand, UFP4_REG_RING_TAIL, stand.tail + size + 1);
    check_bits(log2, stand_read(&stand, UFP4_REG_FATAL), 9,
               "fatal after a tail too far in a ring of 2^%u", log2);
    stand_close(&stand);
  }
}

// One ring at each address bit alone and the other at all address bits except it, in both orders.
TEST(at_every_address) {
  stand_t stand = stand_open_everywhere("small");
  const uint64_t end = 1ull << UFP4_ADDR_BITS, all = end - UFP4_ALIGN_BYTES;
  uint32_t job = 0;
  for (uint64_t bit = UFP4_ALIGN_BYTES; bit < end; bit <<= 1) {
    // A ring ends in memory.
    const uint64_t others = all - bit - (bit < STAND_RING_BYTES ? STAND_RING_BYTES : 0);
    for (int turn = 0; turn < 2; turn++) {
      stand_rings(&stand, turn ? others : bit, turn ? bit : others);
      for (int i = 0; i < 3; i++) {
        const ufp4_descriptor_t fence = stand_fence(++job);
        const ufp4_completion_t done = stand_job(&stand, &fence);
        check_bits(job, done.job | (uint64_t)done.status << 32, job, "rings at 0x%llx and 0x%llx",
                   (unsigned long long)stand.ring, (unsigned long long)stand.completions);
      }
    }
  }
  stand_close(&stand);
}

// A completion is 16 bytes of a wider beat; the other bytes do not change.
TEST(completion_leaves_neighbours) {
  stand_t stand = stand_open("default", 1, 0, 0);
  uint8_t *ring = ufp4_sim_memory(stand.sim, STAND_COMPLETIONS - 64, 64 + 512);
  memset(ring, 0x5A, 64 + 512);
  for (uint32_t i = 0; i < 5; i++) {
    const ufp4_descriptor_t fence = stand_fence(i);
    stand_job(&stand, &fence);
  }
  for (uint32_t i = 0; i < 64 + 512; i++) {
    const int written = i >= 64 && i < 64 + 5 * sizeof(ufp4_completion_t);
    if (!written) check_bits(i, ring[i], 0x5A, "byte beside the completions");
  }
  stand_close(&stand);
}

TEST(interrupts) {
  stand_t stand = stand_open("small", 1, 0, 0);
  ufp4_descriptor_t silent = stand_fence(1), loud = stand_fence(2), bad = stand_fence(3);
  silent.header.flags = 0;
  bad.header.opcode = 77;
  bad.header.flags = 0;
  stand_write(&stand, UFP4_REG_IRQ_MASK, 0);
  stand_job(&stand, &silent);
  check_bits(0, stand_read(&stand, UFP4_REG_IRQ_STATUS), 0, "irq_status after a silent job");
  stand_job(&stand, &loud);
  check_bits(1, stand_read(&stand, UFP4_REG_IRQ_STATUS), 1, "irq_status after a loud job");
  check_bits(1, ufp4_sim_wait_interrupt(stand.sim, 100), UFP4_SIM_LIMIT, "a masked interrupt");
  stand_write(&stand, UFP4_REG_IRQ_MASK, 1);
  check_bits(2, ufp4_sim_wait_interrupt(stand.sim, 100), UFP4_SIM_OK, "the interrupt");
  stand_write(&stand, UFP4_REG_IRQ_STATUS, 1);
  check_bits(3, stand_read(&stand, UFP4_REG_IRQ_STATUS), 0, "irq_status after it was cleared");
  stand_job(&stand, &bad);
  check_bits(4, stand_read(&stand, UFP4_REG_IRQ_STATUS), 2, "irq_status after a failed job");
  stand_write(&stand, UFP4_REG_IRQ_STATUS, 1);
  check_bits(5, stand_read(&stand, UFP4_REG_IRQ_STATUS), 2,
             "irq_status after the other bit was cleared");
  stand_close(&stand);
}

TEST(rejects_ring_outside_memory) {
  stand_t stand = stand_open("default", 3, 0, 0);
  stand_rings(&stand, 0x9900000000, STAND_COMPLETIONS);
  const ufp4_descriptor_t fence = stand_fence(42);
  ufp4_completion_t done = stand_job(&stand, &fence);
  check_bits(0, done.job, 0, "job of a descriptor that could not be fetched");
  check_bits(0, done.status, UFP4_CORE_STATUS_READ_ERROR, "status");
  check_bits(0, stand_read(&stand, UFP4_REG_IRQ_STATUS), 2, "irq_status");
  stand_rings(&stand, STAND_RING, STAND_COMPLETIONS);
  done = stand_job(&stand, &fence);
  check_bits(1, done.job | (uint64_t)done.status << 32, 42, "the next job");
  stand_close(&stand);
}

TEST(rejects_completion_ring_outside_memory) {
  stand_t stand = stand_open("default", 3, 0, 0);
  stand_rings(&stand, STAND_RING, 0x1000);
  const ufp4_descriptor_t fence = stand_fence(42);
  stand_submit(&stand, &fence);
  check_that(0, stand_drain(&stand), "the job has not ended");
  check_bits(0, stand_read(&stand, UFP4_REG_IRQ_STATUS), 3, "irq_status");
  stand_rings(&stand, STAND_RING, STAND_COMPLETIONS);
  const ufp4_completion_t done = stand_job(&stand, &fence);
  check_bits(1, done.job | (uint64_t)done.status << 32, 42, "the next job");
  stand_close(&stand);
}

// Each bit of the tail alone exceeds the number of places in the ring.
TEST(rejects_a_tail_too_far_by_each_bit) {
  stand_t stand = stand_open("small", 1, 0, 0);
  for (uint32_t bit = STAND_RING_LOG2 + 1; bit < 32; bit++) {
    stand_write(&stand, UFP4_REG_RING_TAIL, 1u << bit);
    check_bits(bit, stand_read(&stand, UFP4_REG_FATAL), 9, "fatal after a tail of 2^%u", bit);
    stand_write(&stand, UFP4_REG_CONTROL, 4);
    check_bits(bit, ufp4_sim_run(stand.sim, 1000), UFP4_SIM_OK, "run");
    check_bits(bit, stand_read(&stand, UFP4_REG_STATUS), 2, "status after a soft reset");
  }
  stand_close(&stand);
}
