// SPDX-License-Identifier: Apache-2.0
#include "timing/host/registers.h"

namespace ufp4::timing {
namespace {

constexpr uint32_t kSnapshot = 1, kClear = 2, kSoftReset = 4;
constexpr uint32_t kIrqs = 7;
constexpr uint32_t kOffsets = 0x1000;
constexpr uint32_t kCountersEnd = 0x80, kSlotsEnd = 0x100;  // sizes of their address ranges
constexpr uint32_t kHighMask = (1u << (UFP4_ADDR_BITS - 32)) - 1;
constexpr uint32_t kBaseMask = ~(UFP4_ALIGN_BYTES - 1u);

void set_low(uint64_t &base, uint32_t value) {
  base = (base >> 32 << 32) | (value & kBaseMask);
}

void set_high(uint64_t &base, uint32_t value) {
  base = (base & 0xFFFFFFFFu) | uint64_t{value & kHighMask} << 32;
}

uint32_t log2(uint32_t x) {
  uint32_t log = 0;
  while (x >> log > 1) log++;
  return log;
}

}  // namespace

void Registers::reset() {
  aw_full_ = w_full_ = bvalid_ = rvalid_ = back_ = false;
  rings_ = {};
  irq_status_ = irq_mask_ = watchdog_ = 0;
  run_ = 0;
  for (uint32_t i = 0; i < UFP4_COUNTER_COUNT; i++) count_[i] = base_[i] = shot_[i] = 0;
}

void Registers::follow(const Registers &host) {
  rings_.tail = host.rings_.tail;
  irq_status_ = host.irq_status_ | raised_;
  irq_mask_ = host.irq_mask_;
  for (uint32_t i = 0; i < UFP4_COUNTER_COUNT; i++) {
    base_[i] = host.base_[i];
    shot_[i] = host.shot_[i];
  }
}

// Writes a register. @return whether this requests a soft reset.
bool Registers::write(uint32_t offset, uint32_t value, uint32_t head) {
  switch (offset) {
    case UFP4_REG_CONTROL:
      snapshot_ = value & kSnapshot;
      clear_ = value & kClear;
      return value & kSoftReset;
    case UFP4_REG_IRQ_STATUS:
      irq_status_ &= ~value;
      break;
    case UFP4_REG_IRQ_MASK:
      irq_mask_ = value & kIrqs;
      break;
    case UFP4_REG_RING_BASE_LO:
      set_low(rings_.base, value);
      break;
    case UFP4_REG_RING_BASE_HI:
      set_high(rings_.base, value);
      break;
    case UFP4_REG_RING_LOG2:
      rings_.log2 = value & 15;
      break;
    case UFP4_REG_RING_TAIL:
      back_ = value - head < rings_.tail - head;
      rings_.tail = value;
      break;
    case UFP4_REG_COMPLETION_BASE_LO:
      set_low(rings_.completion_base, value);
      break;
    case UFP4_REG_COMPLETION_BASE_HI:
      set_high(rings_.completion_base, value);
      break;
    case UFP4_REG_WATCHDOG:
      watchdog_ = value;
      break;
    default:
      break;
  }
  return false;
}

void Registers::step_read(const HostPort &port, const CoreView &core, const Slots &slots) {
  const bool reads = port.arvalid && !rvalid_;
  if (reads) rdata_ = read(port.araddr, core, slots);
  rvalid_ = reads || (rvalid_ && !port.rready);
}

void Registers::tally() {
  for (uint32_t i = 0; i < UFP4_COUNTER_COUNT; i++) count_[i] += events_ >> i & 1 ? run_ : 0;
  run_ = 0;
}

bool Registers::step(const HostPort &port, const CoreView &core, Events events, uint32_t irqs) {
  const bool writes = aw_full_ && w_full_ && !bvalid_;
  snapshot_ = clear_ = back_ = false;
  const bool soft_reset = writes && write(awaddr_, wdata_, core.head);
  bvalid_ = writes || (bvalid_ && !port.bready);
  if (!aw_full_) awaddr_ = port.awaddr;
  if (!w_full_) wdata_ = port.wdata;
  aw_full_ = !writes && (aw_full_ || port.awvalid);
  w_full_ = !writes && (w_full_ || port.wvalid);
  raise(irqs);
  if (core.resetting) irq_status_ = rings_.tail = 0, back_ = false;
  tally();
  for (uint32_t i = 0; i < UFP4_COUNTER_COUNT; i++) {
    if (snapshot_) shot_[i] = count_[i] - base_[i];
    if (clear_) base_[i] = count_[i] + (events >> i & 1);  // without this cycle
  }
  count(events);
  return soft_reset;
}

uint32_t Registers::read_configuration(uint32_t offset) const {
  const Shape &s = shape_;
  switch (offset) {
    case UFP4_REG_CONFIG_ARRAY:
      return s.rows | s.cols << 8 | s.lanes << 16 | s.contract << 24 | s.formats << 26 |
             (s.quant != 0 ? 1u << 28 | log2(s.quant) << 29 : 0);
    case UFP4_REG_CONFIG_TILE:
      return s.tile_m | s.tile_n << 16;
    case UFP4_REG_CONFIG_QUANT:
      return s.mixed;
    default:
      return s.bus_bytes | UFP4_ADDR_BITS << 8 | s.chunk << 16 | uint32_t{UFP4_SLOTS} << 24;
  }
}

uint32_t Registers::read_plain(uint32_t offset, const CoreView &core) const {
  switch (offset) {
    case UFP4_REG_ID:
      return UFP4_CORE_ID;
    case UFP4_REG_VERSION:
      return UFP4_VERSION_MAJOR << 16 | UFP4_VERSION_MINOR << 8 | UFP4_VERSION_PATCH;
    case UFP4_REG_CONFIG_ARRAY:
    case UFP4_REG_CONFIG_TILE:
    case UFP4_REG_CONFIG_MEMORY:
    case UFP4_REG_CONFIG_QUANT:
      return read_configuration(offset);
    case UFP4_REG_STATUS:
      return (core.active ? 1u : 0u) | (core.head == rings_.tail ? 2u : 0u) |
             (core.fatal != 0 ? 4u : 0u) | (core.resetting ? 8u : 0u);
    case UFP4_REG_IRQ_STATUS:
      return irq_status_;
    case UFP4_REG_IRQ_MASK:
      return irq_mask_;
    case UFP4_REG_RING_BASE_LO:
      return static_cast<uint32_t>(rings_.base);
    case UFP4_REG_RING_BASE_HI:
      return static_cast<uint32_t>(rings_.base >> 32);
    case UFP4_REG_RING_LOG2:
      return rings_.log2;
    case UFP4_REG_RING_TAIL:
      return rings_.tail;
    case UFP4_REG_RING_HEAD:
      return core.head;
    case UFP4_REG_COMPLETION_BASE_LO:
      return static_cast<uint32_t>(rings_.completion_base);
    case UFP4_REG_COMPLETION_BASE_HI:
      return static_cast<uint32_t>(rings_.completion_base >> 32);
    case UFP4_REG_WATCHDOG:
      return watchdog_;
    case UFP4_REG_FATAL:
      return core.fatal;
    default:
      return 0;
  }
}

uint32_t Registers::read(uint32_t offset, const CoreView &core, const Slots &slots) const {
  offset %= kOffsets;
  if (offset % 4 != 0) return 0;
  if (offset - UFP4_REG_COUNTER_BASE < kCountersEnd) {
    const uint32_t counter = (offset - UFP4_REG_COUNTER_BASE) / 8;
    if (counter >= UFP4_COUNTER_COUNT) return 0;
    return static_cast<uint32_t>(offset & 4 ? shot_[counter] >> 32 : shot_[counter]);
  }
  if (offset - UFP4_REG_SLOT_BASE < kSlotsEnd) {
    const uint32_t slot = (offset - UFP4_REG_SLOT_BASE) / 4;
    return slots.valid[slot] ? 0x10000u | slots.exponent[slot] : 0;
  }
  return read_plain(offset, core);
}

}  // namespace ufp4::timing
