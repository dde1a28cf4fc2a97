// SPDX-License-Identifier: Apache-2.0
// The board link alone, against the page of its protocol: commands, alignments, sequence numbers,
// damaged lines, errors and the window.

#include <algorithm>

#include "Vlink64.h"
#include "Vlink8.h"
#include "rig.h"

namespace {

using namespace link_test;
using Narrow = Rig<Vlink8>;

constexpr Pace kSlow{20, 3, 4, 2};  // everything makes the link wait

Bytes part(const Bytes &of, size_t offset, size_t count) {
  const auto begin = of.begin() + static_cast<std::ptrdiff_t>(offset);
  return Bytes(begin, begin + static_cast<std::ptrdiff_t>(count));
}

void same(int64_t index, const Bytes &got, const Bytes &want, const char *what) {
  check_bits(index, got.size(), want.size(), "bytes of %s", what);
  for (size_t i = 0; i < std::min(got.size(), want.size()); i++)
    if (!check_bits(static_cast<int64_t>(i), got[i], want[i], "%s %lld", what,
                    static_cast<long long>(index)))
      return;
}

TEST(hello_identifies_the_board) {
  Narrow rig;
  const Bytes data = rig.hello(77);
  check_bits(0, data.size(), 44, "bytes");
  const uint32_t want[] = {1 | 8 << 16, kMostData, 0, kMemory, kMillisecond * 1000, 25000};
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

// Every offset in a beat and a few lengths around one, two and many beats.
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
  // The next ones are none the worse for it.
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
    check_that(milliseconds, !rig.reader.answer.irq, "level of the interrupt");
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
  // Now at once; and every answer has the level.
  rig.run(kWait, 0, {0xFF, 0xFF});
  rig.irq = false;
  rig.run(kPing, 0, {});
  check_that(2, !rig.reader.answer.irq, "level of the interrupt");
}

// --- The board's registers
// -------------------------------------------------------------------------

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
  // This one has no march.
  for (uint32_t address : {0x04u, 0x08u, 0x0Cu, 0x24u, 0x02u, 0x100u, 0x80000000u})
    rig.read(kBoardRead, address, 4, kRefused);
  for (uint32_t address : {0x04u, 0x10u, 0x14u, 0x18u, 0x1Cu, 0x24u})
    rig.run(kBoardWrite, address, word(1), kRefused);
  rig.read(kBoardRead, 0, 2, kRefused);
  rig.run(kBoardWrite, 0, {1}, kRefused);
}

// --- Sequence numbers
// ------------------------------------------------------------------------------

TEST(nothing_runs_without_a_session) {
  Narrow rig;
  const Bytes before = rig.memory;
  rig.ask(rig.request(0, kMemoryWrite, 0, {1, 2, 3}), kNoSession);
  rig.ask(rig.reading(1, kRegisterRead, kCounter, 4, 3), kNoSession);
  rig.ask(rig.request(7, kHello, 0, {1, 2}), kRefused);
  rig.ask(rig.request(8, kPing, 0, {}), kNoSession);
  rig.hello(9);
  rig.run(kPing, 0, {1});
  rig.reset();
  rig.ask(rig.request(rig.next, kMemoryWrite, 0, {1, 2, 3}), kNoSession);
  check_that(0, rig.memory == before && rig.reads.empty(), "something has been executed");
}

// Each of the last eight again, with another round: the data are those of then; nothing is executed
// twice. Through the whole range of numbers.
TEST(repeats_are_not_executed) {
  Narrow rig(kSlow);
  rig.hello(250);
  for (unsigned n = 1; n <= 24; n++) {
    const uint8_t sequence = rig.next;
    check_bits(n, word_of(rig.read(kRegisterRead, kCounter, 4)), n, "count");
    for (unsigned back = 0; back < std::min(n, kWindow); back++) {
      const uint8_t old = static_cast<uint8_t>(sequence - back);
      const auto again = rig.reading(old, kRegisterRead, kCounter, 4, static_cast<uint8_t>(back));
      check_bits(n, word_of(rig.ask(again)), n - back, "count, %u back", back);
    }
    // What has the number says nothing of what is repeated.
    check_bits(n, word_of(rig.ask(rig.request(sequence, kMemoryWrite, 0, {9, 9}, 5))), n, "count");
  }
  check_bits(0, rig.reads[kCounter], 24, "reads of the counter");
  const unsigned repeats = 36 + 16 * 8 + 24;
  same(0, rig.read(kBoardRead, 0x14, 4), word(repeats), "frames repeated");
}

