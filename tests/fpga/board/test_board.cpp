// SPDX-License-Identifier: Apache-2.0
// Tests a whole simulated board through the bytes of its link: the core's registers and memory,
// jobs during link traffic, a reset of the core amid a job, and the reset of the board. The first
// argument is the board's memory.

#include <algorithm>
#include <cstring>

#include "../link/frame.h"
#include "ufp4_board_sim.h"

extern "C" {
#include "check.h"
#include "ufp4/spec.h"
}

namespace {

using namespace link_test;

constexpr uint32_t kRing = 0, kCompletions = 4096, kA = 0x4000, kAScales = 0x6000, kB = 0x8000,
                   kBScales = 0xA000, kD = 0xC000, kElsewhere = 0x10000;
constexpr uint32_t kSide = 32, kK = 64, kDBytes = kSide * kSide * 4;
constexpr uint64_t kPatience = 3000000;
const char *memory = "block";

bool is_sdram() {  // or DRAM
  return std::strcmp(memory, "block") != 0;
}

/** A host that sends one request after another. */
class Host {
 public:
  explicit Host(unsigned cycles_per_byte = 1) : random_(check_random()) {
    char message[128] = "";
    const ufp4_board_sim_options_t options = {"tiny", memory, cycles_per_byte, 1};
    board = ufp4_board_sim_open(&options, message, sizeof message);
    check_that(0, board != nullptr, "%s", message);
  }
  ~Host() {
    ufp4_board_sim_close(board);
  }

  void send(const Request &request) {
    const Bytes line = peer.line(request);
    ufp4_board_sim_push(board, line.data(), line.size());
  }
  bool answered(uint64_t patience = kPatience) {
    for (uint64_t end = ufp4_board_sim_cycles(board) + patience;
         ufp4_board_sim_cycles(board) < end;) {
      uint8_t byte;
      while (ufp4_board_sim_take(board, &byte, 1) == 1)
        if (peer.take(byte)) return true;
      if (ufp4_board_sim_step(board, 10) != 0) break;
    }
    return false;
  }
  Bytes ask(const Request &request, Status status = kOk) {
    send(request);
    if (!check_that(request.sequence, answered(), "command %u has no answer", request.command))
      return {};
    check_bits(request.sequence, peer.answer.sequence, request.sequence, "sequence number");
    check_bits(request.sequence, peer.answer.status, status, "status of command %u, address %x",
               request.command, request.address);
    return peer.answer.data;
  }
  Bytes hello() {
    next = 1;
    return ask({0, kHello, 0, 4, 0, word(0xC0DBC0DB)});
  }
  void write(Command command, uint32_t address, const Bytes &data) {
    ask({next++, command, 0, static_cast<uint16_t>(data.size()), address, data});
  }
  Bytes read(Command command, uint32_t address, uint16_t length) {
    return ask({next++, command, 0, length, address, {}});
  }
  void poke(uint32_t offset, uint32_t value) {
    write(kRegisterWrite, offset, word(value));
  }
  uint32_t peek(uint32_t offset) {
    return word_of(read(kRegisterRead, offset, 4));
  }
  /** Writes any number of bytes. */
  void put(uint32_t address, const Bytes &data) {
    for (size_t i = 0; i < data.size(); i += kMostData)
      write(
          kMemoryWrite, address + static_cast<uint32_t>(i),
          Bytes(data.begin() + static_cast<std::ptrdiff_t>(i),
                data.begin() + static_cast<std::ptrdiff_t>(std::min(i + kMostData, data.size()))));
  }
  uint32_t checksum(uint32_t address, uint32_t bytes) {
    return word_of(ask({next++, kMemoryChecksum, 0, 4, address, word(bytes)}));
  }

  Bytes random_bytes(size_t count) {
    Bytes bytes(count);
    for (auto &byte : bytes) byte = static_cast<uint8_t>(check_next(&random_));
    return bytes;
  }
  uint32_t below(uint32_t bound) {
    return check_below(&random_, bound);
  }

