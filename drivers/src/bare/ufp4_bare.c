// SPDX-License-Identifier: Apache-2.0
#include "ufp4_bare.h"

#define CONTROL_SNAPSHOT 1u
#define CONTROL_CLEAR 2u
#define CONTROL_RESET 4u
#define STATUS_RESETTING 8u
#define IRQ_DONE 1u
#define IRQ_ERROR 2u
#define IRQ_FATAL 4u
#define HEADER_FLAG_INTERRUPT 1u
#define RING_LOG2_MAX 15u
#define SLOT_WRITTEN 0x10000u
#define BIG_ENDIAN_HOST (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__)

static ufp4_status_t read_register(const ufp4_bare_t *bare, uint32_t offset, uint32_t *value) {
  return bare->io.register_read(bare->io.user, offset, value);
}

static ufp4_status_t write_register(const ufp4_bare_t *bare, uint32_t offset, uint32_t value) {
  return bare->io.register_write(bare->io.user, offset, value);
}

// --- Identity, reset, rings ---------------------------------------------------------------------

ufp4_status_t ufp4_bare_identify(const ufp4_bare_t *bare, ufp4_bare_identity_t *identity) {
  const struct {
    uint32_t offset, *value;
  } reads[] = {{UFP4_REG_ID, &identity->id},
               {UFP4_REG_VERSION, &identity->version},
               {UFP4_REG_CONFIG_ARRAY, &identity->config_array},
               {UFP4_REG_CONFIG_TILE, &identity->config_tile},
               {UFP4_REG_CONFIG_MEMORY, &identity->config_memory},
               {UFP4_REG_CONFIG_QUANT, &identity->config_quant}};
  const unsigned count = sizeof reads / sizeof reads[0];
  ufp4_status_t status = UFP4_OK;
  identity->config_quant = 0;
  for (unsigned i = 0; i < count && status == UFP4_OK; i++) {
    if (reads[i].value == &identity->config_quant && !UFP4_BARE_KNOWS(identity->version)) continue;
    status = read_register(bare, reads[i].offset, reads[i].value);
  }
  return status;
}

ufp4_status_t ufp4_bare_reset(ufp4_bare_t *bare) {
  bare->submitted = bare->taken = 0;
  return write_register(bare, UFP4_REG_CONTROL, CONTROL_RESET);
}

ufp4_status_t ufp4_bare_resetting(const ufp4_bare_t *bare, int *resetting) {
  uint32_t value = 0;
  const ufp4_status_t status = read_register(bare, UFP4_REG_STATUS, &value);
  *resetting = (value & STATUS_RESETTING) != 0;
  return status;
}

static uint32_t place(const ufp4_bare_t *bare, uint32_t job) {
  return job & ((1u << bare->ring_log2) - 1);
}

static uint64_t descriptor_address(const ufp4_bare_t *bare, uint32_t job) {
  return bare->ring + UFP4_DESCRIPTOR_BYTES * place(bare, job);
}

static uint64_t completion_address(const ufp4_bare_t *bare, uint32_t job) {
  return bare->ring + ((uint32_t)UFP4_DESCRIPTOR_BYTES << bare->ring_log2) +
         UFP4_COMPLETION_BYTES * place(bare, job);
}

// The core ignores the low bits of an address and the high bits of a size.
static int fits(const ufp4_bare_t *bare) {
  const uint64_t end = (uint64_t)1 << UFP4_ADDR_BITS;
  return bare->ring % UFP4_DESCRIPTOR_BYTES == 0 && bare->ring_log2 <= RING_LOG2_MAX &&
         bare->ring < end && UFP4_BARE_RING_BYTES(bare->ring_log2) <= end - bare->ring;
}

ufp4_status_t ufp4_bare_set_up(const ufp4_bare_t *bare) {
  if (!fits(bare)) return UFP4_ERROR_ARGUMENT;
  const uint64_t ring = bare->ring, completions = completion_address(bare, 0);
  const struct {
    uint32_t offset, value;
  } writes[] = {
      {UFP4_REG_RING_BASE_LO, (uint32_t)ring},
      {UFP4_REG_RING_BASE_HI, (uint32_t)(ring >> 32)},
      {UFP4_REG_RING_LOG2, bare->ring_log2},
      {UFP4_REG_COMPLETION_BASE_LO, (uint32_t)completions},
      {UFP4_REG_COMPLETION_BASE_HI, (uint32_t)(completions >> 32)},
      {UFP4_REG_IRQ_MASK, IRQ_DONE | IRQ_ERROR | IRQ_FATAL},
      {UFP4_REG_WATCHDOG, UFP4_BARE_WATCHDOG_CYCLES},
      {UFP4_REG_CONTROL, CONTROL_CLEAR},
  };
  ufp4_status_t status = UFP4_OK;
  for (unsigned i = 0; i < sizeof writes / sizeof writes[0] && status == UFP4_OK; i++)
    status = write_register(bare, writes[i].offset, writes[i].value);
  return status;
}