TEST(repeats_keep_status_and_interrupt_of_now) {
  Narrow rig;
  rig.hello();
  rig.read(kMemoryRead, 0, 0, kRefused);
  rig.irq = true;
  rig.ask(rig.reading(1, kMemoryRead, 0, 0, 9), kRefused);
  check_that(0, rig.reader.answer.irq, "level of the interrupt");
  check_bits(0, rig.run(kPing, 0, Bytes(1008, 0xC0)).size(), 1008, "bytes");
  check_bits(1, rig.ask(rig.request(2, kPing, 0, {}, 1)).size(), 1008, "bytes, again");
}

// An answer that still waits to be sent when its slot's next one is executed stays whole.
TEST(repeats_are_whole_while_the_next_runs) {
  Narrow rig;
  rig.hello();
  std::vector<Bytes> data;
  for (unsigned i = 0; i < kWindow; i++) {
    data.push_back(rig.random_bytes(kMostData));
    rig.run(kPing, 0, data.back());
  }
  rig.tx_blocked = true;
  const Bytes fresh = rig.random_bytes(kMostData);
  rig.send(rig.request(1, kPing, 0, {}, 2));
  rig.send(rig.request(9, kPing, 0, fresh, 2));
  for (int i = 0; i < 4000; i++) rig.cycle();
  rig.tx_blocked = false;
  const auto first = rig.answer(), second = rig.answer();
  check_that(0, first && second, "no answers");
  if (!first || !second) return;
  same(1, first->data, data[0], "repeated answer");
  same(9, second->data, fresh, "answer");
}

void out_of_order(Narrow &rig, uint8_t sequence, uint8_t expected, uint8_t round) {
  rig.send(rig.request(sequence, kMemoryWrite, 0, {1, 2, 3}, round));
  const auto got = rig.answer();
  check_that(sequence, got.has_value(), "no answer");
  if (!got) return;
  check_bits(sequence, got->status, kOutOfOrder, "status");
  check_bits(sequence, got->sequence, expected, "number expected");
  check_bits(sequence, got->round, round & 7, "round");
}

TEST(out_of_order_names_what_is_expected) {
  Narrow rig;
  const Bytes before = rig.memory;
  rig.hello(10);
  for (unsigned number : {10u, 12u, 9u, 18u, 200u, 255u, 0u}) {
    out_of_order(rig, static_cast<uint8_t>(number), 11, static_cast<uint8_t>(number % 16));
  }
  for (unsigned n = 0; n < 9; n++) rig.run(kPing, 0, {});
  out_of_order(rig, 11, 20, 1);  // the ninth back
  rig.ask(rig.request(12, kPing, 0, {}));
  check_that(0, rig.memory == before, "memory has changed");
}

TEST(hello_begins_anew) {
  Narrow rig;
  rig.hello(0);
  for (unsigned n = 0; n < 5; n++) rig.run(kPing, 0, {1, 2});
  rig.hello(3);
  out_of_order(rig, 3, 4, 0);
  out_of_order(rig, 2, 4, 0);
  check_bits(0, rig.run(kPing, 0, {5}).size(), 1, "bytes");
  // Twice the same: a repeated HELLO is executed.
  rig.hello(3);
  check_bits(1, rig.run(kPing, 0, {5, 6}).size(), 2, "bytes");
  rig.ask(rig.request(4, kHello, 0, {5}), kRefused);
  check_bits(2, rig.ask(rig.request(4, kPing, 0, {})).size(), 2, "bytes, again");
}

// --- The window
// ------------------------------------------------------------------------------------

// Memory that takes nothing while eight of the longest frames come: none is lost.
TEST(window_of_full_frames) {
  Narrow rig;
  rig.hello();
  rig.memory_blocked = true;
  std::vector<Bytes> data;
  for (unsigned i = 0; i < kWindow; i++) {
    data.push_back(rig.random_bytes(kMostData));
    rig.send(rig.request(rig.next++, kMemoryWrite, i * kMostData, data.back()));
  }
  while (!rig.line.empty()) rig.cycle();
  check_that(0, !rig.answer(1000), "an answer while memory is blocked");
  rig.memory_blocked = false;
  for (unsigned i = 0; i < kWindow; i++) {
    const auto got = rig.answer();
    check_that(i, got && got->status == kOk && got->sequence == i + 1, "answer %u", i);
    same(i, part(rig.memory, i * kMostData, kMostData), data[i], "frame");
  }
  same(0, rig.read(kBoardRead, 0x10, 4), word(0), "frames dropped");
}