  // --- Jobs ---
  void rings() {
    poke(UFP4_REG_RING_BASE_LO, kRing);
    poke(UFP4_REG_RING_LOG2, 2);
    poke(UFP4_REG_COMPLETION_BASE_LO, kCompletions);
    poke(UFP4_REG_IRQ_MASK, 7);
    tail_ = 0;
  }
  template <typename Descriptor>
  void submit(const Descriptor &descriptor) {
    Bytes bytes(UFP4_DESCRIPTOR_BYTES);
    std::memcpy(bytes.data(), &descriptor, sizeof descriptor);
    put(kRing + tail_ % 4 * UFP4_DESCRIPTOR_BYTES, bytes);
    poke(UFP4_REG_RING_TAIL, ++tail_);
  }
  /** Waits for the interrupt and checks the completion. */
  void finish(uint32_t job) {
    do {
      ask({next++, kWait, 0, 2, 0, {20, 0}});
    } while (!peer.answer.irq && ufp4_board_sim_cycles(board) < 100 * kPatience);
    check_bits(job, peek(UFP4_REG_IRQ_STATUS), 1, "interrupts");
    poke(UFP4_REG_IRQ_STATUS, 1);
    const Bytes done = read(kMemoryRead, kCompletions + (tail_ - 1) % 4 * UFP4_COMPLETION_BYTES, 8);
    check_bits(job, word_of(done), job, "job");
    check_bits(job, word_of(done, 4), 0, "status and flags");
    check_that(job, !peer.answer.irq, "the interrupt is still there");
  }
  void fence(uint32_t job) {
    ufp4_header_descriptor_t fence{};
    fence.opcode = UFP4_OPCODE_FENCE;
    fence.flags = 1;
    fence.job = job;
    submit(fence);
    finish(job);
  }

  ufp4_board_sim_t *board;
  Peer peer;
  uint8_t next = 0;