// --- Jobs ---------------------------------------------------------------------------------------

// Converts members of these widths in turn between the host's byte order and the core's; both
// directions are the same operation.
static unsigned reorder(const uint8_t *from, const uint8_t *widths, unsigned count,
                        uint8_t *target) {
  unsigned at = 0;
  for (unsigned i = 0; i < count; at += widths[i++])
    for (unsigned b = 0; b < widths[i]; b++)
      target[at + b] = from[at + (BIG_ENDIAN_HOST ? widths[i] - 1 - b : b)];
  return at;
}

static void write_descriptor(const ufp4_descriptor_t *descriptor, uint8_t *target) {
  static const uint8_t header[] = UFP4_HEADER_DESCRIPTOR_WIDTHS;
  static const uint8_t quant[] = UFP4_QUANT_DESCRIPTOR_WIDTHS;
  static const uint8_t gemm[] = UFP4_GEMM_DESCRIPTOR_WIDTHS;
  const unsigned opcode = descriptor->header.opcode;
  const uint8_t *from = descriptor->bytes;
  unsigned at;
  if (opcode == UFP4_OPCODE_GEMM)
    at = reorder(from, gemm, sizeof gemm, target);
  else if (opcode == UFP4_OPCODE_QUANT || opcode == UFP4_OPCODE_AMAX)
    at = reorder(from, quant, sizeof quant, target);
  else
    at = reorder(from, header, sizeof header, target);
  for (; at < UFP4_DESCRIPTOR_BYTES; at++) target[at] = from[at];
}

static ufp4_status_t submit(ufp4_bare_t *bare, const ufp4_descriptor_t *descriptor,
                            unsigned flags) {
  uint8_t bytes[UFP4_DESCRIPTOR_BYTES];
  if ((bare->submitted - bare->taken) >> bare->ring_log2 != 0) return UFP4_ERROR_MEMORY;
  write_descriptor(descriptor, bytes);
  bytes[1] = (uint8_t)((bytes[1] & ~HEADER_FLAG_INTERRUPT) | flags);
  ufp4_status_t status = bare->io.memory_write(
      bare->io.user, descriptor_address(bare, bare->submitted), bytes, sizeof bytes);
  if (status == UFP4_OK) status = write_register(bare, UFP4_REG_RING_TAIL, bare->submitted + 1);
  if (status == UFP4_OK) bare->submitted++;
  return status;
}

ufp4_status_t ufp4_bare_submit(ufp4_bare_t *bare, const ufp4_descriptor_t *descriptor) {
  return submit(bare, descriptor, HEADER_FLAG_INTERRUPT);
}

ufp4_status_t ufp4_bare_submit_quiet(ufp4_bare_t *bare, const ufp4_descriptor_t *descriptor) {
  return submit(bare, descriptor, 0);
}

// The interrupt is cleared before the head is read, so that a job which ends in between raises it
// again. The interrupt of a stopped core is cleared only after the stop has been reported, so that
// nobody waits for it in vain.
ufp4_status_t ufp4_bare_poll(const ufp4_bare_t *bare, uint32_t *ended, uint32_t *fatal) {
  uint32_t head = bare->taken;
  *fatal = 0;
  ufp4_status_t status = write_register(bare, UFP4_REG_IRQ_STATUS, IRQ_DONE | IRQ_ERROR);
  if (status == UFP4_OK) status = read_register(bare, UFP4_REG_RING_HEAD, &head);
  *ended = head - bare->taken;
  if (status == UFP4_OK && *ended == 0) status = read_register(bare, UFP4_REG_FATAL, fatal);
  if (status == UFP4_OK && *fatal != 0)
    status = write_register(bare, UFP4_REG_IRQ_STATUS, IRQ_DONE | IRQ_ERROR | IRQ_FATAL);
  return status;
}

ufp4_status_t ufp4_bare_take(ufp4_bare_t *bare, ufp4_completion_t *completion) {
  static const uint8_t widths[] = UFP4_COMPLETION_WIDTHS;
  uint8_t bytes[UFP4_COMPLETION_BYTES];
  const ufp4_status_t status = bare->io.memory_read(
      bare->io.user, completion_address(bare, bare->taken), bytes, sizeof bytes);
  if (status != UFP4_OK) return status;
  reorder(bytes, widths, sizeof widths, (uint8_t *)completion);
  bare->taken++;
  return UFP4_OK;
}

ufp4_status_t ufp4_bare_wait(ufp4_bare_t *bare, uint32_t limit, ufp4_status_t (*pause)(void *user),
                             void *user, ufp4_completion_t *completion) {
  uint32_t ended = 0, fatal = 0;
  if (bare->submitted == bare->taken) return UFP4_ERROR_DEVICE;
  for (uint32_t pauses = 0;; pauses++) {
    ufp4_status_t status = ufp4_bare_poll(bare, &ended, &fatal);
    if (status == UFP4_OK && ended > bare->submitted - bare->taken) status = UFP4_ERROR_DEVICE;
    if (status == UFP4_OK && ended != 0) return ufp4_bare_take(bare, completion);
    if (status == UFP4_OK && fatal != 0) status = UFP4_ERROR_DEVICE;
    if (status == UFP4_OK && pauses == limit) status = UFP4_ERROR_TIMEOUT;
    if (status == UFP4_OK) status = pause(user);
    if (status != UFP4_OK) return status;
  }
}