// What finds no room is dropped, and what is there stays.
TEST(more_than_the_window_is_dropped) {
  Narrow rig;
  rig.hello();
  rig.tx_blocked = true;
  const Bytes data = rig.random_bytes(kMostData);
  for (unsigned i = 0; i < 20; i++) rig.send(rig.request(rig.next++, kPing, 0, data));
  while (!rig.line.empty()) rig.cycle();
  rig.tx_blocked = false;
  unsigned answers = 0;
  while (const auto got = rig.answer(5000)) {
    answers++;
    check_bits(answers, got->sequence, answers, "number");
    same(answers, got->data, data, "echo");
  }
  check_that(0, answers >= kWindow && answers < 20, "%u answers", answers);
  rig.next = static_cast<uint8_t>(answers + 1);
  same(0, rig.read(kBoardRead, 0x10, 4), word(20 - answers), "frames dropped");
}

// Writes and reads at the line's pace, a byte a cycle.
TEST(keeps_the_line_busy) {
  constexpr unsigned kFrames = 40;
  for (unsigned reads = 0; reads < 2; reads++) {
    Narrow rig({4, 0, 0, 1});
    rig.hello();
    const uint64_t begin = rig.now;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < kFrames; i++) {
      if (reads) {
        rig.send(rig.reading(rig.next++, kMemoryRead, i * kMostData, kMostData));
      } else {
        rig.send(rig.request(rig.next++, kMemoryWrite, i * kMostData, Bytes(kMostData, 7)));
      }
      if (i >= 2) check_that(i, rig.answer().has_value(), "no answer");
      bytes += kMostData;
    }
    for (unsigned i = 0; i < 2; i++) check_that(i, rig.answer().has_value(), "no answer");
    const double pace = static_cast<double>(bytes) / static_cast<double>(rig.now - begin);
    check_that(reads, pace > 0.9, "%g bytes a cycle", pace);
  }
}

// --- Damaged lines
// ---------------------------------------------------------------------------------

// Every single damage of one short frame: no answer but the right one, and memory as it was or as
// it should be.
TEST(no_damage_of_a_frame_is_executed) {
  Narrow rig;
  rig.hello();
  const Bytes before = part(rig.memory, 0x100, 8);
  const Bytes line = slip(request_bytes(rig.request(1, kMemoryWrite, 0x102, {1, 0xC0, 3, 0xDB})));
  for (size_t at = 0; at < line.size(); at++) {
    for (unsigned kind = 0; kind < 11; kind++) {
      Bytes bad = line;
      if (kind < 8) bad[at] ^= static_cast<uint8_t>(1u << kind);
      if (kind == 8) bad.erase(bad.begin() + static_cast<std::ptrdiff_t>(at));
      if (kind == 9) bad.insert(bad.begin() + static_cast<std::ptrdiff_t>(at), bad[at]);
      if (kind == 10) bad.resize(at);
      const bool ends = at == 0 || at + 1 == line.size();
      rig.line.insert(rig.line.end(), bad.begin(), bad.end());
      rig.line.push_back(0xC0);
      const auto got = rig.answer(80);
      // Where only an END is gone or doubled the frame may be whole.
      if (got) {
        check_that(static_cast<int64_t>(at), ends, "damage %u was answered", kind);
        rig.hello();
      } else {
        same(static_cast<int64_t>(at), part(rig.memory, 0x100, 8), before, "memory");
      }
      std::copy(before.begin(), before.end(), rig.memory.begin() + 0x100);
    }
  }
  // Numbers are as they were, so that the frame now is executed.
  rig.hello();
  rig.run(kMemoryWrite, 0x102, {1, 0xC0, 3, 0xDB});
  same(0, part(rig.memory, 0x102, 4), {1, 0xC0, 3, 0xDB}, "memory");
}

// A frame whose CRC is right but whose size is not what it says, and ones that are too long.
TEST(rejects_wrong_sizes) {
  Narrow rig;
  rig.hello();
  unsigned dropped = 0;
  for (int more : {-2, -1, 1, 2, 1000}) {
    auto request = rig.request(1, kMemoryWrite, 0, {1, 2, 3});
    request.length = static_cast<uint16_t>(request.length + more);
    rig.send(request);
    dropped++;
  }
  auto reading = rig.reading(1, kMemoryRead, 0, 3);
  reading.data = {1, 2, 3};
  rig.send(reading);
  rig.send(rig.request(1, kPing, 0, Bytes(kMostData + 1)));
  rig.send(rig.request(1, kPing, 0, Bytes(3000)));
  rig.send(rig.request(1, kPing, 0, Bytes(65535)));
  for (uint8_t byte : slip(Bytes(7, 1))) rig.line.push_back(byte);
  dropped += 5;
  check_that(0, !rig.answer(80000), "an answer");
  for (unsigned i = 0; i < 10; i++) rig.line.push_back(0xC0);
  same(0, rig.read(kBoardRead, 0x10, 4), word(dropped), "frames dropped");
}

// A host that sends one request after the other over a line that drops, doubles, flips and cuts in
// both directions: everything happens once, and what is read is right.
class Faults {
 public:
  Faults(Narrow &rig, unsigned one_in) : rig_(rig), one_in_(one_in) {}