 private:
  check_random_t random_;
  uint32_t tail_ = 0;
};

ufp4_gemm_descriptor_t gemm(uint32_t job) {
  ufp4_gemm_descriptor_t gemm{};
  gemm.opcode = UFP4_OPCODE_GEMM;
  gemm.flags = 1;
  gemm.job = job;
  gemm.m = gemm.n = kSide;
  gemm.k = kK;
  gemm.a_elem = gemm.b_elem = UFP4_ELEM_E1M2;
  gemm.a_codes_addr = kA, gemm.a_scales_addr = kAScales;
  gemm.b_codes_addr = kB, gemm.b_scales_addr = kBScales;
  gemm.d_addr = kD;
  gemm.a_stride_blocks = gemm.b_stride_blocks = 8;
  gemm.d_stride_bytes = kSide * 4;
  return gemm;
}

void operands(Host &host) {
  for (uint32_t address : {kA, kB}) host.put(address, host.random_bytes(2048));
  for (uint32_t address : {kAScales, kBScales}) host.put(address, Bytes(256, 0x38));
  host.put(kD, Bytes(kDBytes, 0xEE));
}

TEST(core_is_there) {
  Host host;
  const Bytes identity = host.hello();
  check_bits(0, identity.size(), 44, "bytes");
  check_bits(1, word_of(identity) & 0xFFFF, 2, "version of the link");
  check_bits(2, word_of(identity, 4) >> 16, is_sdram() ? 3 : 0, "flags");
  check_bits(3, word_of(identity, 40), 0xC0DBC0DB, "nonce");
  check_bits(4, host.peek(UFP4_REG_ID), 0x55465034, "id");
  check_bits(5, host.peek(UFP4_REG_CONFIG_ARRAY) & 0xFFFFFF, 0x040101, "rows, columns, lanes");
}

TEST(memory_keeps_what_is_written) {
  Host host;
  const uint32_t bytes = word_of(host.hello(), 12);
  const Bytes data = host.random_bytes(10000);
  for (uint32_t address : {0u, kElsewhere + 3, bytes - 10000}) {
    host.put(address, data);
    check_bits(address, host.checksum(address, 10000), crc32_of(data), "checksum");
    const Bytes got = host.read(kMemoryRead, address + 500, 1000);
    check_that(address, std::equal(got.begin(), got.end(), data.begin() + 500), "data at %x",
               address);
  }
}

// A write leaves the other bytes of its words unchanged.
TEST(writes_change_no_neighbour) {
  Host host;
  host.hello();
  Bytes mirror = host.random_bytes(256);
  host.put(kElsewhere, mirror);
  for (uint32_t turn = 0; turn < 100; turn++) {
    const uint32_t at = host.below(250);
    const Bytes data = host.random_bytes(1 + host.below(256 - at));
    host.write(kMemoryWrite, kElsewhere + at, data);
    std::copy(data.begin(), data.end(), mirror.begin() + at);
    const Bytes got = host.read(kMemoryRead, kElsewhere, 256);
    if (!check_that(turn, got == mirror, "%zu bytes at %u", data.size(), at)) return;
  }
}

TEST(jobs_of_the_core_run) {
  Host host(2);
  host.hello();
  host.rings();
  for (uint32_t job = 1; job < 10; job++) host.fence(0xABC00000 + job);
}

// A GEMM runs alone, and then while the link writes and reads all the time: D has the same bits,
// and the link reads its own data.
TEST(link_and_core_share_memory) {
  Host host;
  host.hello();
  host.rings();
  operands(host);
  host.submit(gemm(1));
  host.finish(1);
  const uint32_t alone = host.checksum(kD, kDBytes);
  host.put(kD, Bytes(kDBytes, 0xEE));
  check_that(0, host.checksum(kD, kDBytes) != alone, "the job has written nothing");
  host.submit(gemm(2));
  unsigned turns = 0;
  for (bool irq = false; !irq; turns++) {
    const uint32_t address = kElsewhere + host.below(5000);
    const Bytes data = host.random_bytes(1 + host.below(300));
    host.write(kMemoryWrite, address, data);
    const Bytes got = host.read(kMemoryRead, address, static_cast<uint16_t>(data.size()));
    irq = host.peer.answer.irq;
    if (!check_that(turns, got == data, "%zu bytes at %x", data.size(), address)) return;
  }
  check_that(0, turns > 5, "%u turns", turns);
  host.finish(2);
  check_bits(0, host.checksum(kD, kDBytes), alone, "checksum of D");
}

// The core is reset at random points of a GEMM. After each reset a fence must end, and after all of
// them a GEMM must give the same D as before. No other memory may have changed.
TEST(core_is_reset_amid_a_job) {
  Host host;
  host.hello();
  host.rings();
  operands(host);
  host.put(kElsewhere, host.random_bytes(5000));
  host.submit(gemm(100));
  host.finish(100);
  const uint32_t alone = host.checksum(kD, kDBytes);
  const uint32_t below = host.checksum(kA, kD - kA), above = host.checksum(kD + kDBytes, 8000);
  for (uint32_t job = 1; job < 40; job++) {
    host.submit(gemm(job));
    ufp4_board_sim_step(host.board, host.below(job % 2 ? 12000 : 600));
    host.write(kBoardWrite, 0x20, word(1));
    check_bits(job, host.peek(UFP4_REG_RING_TAIL), 0, "tail");
    check_bits(job, host.peek(UFP4_REG_IRQ_MASK), 0, "interrupt mask");
    host.rings();
    host.fence(job);
  }
  check_bits(0, host.checksum(kA, kD - kA), below, "checksum of what lies below D");
  check_bits(1, host.checksum(kD + kDBytes, 8000), above, "checksum of what lies above");
  host.put(kD, Bytes(kDBytes, 0xEE));
  host.submit(gemm(99));
  host.finish(99);
  check_bits(2, host.checksum(kD, kDBytes), alone, "checksum of D");
}

TEST(reset_ends_the_session) {
  Host host;
  host.hello();
  host.rings();
  host.put(kElsewhere, {1, 2, 3});
  host.send({host.next, kWait, 0, 2, 0, {0xFF, 0xFF}});
  // An SDRAM that still powers up acknowledges a write before it is done.
  ufp4_board_sim_step(host.board, 10000);
  ufp4_board_sim_reset(host.board);
  host.peer = {};
  host.ask({host.next, kMemoryWrite, 0, 1, kElsewhere, {9}}, kNoSession);
  host.hello();
  const Bytes want{1, 2, 3};
  check_that(0, host.read(kMemoryRead, kElsewhere, 3) == want, "memory has changed");
  check_bits(1, host.peek(UFP4_REG_IRQ_MASK), 0, "interrupt mask");
}

// The window is full at a byte a cycle, first of writes and then of reads.
TEST(keeps_the_line_busy) {
  constexpr unsigned kFrames = 60;
  // A read from SDRAM has a long latency.
  const double least = is_sdram() ? 0.85 : 0.95;
  for (unsigned reads = 0; reads < 2; reads++) {
    Host host;
    host.hello();
    const uint64_t begin = ufp4_board_sim_cycles(host.board);
    for (unsigned i = 0; i < kFrames + kWindow - 1; i++) {
      if (i < kFrames && reads) host.send({host.next++, kMemoryRead, 0, kMostData, i * 4096, {}});
      if (i < kFrames && !reads)
        host.send({host.next++, kMemoryWrite, 0, kMostData, i * 4096, Bytes(kMostData, 3)});
      if (i >= kWindow - 1) check_that(i, host.answered(), "no answer");
    }
    const double pace = static_cast<double>(kFrames * kMostData) /
                        static_cast<double>(ufp4_board_sim_cycles(host.board) - begin);
    check_that(reads, pace > least, "%g bytes a cycle", pace);
    check_bits(reads, word_of(host.read(kBoardRead, 0x10, 4)), 0, "frames dropped");
  }
}

TEST(leds_tell) {
  Host host;
  host.hello();
  check_bits(0, ufp4_board_sim_leds(host.board) & 0xE, 8, "LEDs after HELLO");
  host.rings();
  operands(host);
  host.submit(gemm(1));
  host.finish(1);
  check_bits(1, ufp4_board_sim_leds(host.board) & 0xE, 0xA, "LEDs after a job");
  auto outside = gemm(2);
  outside.a_codes_addr = 0xFFFFFF000;
  host.submit(outside);
  host.ask({host.next++, kWait, 0, 2, 0, {100, 0}});
  check_that(2, host.peer.answer.irq, "the job has not ended");
  check_bits(2, host.peek(UFP4_REG_IRQ_STATUS), 3, "interrupts");
  check_bits(2, ufp4_board_sim_leds(host.board) & 0xE, 0xE, "LEDs after an error");
  host.write(kBoardWrite, 0, word(0x15A));
  check_bits(3, ufp4_board_sim_leds(host.board), 0x5A, "LEDs when forced");
}

// The march tests all of an SDRAM in 100 million cycles, during which the link's memory accesses
// wait. Block RAM has no march.
FULL_TEST(march_passes) {
  Host host;
  host.hello();
  if (!is_sdram()) {
    host.ask({host.next++, kBoardWrite, 0, 4, 0x04, word(1)}, kRefused);
    return;
  }
  host.rings();
  operands(host);
  host.submit(gemm(1));
  host.write(kBoardWrite, 0x04, word(1));
  check_bits(0, word_of(host.read(kBoardRead, 0x04, 4)), 1, "march: busy");
  host.send({host.next++, kMemoryRead, 0, 4, 0, {}});
  check_that(1, host.answered(400000000), "no answer after the march");
  check_bits(2, word_of(host.peer.answer.data), 0x00010000 ^ 0xFF00FF00, "words 0 and 1");
  check_bits(3, word_of(host.read(kBoardRead, 0x04, 4)), 2, "march: done");
  check_bits(4, word_of(host.read(kBoardRead, 0x0C, 4)), 0, "march: beats that failed");
}

TEST(rejects_unknown_boards) {
  char message[128] = "";
  const ufp4_board_sim_options_t options = {"enormous", memory, 1, 0},
                                 still = {"tiny", memory, 0, 0};
  check_that(0, ufp4_board_sim_open(&options, message, sizeof message) == nullptr, "enormous");
  check_that(0, std::strstr(message, "no board is called 'enormous/") != nullptr, "%s", message);
  check_that(1, ufp4_board_sim_open(&still, message, sizeof message) == nullptr, "still");
  check_that(1, std::strstr(message, "cycles_per_byte is 0") != nullptr, "%s", message);
}

}  // namespace

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  memory = argv[1];
  return check_main(argc - 1, argv + 1);
}
