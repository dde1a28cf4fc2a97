// SPDX-License-Identifier: Apache-2.0
// Tests the board link alone: sequence numbers, repeats, sessions, and the window.

#include "Vlink8.h"
#include "rig.h"

namespace {

using namespace link_test;
using Narrow = Rig<Vlink8>;

// --- Sequence numbers ---------------------------------------------------------------------------

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
  rig.peer = {};  // the next frame is of another session
  rig.ask(rig.request(rig.next, kMemoryWrite, 0, {1, 2, 3}), kNoSession);
  check_that(0, rig.memory == before && rig.reads.empty(), "something has been executed");
}

// Repeats the last eight requests, in rounds 0 to 7. The answers have the old data, and nothing is
// executed twice. The numbers wrap around from 255 to 0.
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
    // Only the number selects the answer to repeat; the command is ignored.
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
  check_that(0, rig.peer.answer.irq, "level of the interrupt");
  check_bits(0, rig.run(kPing, 0, Bytes(1008, 0xC0)).size(), 1008, "bytes");
  check_bits(1, rig.ask(rig.request(2, kPing, 0, {}, 1)).size(), 1008, "bytes, again");
}

// A repeated answer that waits to be sent stays whole while the next request for its slot is
// executed.
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
  out_of_order(rig, 11, 20, 1);  // nine requests back
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
  // A repeated HELLO is executed again.
  rig.hello(3);
  check_bits(1, rig.run(kPing, 0, {5, 6}).size(), 2, "bytes");
  rig.ask(rig.request(4, kHello, 0, {5}), kRefused);
  check_bits(2, rig.ask(rig.request(4, kPing, 0, {})).size(), 2, "bytes, again");
}

// An old frame, 256 requests late or from an earlier session, is whole and has the expected number.
TEST(old_requests_are_dropped) {
  Narrow rig;
  rig.hello(200);
  const Bytes old = rig.peer.line(rig.request(rig.next, kMemoryWrite, 0x100, {1, 2, 3}));
  const Bytes want{4, 5, 6};
  rig.run(kMemoryWrite, 0x100, {1, 2, 3});
  rig.run(kMemoryWrite, 0x100, want);
  for (unsigned n = 0; n < 254; n++) rig.run(kPing, 0, {});
  for (unsigned dropped = 1; dropped <= 2; dropped++) {
    check_bits(dropped, rig.next, 201, "number");
    rig.line.insert(rig.line.end(), old.begin(), old.end());
    check_that(dropped, !rig.answer(5000), "an answer to an old request");
    same(dropped, part(rig.memory, 0x100, 3), want, "memory");
    same(dropped, rig.read(kBoardRead, 0x10, 4), word(dropped), "frames dropped");
    rig.hello(200, 0x12345679);
  }
}

// Before HELLO is executed the key is unknown, so that no CRC is correct.
TEST(nothing_behind_a_hello_is_executed) {
  Narrow rig;
  const Bytes before = rig.memory;
  Peer stranger;
  rig.send(rig.request(0, kHello, 0, word(5)));
  for (uint8_t byte : stranger.line(rig.request(1, kMemoryWrite, 0, {1, 2, 3})))
    rig.line.push_back(byte);
  const auto got = rig.answer();
  check_that(0, got && got->sequence == 0 && got->status == kOk, "answer to HELLO");
  check_that(1, !rig.answer(5000), "an answer to what came behind it");
  check_that(2, rig.memory == before, "memory has changed");
  rig.next = 1;
  same(3, rig.read(kBoardRead, 0x10, 4), word(1), "frames dropped");
}

// --- The window ---------------------------------------------------------------------------------

// The memory blocks while eight of the longest frames come; none is lost.
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

// Frames that find no room are dropped, and the earlier ones stay.
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

// Writes and reads keep the line's pace, a byte a cycle.
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

}  // namespace