  Bytes ask(Request request) {
    for (;; request.round = static_cast<uint8_t>((request.round + 1) % 16)) {
      for (uint8_t byte : slip(request_bytes(request))) damage(byte, rig_.line);
      for (uint64_t end = rig_.now + 4000; rig_.now < end; rig_.cycle()) {
        std::deque<uint8_t> got;
        while (!rig_.sent.empty()) {
          damage(rig_.sent.front(), got);
          rig_.sent.pop_front();
        }
        for (uint8_t byte : got)
          if (rig_.reader.take(byte) && fits(request)) return rig_.reader.answer.data;
      }
      retries++;
    }
  }

  unsigned retries = 0;

 private:
  bool fits(const Request &request) {
    const Answer &answer = rig_.reader.answer;
    if (answer.sequence != request.sequence || answer.status == kOutOfOrder) return false;
    check_bits(request.sequence, answer.status, kOk, "status of command %u", request.command);
    return true;
  }

  void damage(uint8_t byte, std::deque<uint8_t> &to) {
    if (cut_ > 0) {
      cut_--;
    } else if (check_below(&rig_.random(), one_in_) != 0) {
      to.push_back(byte);
    } else {
      switch (check_below(&rig_.random(), 4)) {
        case 0:
          to.insert(to.end(), {byte, byte});
          break;
        case 1:
          to.push_back(byte ^ static_cast<uint8_t>(1u << check_below(&rig_.random(), 8)));
          break;
        case 2:
          cut_ = check_below(&rig_.random(), 40);
          break;
        default:
          break;
      }
    }
  }

  Narrow &rig_;
  unsigned one_in_, cut_ = 0;
};

SLOW_TEST(survives_a_damaged_line) {
  Narrow rig(kSlow);
  rig.hello();
  Faults faults(rig, 150);
  Bytes want = rig.memory;
  unsigned counted = 0;
  for (unsigned n = 0; n < 600; n++) {
    const uint32_t address = check_below(&rig.random(), kFaulty - 200);
    const uint16_t length = static_cast<uint16_t>(1 + check_below(&rig.random(), 200));
    const Bytes data = rig.random_bytes(length);
    switch (check_below(&rig.random(), 4)) {
      case 0:
        faults.ask(rig.request(rig.next++, kMemoryWrite, address, data));
        std::copy(data.begin(), data.end(), want.begin() + address);
        break;
      case 1:
        same(n, faults.ask(rig.reading(rig.next++, kMemoryRead, address, length)),
             part(want, address, length), "read");
        break;
      case 2:
        check_bits(n, word_of(faults.ask(rig.reading(rig.next++, kRegisterRead, kCounter, 4))),
                   ++counted, "count");
        break;
      default:
        same(n, faults.ask(rig.request(rig.next++, kPing, 0, data)), data, "echo");
        break;
    }
    if (!check_that(n, rig.memory == want, "memory after request %u", n)) return;
  }
  check_that(0, faults.retries > 100, "%u retries", faults.retries);
  check_bits(0, rig.reads[kCounter], counted, "reads of the counter");
}

}  // namespace

// What Verilator asks of a main without a context of its own.
double sc_time_stamp() {
  return 0;
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(hello_identifies_the_board),
      CHECK_TEST(ping_echoes),
      CHECK_TEST(registers_are_read_and_written),
      CHECK_TEST(rejects_bad_registers),
      CHECK_TEST(any_alignment_narrow),
      CHECK_TEST(any_alignment_wide),
      CHECK_TEST(whole_memory),
      CHECK_TEST(rejects_bad_ranges),
      CHECK_TEST(rejects_unknown_commands),
      CHECK_TEST(errors_of_the_bus_are_told),
      CHECK_TEST(wait_ends_in_time),
      CHECK_TEST(wait_ends_with_the_interrupt),
      CHECK_TEST(board_registers),
      CHECK_TEST(rejects_bad_board_registers),
      CHECK_TEST(nothing_runs_without_a_session),
      CHECK_TEST(repeats_are_not_executed),
      CHECK_TEST(repeats_keep_status_and_interrupt_of_now),
      CHECK_TEST(repeats_are_whole_while_the_next_runs),
      CHECK_TEST(out_of_order_names_what_is_expected),
      CHECK_TEST(hello_begins_anew),
      CHECK_TEST(window_of_full_frames),
      CHECK_TEST(more_than_the_window_is_dropped),
      CHECK_TEST(keeps_the_line_busy),
      CHECK_TEST(no_damage_of_a_frame_is_executed),
      CHECK_TEST(rejects_wrong_sizes),
      CHECK_TEST(survives_a_damaged_line),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
