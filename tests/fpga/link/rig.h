// SPDX-License-Identifier: Apache-2.0
// The link alone, between a line of bytes and models of its targets: memory behind AXI4, part of
// which answers with errors, and registers behind AXI4-Lite that count accesses.
#ifndef UFP4_TESTS_LINK_RIG_H
#define UFP4_TESTS_LINK_RIG_H

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "frame.h"

extern "C" {
#include "check.h"
}

namespace link_test {

constexpr uint32_t kMemory = 65536;     // as in the Verilated link
constexpr uint32_t kFaulty = 0xF000;    // memory answers SLVERR from here on
constexpr unsigned kMillisecond = 100;  // in cycles, as in the Verilated link
constexpr uint16_t kCounter = 0x40;     // a register that counts its reads
constexpr uint16_t kErrors = 0x80;      // a register that answers SLVERR
constexpr uint64_t kPatience = 400000;  // cycles for an answer

inline Bytes part(const Bytes &bytes, size_t offset, size_t count) {
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(offset);
  return Bytes(begin, begin + static_cast<std::ptrdiff_t>(count));
}

inline void same(int64_t index, const Bytes &got, const Bytes &want, const char *what) {
  check_bits(index, got.size(), want.size(), "bytes of %s", what);
  for (size_t i = 0; i < std::min(got.size(), want.size()); i++)
    if (!check_bits(static_cast<int64_t>(i), got[i], want[i], "%s %lld", what,
                    static_cast<long long>(index)))
      return;
}

/** The speed of the models: the bound of the latency in cycles; the models, or the transmitter
 * (tx_stall), are not ready in one of so many cycles on average (0: always ready). */
struct Pace {
  unsigned latency = 0, stall = 0, tx_stall = 0, cycles_per_byte = 1;
};

constexpr Pace kSlow{20, 3, 4, 2};  // everything makes the link wait

template <typename Model>
class Rig {
 public:
  explicit Rig(Pace pace = {}) : memory(kMemory), pace_(pace), random_(check_random()) {
    for (auto &byte : memory) byte = static_cast<uint8_t>(check_next(&random_));
    reset();
  }
  ~Rig() {
    model_->final();
  }

  void reset() {
    model_->rst_ni = 0;
    for (int i = 0; i < 4; i++) cycle();
    model_->rst_ni = 1;
    line.clear();
  }

  /** Runs one cycle: a byte of the line, the models, the clock. */
  void cycle() {
    Model &m = *model_;
    m.rx_valid_i = wait_ == 0 && !line.empty();
    if (m.rx_valid_i) {
      m.rx_data_i = line.front();
      line.pop_front();
      wait_ = pace_.cycles_per_byte;
    }
    if (wait_ > 0) wait_--;
    m.tx_ready_i = !tx_blocked && goes(pace_.tx_stall);
    m.irq_i = irq;
    drive_registers();
    drive_memory();
    m.eval();
    const Seen seen = look();
    m.clk_i = 1;
    m.eval();
    m.clk_i = 0;
    m.eval();
    now++;
    if (!m.rst_ni) return;
    take_registers(seen);
    take_memory(seen);
    if (seen.tx_valid && m.tx_ready_i) sent.push_back(seen.tx_data);
    m.core_reset_done_i = seen.core_reset && !m.core_reset_done_i && ++reset_cycles % 16 == 0;
  }

  /** Puts a request on the line, with its length field as it is. */
  void send(const Request &request) {
    for (uint8_t byte : peer.line(request)) line.push_back(byte);
  }
  /** The length field of a request is the length of its data; that of a reading is @p length. */
  static Request request(uint8_t sequence, Command command, uint32_t address, const Bytes &data,
                         uint8_t round = 0) {
    return {sequence, command, round, static_cast<uint16_t>(data.size()), address, data};
  }
  static Request reading(uint8_t sequence, Command command, uint32_t address, uint16_t length,
                         uint8_t round = 0) {
    return {sequence, command, round, length, address, {}};
  }

  /** Returns the next valid answer, or none within @p cycles. */
  std::optional<Answer> answer(uint64_t cycles = kPatience) {
    for (uint64_t end = now + cycles; now < end; cycle()) {
      while (!sent.empty()) {
        const uint8_t byte = sent.front();
        sent.pop_front();
        if (peer.take(byte)) return peer.answer;
      }
    }
    return std::nullopt;
  }