// --- Slots and counters -------------------------------------------------------------------------

ufp4_status_t ufp4_bare_slot_read(const ufp4_bare_t *bare, unsigned slot, int *exponent) {
  uint32_t value = 0;
  const ufp4_status_t status = read_register(bare, UFP4_REG_SLOT_BASE + 4 * slot, &value);
  if (status != UFP4_OK) return status;
  if (!(value & SLOT_WRITTEN)) return UFP4_ERROR_ARGUMENT;
  *exponent = (int16_t)(value & 0xFFFFu);
  return UFP4_OK;
}

ufp4_status_t ufp4_bare_counters(const ufp4_bare_t *bare, uint64_t counters[UFP4_COUNTER_COUNT]) {
  ufp4_status_t status = write_register(bare, UFP4_REG_CONTROL, CONTROL_SNAPSHOT);
  for (uint32_t i = 0; i < UFP4_COUNTER_COUNT && status == UFP4_OK; i++) {
    uint32_t low = 0, high = 0;
    status = read_register(bare, UFP4_REG_COUNTER_BASE + 8 * i, &low);
    if (status == UFP4_OK) status = read_register(bare, UFP4_REG_COUNTER_BASE + 8 * i + 4, &high);
    counters[i] = (uint64_t)high << 32 | low;
  }
  return status;
}

// --- Registers and memory among the processor's own addresses ------------------------------------

typedef uintptr_t __attribute__((may_alias)) word_t;

// Orders accesses to memory and to devices for the whole system, which is more than threads need.
static void barrier(void) {
#if defined(__aarch64__) || (defined(__arm__) && __ARM_ARCH >= 7)
  __asm__ volatile("dsb sy" ::: "memory");
#elif defined(__riscv)
  __asm__ volatile("fence iorw, iorw" ::: "memory");
#else
  __sync_synchronize();
#endif
}

static uint32_t on_bus(uint32_t value) {
  return BIG_ENDIAN_HOST ? __builtin_bswap32(value) : value;
}

ufp4_status_t ufp4_bare_mapped_register_read(void *user, uint32_t offset, uint32_t *value) {
  const ufp4_bare_mapped_t *mapped = user;
  *value = on_bus(mapped->registers[offset / 4]);
  barrier();
  return UFP4_OK;
}

ufp4_status_t ufp4_bare_mapped_register_write(void *user, uint32_t offset, uint32_t value) {
  const ufp4_bare_mapped_t *mapped = user;
  barrier();
  mapped->registers[offset / 4] = on_bus(value);
  return UFP4_OK;
}

static volatile uint8_t *mapped_at(const ufp4_bare_mapped_t *mapped, uint64_t address) {
  return (volatile uint8_t *)mapped->memory + (uintptr_t)(address - mapped->memory_base);
}

// Returns the bytes from @p at up to the next word boundary, or all of them if they end before it.
static uintptr_t ragged(volatile uint8_t *at, uintptr_t bytes) {
  const uintptr_t up = -(uintptr_t)at % sizeof(word_t);
  return up < bytes ? up : bytes;
}

ufp4_status_t ufp4_bare_mapped_memory_read(void *user, uint64_t address, void *data,
                                           uint64_t bytes) {
  volatile uint8_t *from = mapped_at(user, address);
  uint8_t *to = data;
  uintptr_t left = (uintptr_t)bytes, head = ragged(from, left);
  for (left -= head; head > 0; head--) *to++ = *from++;
  for (; left >= sizeof(word_t); left -= sizeof(word_t)) {
    const word_t word = *(volatile word_t *)from;
    __builtin_memcpy(to, &word, sizeof word);
    from += sizeof word, to += sizeof word;
  }
  for (; left > 0; left--) *to++ = *from++;
  return UFP4_OK;
}

ufp4_status_t ufp4_bare_mapped_memory_write(void *user, uint64_t address, const void *data,
                                            uint64_t bytes) {
  volatile uint8_t *to = mapped_at(user, address);
  const uint8_t *from = data;
  uintptr_t left = (uintptr_t)bytes, head = ragged(to, left);
  for (left -= head; head > 0; head--) *to++ = *from++;
  for (; left >= sizeof(word_t); left -= sizeof(word_t)) {
    word_t word;
    __builtin_memcpy(&word, from, sizeof word);
    *(volatile word_t *)to = word;
    from += sizeof word, to += sizeof word;
  }
  for (; left > 0; left--) *to++ = *from++;
  return UFP4_OK;
}
