// SPDX-License-Identifier: Apache-2.0
// Tests the board link alone on damaged lines: a frame that is not whole and correct is never
// executed.

#include "Vlink8.h"
#include "rig.h"

namespace {

using namespace link_test;
using Narrow = Rig<Vlink8>;

// --- Damaged lines ------------------------------------------------------------------------------

// Makes every single damage to a short frame: an answer may come only if an END was damaged, and
// otherwise memory is unchanged. A number whose bit 7 is flipped is taken for one 128 earlier,
// whose key differs.
void damage_a_frame(uint8_t first) {
  Narrow rig;
  rig.hello(first);
  const Bytes before = part(rig.memory, 0x100, 8);
  const Bytes line = rig.peer.line(rig.request(rig.next, kMemoryWrite, 0x102, {1, 0xC0, 3, 0xDB}));
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
      // If only an END is lost or doubled, the frame may be whole.
      if (got) {
        check_that(static_cast<int64_t>(at), ends, "damage %u was answered", kind);
        rig.hello(first);
      } else {
        same(static_cast<int64_t>(at), part(rig.memory, 0x100, 8), before, "memory");
      }
      std::copy(before.begin(), before.end(), rig.memory.begin() + 0x100);
    }
  }
  // In a new session the undamaged frame is executed.
  rig.hello(first);
  rig.run(kMemoryWrite, 0x102, {1, 0xC0, 3, 0xDB});
  same(0, part(rig.memory, 0x102, 4), {1, 0xC0, 3, 0xDB}, "memory");
}

TEST(no_damage_of_a_frame_is_executed) {
  damage_a_frame(0);
  damage_a_frame(100);
}

// Frames have a correct CRC but a wrong length field, or are too long or too short.
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

// A host that sends one request after another over a line that drops, doubles, flips and cuts bytes
// in both directions. Everything must happen once, and data read must be right.
class Faults {
 public:
  static constexpr unsigned kTries = 100;
  Faults(Narrow &rig, unsigned one_in) : rig_(rig), one_in_(one_in) {}

  Bytes ask(Request request) {
    for (unsigned tries = 0; tries < kTries; tries++) {
      request.round = static_cast<uint8_t>(tries % 16);
      for (uint8_t byte : rig_.peer.line(request)) damage(byte, rig_.line);
      for (uint64_t end = rig_.now + 4000; rig_.now < end; rig_.cycle()) {
        std::deque<uint8_t> got;
        while (!rig_.sent.empty()) {
          damage(rig_.sent.front(), got);
          rig_.sent.pop_front();
        }
        for (uint8_t byte : got)
          if (rig_.peer.take(byte) && fits(request)) return rig_.peer.answer.data;
      }
      retries++;
    }
    check_that(request.sequence, 0, "command %u has no answer", request.command);
    return {};
  }

  unsigned retries = 0;

 private:
  bool fits(const Request &request) {
    const Answer &answer = rig_.peer.answer;
    if (answer.sequence != request.sequence || answer.status == kOutOfOrder) return false;
    check_bits(request.sequence, answer.status, kOk, "status of command %u", request.command);
    return true;
  }

  void damage(uint8_t byte, std::deque<uint8_t> &out) {
    if (cut_ > 0) {
      cut_--;
    } else if (check_below(&rig_.random(), one_in_) != 0) {
      out.push_back(byte);
    } else {
      switch (check_below(&rig_.random(), 4)) {
        case 0:
          out.insert(out.end(), {byte, byte});
          break;
        case 1:
          out.push_back(byte ^ static_cast<uint8_t>(1u << check_below(&rig_.random(), 8)));
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