  /** Sends a request and checks that the answer has @p status and the request's number and round.
   * @return the data. */
  Bytes ask(const Request &what, Status status = kOk) {
    send(what);
    const auto got = answer();
    check_that(what.sequence, got.has_value(), "command %u has no answer", what.command);
    if (!got) return {};
    check_bits(what.sequence, got->status, status, "status of command %u, address %x, length %u",
               what.command, what.address, what.length);
    check_bits(what.sequence, got->sequence, what.sequence, "sequence number");
    check_bits(what.sequence, got->round, what.round & 7, "round");
    return got->data;
  }
  /** Makes a request with the next sequence number. */
  Bytes run(Command command, uint32_t address, const Bytes &data, Status status = kOk) {
    return ask(request(next++, command, address, data), status);
  }
  Bytes read(Command command, uint32_t address, uint16_t length, Status status = kOk) {
    return ask(reading(next++, command, address, length), status);
  }
  /** Sends HELLO; the session's first number is @p sequence + 1. */
  Bytes hello(uint8_t sequence = 0, uint32_t nonce = 0x12345678) {
    next = static_cast<uint8_t>(sequence + 1);
    return ask(request(sequence, kHello, 0, word(nonce)));
  }

  Bytes random_bytes(size_t count) {
    Bytes bytes(count);
    for (auto &byte : bytes) byte = static_cast<uint8_t>(check_next(&random_));
    // Many bytes need an escape.
    for (size_t i = 0; i < count; i += 7)
      if (check_below(&random_, 2)) bytes[i] = check_below(&random_, 2) ? 0xC0 : 0xDB;
    return bytes;
  }
  check_random_t &random() {
    return random_;
  }

  Bytes memory;
  std::map<uint16_t, uint32_t> registers;
  std::map<uint16_t, unsigned> reads, writes;  // of registers, by address
  std::deque<uint8_t> line, sent;
  Peer peer;
  uint8_t next = 0;
  bool irq = false, tx_blocked = false, memory_blocked = false;
  unsigned reset_cycles = 0;
  uint64_t now = 0;

 private:
  static constexpr unsigned kBus = sizeof(Model::m_axi_rdata_i);
  struct Beat {
    uint64_t address, due;
  };
  /** The outputs sampled before the clock edge. */
  struct Seen {
    bool tx_valid, core_reset, arvalid, rready, awvalid, wvalid, bready;
    bool axil_awvalid, axil_wvalid, axil_bready, axil_arvalid, axil_rready;
    uint8_t tx_data;
    uint64_t araddr, awaddr, wstrb;
    uint16_t axil_awaddr, axil_araddr;
    uint32_t axil_wdata;
    Bytes wdata;
  };

  Seen look() {
    Model &m = *model_;
    Seen seen{};
    seen.tx_valid = m.tx_valid_o, seen.tx_data = m.tx_data_o, seen.core_reset = m.core_reset_o;
    seen.arvalid = m.m_axi_arvalid_o, seen.araddr = m.m_axi_araddr_o;
    seen.rready = m.m_axi_rready_o, seen.bready = m.m_axi_bready_o;
    seen.awvalid = m.m_axi_awvalid_o, seen.awaddr = m.m_axi_awaddr_o;
    seen.wvalid = m.m_axi_wvalid_o, seen.wstrb = m.m_axi_wstrb_o;
    if (seen.wvalid) seen.wdata.assign(bytes(m.m_axi_wdata_o), bytes(m.m_axi_wdata_o) + kBus);
    seen.axil_awvalid = m.m_axil_awvalid_o, seen.axil_awaddr = m.m_axil_awaddr_o;
    seen.axil_wvalid = m.m_axil_wvalid_o, seen.axil_wdata = m.m_axil_wdata_o;
    seen.axil_arvalid = m.m_axil_arvalid_o, seen.axil_araddr = m.m_axil_araddr_o;
    seen.axil_bready = m.m_axil_bready_o, seen.axil_rready = m.m_axil_rready_o;
    return seen;
  }

  bool goes(unsigned stall) {
    return stall == 0 || check_below(&random_, stall) != 0;
  }
  uint64_t later() {
    return now + (pace_.latency ? check_below(&random_, pace_.latency) : 0);
  }
  template <typename T>
  static uint8_t *bytes(T &port) {
    return reinterpret_cast<uint8_t *>(&port);
  }

