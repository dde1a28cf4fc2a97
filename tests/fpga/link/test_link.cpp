// SPDX-License-Identifier: Apache-2.0
// Tests the board link alone against the page of its protocol: its commands, alignments, and
// errors.

#include "Vlink64.h"
#include "Vlink8.h"
#include "rig.h"

namespace {

using namespace link_test;
using Narrow = Rig<Vlink8>;

TEST(hello_identifies_the_board) {
  Narrow rig;
  const Bytes data = rig.hello(77);
  check_bits(0, data.size(), 44, "bytes");
  const uint32_t want[] = {2 | 8 << 16, kMostData, 0, kMemory, kMillisecond * 1000, 25000};
  for (unsigned i = 0; i < 6; i++) check_bits(i, word_of(data, 4 * i), want[i], "word %u", i);
  Bytes name{'s', 'i', 'm'};
  name.resize(16);
  same(0, part(data, 24, 16), name, "name");
  check_bits(0, word_of(data, 40), 0x12345678, "nonce");
}

TEST(ping_echoes) {
  Narrow rig(kSlow);
  rig.hello();
  for (size_t count : {0u, 1u, 5u, 255u, 256u, 1007u, 1008u}) {
    const Bytes data = rig.random_bytes(count);
    same(static_cast<int64_t>(count), rig.run(kPing, 0, data), data, "echo of");
  }
}

TEST(registers_are_read_and_written) {
  for (const Pace &pace : {Pace{}, kSlow}) {
    Narrow rig(pace);
    rig.hello();
    rig.registers[0x10] = 0xDEADBEEF;
    rig.registers[0xFFC] = 0x01C0DB02;
    same(0, rig.read(kRegisterRead, 0x10, 4), word(0xDEADBEEF), "register");
    same(1, rig.read(kRegisterRead, 0xFFC, 4), word(0x01C0DB02), "register");
    check_bits(2, rig.run(kRegisterWrite, 0x10, word(0xDEAD0001)).size(), 0, "data of a write");
    check_bits(3, rig.registers[0x10], 0x0000BEEE, "register, ones cleared");
    check_bits(4, rig.writes[0x10], 1, "writes");
  }
}

TEST(rejects_bad_registers) {
  Narrow rig;
  rig.hello();
  rig.read(kRegisterRead, 0x1000, 4, kRefused);
  rig.read(kRegisterRead, 0x80000010, 4, kRefused);
  rig.read(kRegisterRead, 0x12, 4, kRefused);
  rig.read(kRegisterRead, 0x10, 8, kRefused);
  rig.read(kRegisterRead, 0x10, 0, kRefused);
  rig.run(kRegisterWrite, 0x11, word(1), kRefused);
  rig.run(kRegisterWrite, 0x10, {1, 2}, kRefused);
  check_bits(0, rig.reads.size() + rig.writes.size(), 0, "accesses");
}

// Covers each @p step th offset in a beat, and lengths around one, two and more beats.
template <typename Model>
void alignments(const Pace &pace, unsigned step) {
  Rig<Model> rig(pace);
  rig.hello();
  Bytes want = rig.memory;
  constexpr unsigned kBus = sizeof(Model::m_axi_rdata_i);
  for (unsigned offset = 0; offset < kBus; offset += step) {
    for (unsigned length : {1u, 2u, kBus - 1, kBus, kBus + 1, 2 * kBus, 3 * kBus + 1}) {
      const uint32_t address = 4096 - kBus + offset;
      const Bytes data = rig.random_bytes(length);
      check_bits(0, rig.run(kMemoryWrite, address, data).size(), 0, "data of a write");
      std::copy(data.begin(), data.end(), want.begin() + address);
      check_that(offset, rig.memory == want, "memory after a write of %u at %x", length, address);
      same(address, rig.read(kMemoryRead, address, static_cast<uint16_t>(length)), data, "read at");
      check_bits(address, word_of(rig.run(kMemoryChecksum, address, word(length))), crc32_of(data),
                 "checksum of %u", length);
    }
  }
}

TEST(any_alignment_narrow) {
  alignments<Vlink8>({}, 1);
  alignments<Vlink8>(kSlow, 1);
}

TEST(any_alignment_wide) {
  alignments<Vlink64>({}, 5);
}

TEST(whole_memory) {
  Narrow rig;
  rig.hello();
  for (uint32_t address : {0u, kFaulty - kMostData}) {
    const Bytes data = rig.random_bytes(kMostData);
    rig.run(kMemoryWrite, address, data);
    same(address, part(rig.memory, address, kMostData), data, "memory at");
    same(address, rig.read(kMemoryRead, address, kMostData), data, "read at");
  }
  check_bits(0, word_of(rig.run(kMemoryChecksum, 0, word(kFaulty))),
             crc32_of(part(rig.memory, 0, kFaulty)), "checksum of memory");
  check_bits(0, word_of(rig.run(kMemoryChecksum, kMemory, word(0))), 0, "checksum of nothing");
}

TEST(rejects_bad_ranges) {
  Narrow rig;
  rig.hello();
  const Bytes before = rig.memory;
  rig.run(kMemoryWrite, kMemory - 1, {1, 2}, kRefused);
  rig.run(kMemoryWrite, 0xFFFFFFFF, {1, 2}, kRefused);
  rig.run(kMemoryWrite, 0, {}, kRefused);
  rig.read(kMemoryRead, kMemory, 1, kRefused);
  rig.read(kMemoryRead, 0xFFFFFFF0, 32, kRefused);
  rig.read(kMemoryRead, 0, 0, kRefused);
  rig.read(kMemoryRead, 0, kMostData + 1, kRefused);
  rig.read(kMemoryRead, 0, 0xFFFF, kRefused);
  rig.run(kMemoryChecksum, 1, word(kMemory), kRefused);
  rig.run(kMemoryChecksum, 0, word(0xFFFFFFFF), kRefused);
  rig.run(kMemoryChecksum, 0xFFFFFFFF, word(0xFFFFFFFF), kRefused);
  rig.run(kMemoryChecksum, 0, {1, 0}, kRefused);
  check_that(0, rig.memory == before, "memory has changed");
}

TEST(rejects_unknown_commands) {
  Narrow rig;
  rig.hello();
  for (unsigned command = kBoardWrite + 1; command < 16; command++)
    rig.run(static_cast<Command>(command), 0, rig.random_bytes(command), kUnknown);
  rig.run(kPing, 0, {});
}

TEST(errors_of_the_bus_are_told) {
  Narrow rig(kSlow);
  rig.hello();
  check_bits(0, rig.read(kRegisterRead, kErrors, 4, kBus).size(), 0, "data");
  rig.run(kRegisterWrite, kErrors, word(0), kBus);
  check_bits(1, rig.read(kMemoryRead, kFaulty - 20, 21, kBus).size(), 0, "data");
  check_bits(2, rig.read(kMemoryRead, kFaulty, 4, kBus).size(), 0, "data");
  rig.run(kMemoryWrite, kFaulty - 20, Bytes(21), kBus);
  rig.run(kMemoryChecksum, 0, word(kMemory), kBus);
  // The next requests are not affected.
  const Bytes data = rig.random_bytes(20);
  rig.run(kMemoryWrite, kFaulty - 20, data);
  same(0, rig.read(kMemoryRead, kFaulty - 20, 20), data, "read");
  rig.read(kRegisterRead, 0x10, 4);
}

// --- Waiting -------------------------------------------------------------------------------------

TEST(wait_ends_in_time) {
  Narrow rig;
  rig.hello();
  for (unsigned milliseconds : {0u, 1u, 7u, 300u}) {
    const uint64_t begin = rig.now;
    rig.run(kWait, 0,
            {static_cast<uint8_t>(milliseconds), static_cast<uint8_t>(milliseconds >> 8)});
    const uint64_t cycles = rig.now - begin, least = milliseconds * kMillisecond;
    check_that(milliseconds, cycles >= least && cycles < least + 80, "%llu cycles",
               static_cast<unsigned long long>(cycles));
    check_that(milliseconds, !rig.peer.answer.irq, "level of the interrupt");
  }
  rig.run(kWait, 0, word(1), kRefused);
}

TEST(wait_ends_with_the_interrupt) {
  Narrow rig;
  rig.hello();
  rig.send(rig.request(rig.next++, kWait, 0, {0xFF, 0xFF}));
  check_that(0, !rig.answer(5000), "an answer before the interrupt");
  rig.irq = true;
  const auto answer = rig.answer(100);
  check_that(1, answer && answer->status == kOk && answer->irq, "no answer after the interrupt");
  // The wait ends at once now, and every answer has the level of the interrupt.
  rig.run(kWait, 0, {0xFF, 0xFF});
  rig.irq = false;
  rig.run(kPing, 0, {});
  check_that(2, !rig.peer.answer.irq, "level of the interrupt");
}

// --- The board's registers ----------------------------------------------------------------------

TEST(board_registers) {
  Narrow rig;
  rig.hello();
  rig.run(kBoardWrite, 0x00, word(0x1A5));
  same(0, rig.read(kBoardRead, 0x00, 4), word(0x1A5), "LEDs");
  const uint32_t low = word_of(rig.read(kBoardRead, 0x18, 4));
  check_that(0, rig.now - low < 40, "%u cycles at %llu", low,
             static_cast<unsigned long long>(rig.now));
  same(1, rig.read(kBoardRead, 0x1C, 4), word(0), "cycles, high half");
  check_bits(0, rig.reset_cycles, 0, "cycles of the core's reset");
  rig.run(kBoardWrite, 0x20, word(0));
  check_bits(1, rig.reset_cycles, 0, "cycles of the core's reset");
  rig.run(kBoardWrite, 0x20, word(1));
  check_bits(2, rig.reset_cycles, 16, "cycles of the core's reset");
}

TEST(rejects_bad_board_registers) {
  Narrow rig;
  rig.hello();
  // This board has no march.
  for (uint32_t address : {0x04u, 0x08u, 0x0Cu, 0x24u, 0x02u, 0x100u, 0x80000000u})
    rig.read(kBoardRead, address, 4, kRefused);
  for (uint32_t address : {0x04u, 0x10u, 0x14u, 0x18u, 0x1Cu, 0x24u})
    rig.run(kBoardWrite, address, word(1), kRefused);
  rig.read(kBoardRead, 0, 2, kRefused);
  rig.run(kBoardWrite, 0, {1}, kRefused);
}

}  // namespace