  // --- AXI4: independent channels; an offer stays until it is taken ---
  void drive_memory() {
    Model &m = *model_;
    m.m_axi_arready_i = !memory_blocked && goes(pace_.stall);
    m.m_axi_awready_i = !memory_blocked && goes(pace_.stall);
    m.m_axi_wready_i = !memory_blocked && goes(pace_.stall);
    if (!m.m_axi_rvalid_i && !reads_.empty() && reads_.front().due <= now) {
      const uint64_t address = reads_.front().address;
      m.m_axi_rvalid_i = 1;
      m.m_axi_rresp_i = address >= kFaulty ? 2 : 0;
      if (address + kBus <= kMemory) std::memcpy(bytes(m.m_axi_rdata_i), &memory[address], kBus);
    }
    if (!m.m_axi_bvalid_i && !answers_.empty() && answers_.front().due <= now) {
      m.m_axi_bvalid_i = 1;
      m.m_axi_bresp_i = answers_.front().address >= kFaulty ? 2 : 0;
    }
  }

  void take_memory(const Seen &seen) {
    Model &m = *model_;
    if (seen.arvalid && m.m_axi_arready_i) {
      check_address(seen.araddr);
      reads_.push_back({seen.araddr, later()});
    }
    if (m.m_axi_rvalid_i && seen.rready) {
      reads_.pop_front();
      m.m_axi_rvalid_i = 0;
    }
    if (seen.awvalid && m.m_axi_awready_i) {
      check_address(seen.awaddr);
      addresses_.push_back(seen.awaddr);
    }
    if (seen.wvalid && m.m_axi_wready_i) {
      beats_.push_back(seen.wdata);
      strobes_.push_back(seen.wstrb);
    }
    while (!addresses_.empty() && !beats_.empty()) write();
    if (m.m_axi_bvalid_i && seen.bready) {
      answers_.pop_front();
      m.m_axi_bvalid_i = 0;
    }
  }

  void write() {
    const uint64_t address = addresses_.front();
    for (unsigned i = 0; i < kBus; i++)
      if (strobes_.front() >> i & 1 && address < kFaulty) memory[address + i] = beats_.front()[i];
    answers_.push_back({address, later()});
    addresses_.pop_front();
    beats_.pop_front();
    strobes_.pop_front();
  }

  void check_address(uint64_t address) {
    check_that(static_cast<int64_t>(address), address % kBus == 0 && address < kMemory,
               "a beat at %llx", static_cast<unsigned long long>(address));
  }

  // --- AXI4-Lite: one access at a time ---
  void drive_registers() {
    Model &m = *model_;
    m.m_axil_awready_i = !write_address_ && goes(pace_.stall);
    m.m_axil_wready_i = !write_data_ && goes(pace_.stall);
    m.m_axil_arready_i = !m.m_axil_rvalid_i && goes(pace_.stall);
  }

  void take_registers(const Seen &seen) {
    Model &m = *model_;
    if (m.m_axil_bvalid_i && seen.axil_bready) m.m_axil_bvalid_i = 0;
    if (m.m_axil_rvalid_i && seen.axil_rready) m.m_axil_rvalid_i = 0;
    if (seen.axil_awvalid && m.m_axil_awready_i) write_address_ = seen.axil_awaddr;
    if (seen.axil_wvalid && m.m_axil_wready_i) write_data_ = seen.axil_wdata;
    if (write_address_ && write_data_) {
      // Writing a one clears the bit, as in irq_status.
      registers[*write_address_] &= ~*write_data_;
      writes[*write_address_]++;
      m.m_axil_bresp_i = *write_address_ == kErrors ? 2 : 0;
      m.m_axil_bvalid_i = 1;
      write_address_.reset();
      write_data_.reset();
    }
    if (seen.axil_arvalid && m.m_axil_arready_i) {
      const uint16_t address = seen.axil_araddr;
      reads[address]++;
      m.m_axil_rdata_i = address == kCounter ? reads[address] : registers[address];
      m.m_axil_rresp_i = address == kErrors ? 2 : 0;
      m.m_axil_rvalid_i = 1;
    }
  }

  Pace pace_;
  check_random_t random_;
  std::unique_ptr<Model> model_ = std::make_unique<Model>();
  unsigned wait_ = 0;
  std::deque<Beat> reads_, answers_;
  std::deque<uint64_t> addresses_, strobes_;
  std::deque<Bytes> beats_;
  std::optional<uint16_t> write_address_;
  std::optional<uint32_t> write_data_;
};

}  // namespace link_test

#endif
