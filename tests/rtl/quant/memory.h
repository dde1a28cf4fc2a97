// SPDX-License-Identifier: Apache-2.0
// The memory that the clients of an engine, QUANT or GEMM, see: latency, random stalls, errors on
// request, and a watch over the rules of docs/ip/architecture.md. Tests only.
#ifndef UFP4_TEST_QUANT_MEMORY_H
#define UFP4_TEST_QUANT_MEMORY_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <vector>

extern "C" {
#include "check.h"
}

/** The behaviour of the memory. */
struct Behaviour {
  unsigned
      latency;     ///< cycles from a request to its first beat, or from the last beat to the answer
  unsigned stall;  ///< a handshake waits with chance stall/16
  int64_t read_error;   ///< this beat of a job is answered with an error; -1: none
  int64_t write_error;  ///< this write request of a job is answered with an error; -1: none
};

constexpr Behaviour kCalm = {1, 0, -1, -1};

inline Behaviour random_behaviour(check_random_t *random) {
  static const unsigned latencies[] = {1, 2, 7, 40, 200};
  return {latencies[check_below(random, 5)], check_below(random, 2) ? check_below(random, 14) : 0,
          -1, -1};
}

constexpr uint64_t kGuard = 256;  ///< bytes between two tensors

inline uint64_t round_up(uint64_t value, uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

/** The bytes that one request has written, according to its strobes. */
struct Written {
  uint64_t first, bytes;
};

/** Device memory from kBase on. */
template <typename Model, unsigned kBus>
class Memory {
 public:
  static constexpr uint64_t kBase = 0xA512345000;

  Memory(Model &model, size_t bytes) : data(bytes), m_(model) {}

  void reset(const Behaviour &behaviour, check_random_t random) {
    b_ = behaviour;
    random_ = random;
    beats_read = requests_written = 0;
    answered.clear();
    last_ = Held{};
    taken_ = false;
    m_.rd_rsp_valid_i = 0;
    m_.wr_idle_i = 1;
    m_.wr_err_i = 0;
  }

  /** Sets the inputs of this cycle, before the clock edge. */
  void drive(uint64_t cycle) {
    m_.rd_req_ready_i = go();
    m_.wr_req_ready_i = go();
    m_.wr_dat_ready_i = go();
    if (taken_) m_.rd_rsp_valid_i = 0;
    if (!m_.rd_rsp_valid_i && !reads_.empty() && reads_.front().due <= cycle && go()) offer();
    if (!m_.rd_rsp_valid_i) offer_nothing();
    m_.wr_err_i = 0;
    answers = !answers_.empty() && answers_.front().due <= cycle && go();
    if (answers) {
      m_.wr_err_i = answers_.front().error;
      answered.push_back(answers_.front().written);
      answers_.pop_front();
    }
    m_.wr_idle_i = writes_.empty() && answers_.empty() && !m_.wr_err_i;
  }

  /** Records the transfers of the clock edge. */
  void clock(uint64_t cycle) {
    watch();
    if (m_.rd_req_valid_o && m_.rd_req_ready_i) take_read(cycle);
    taken_ = m_.rd_rsp_valid_i && m_.rd_rsp_ready_o;
    if (m_.wr_req_valid_o && m_.wr_req_ready_i) take_write();
    if (m_.wr_dat_valid_o && m_.wr_dat_ready_i) take_beat();
    while (!writes_.empty() && !beats_.empty()) store(cycle);
  }

  /** Returns whether nothing is under way. */
  bool quiet() const {
    return reads_.empty() && writes_.empty() && beats_.empty() && answers_.empty() &&
           (taken_ || !m_.rd_rsp_valid_i);
  }

  std::vector<uint8_t> data;
  uint64_t read_lo = 0, read_hi = 0;  ///< where reads may go, as offsets in data
  int64_t beats_read = 0, requests_written = 0;
  bool writes_are_bursts = false;  ///< no write may cross 4 KiB
  bool answers = false;            ///< a write is answered in this cycle
  std::vector<Written> answered;   ///< bytes of the writes answered since the job began

 private:
  struct Read {
    uint64_t due;
    std::vector<uint8_t> bytes;  ///< the bytes at the time of the request
    size_t at;                   ///< the next beat
  };
  struct Write {
    uint64_t at;  ///< address of the next beat
    unsigned beats;
    bool error;
    Written written;
  };
  struct Beat {
    uint8_t data[kBus];
    uint8_t strobe[kBus / 8];
  };
  struct Answer {
    uint64_t due;
    Written written;
    bool error;
  };
  /** Outputs that must not change while they wait. */
  struct Held {
    bool read, write, beat;
    uint64_t read_addr, write_addr;
    uint8_t strobe[kBus / 8];
    unsigned read_beats, write_beats;
    uint8_t data[kBus];
  };

  bool go() {
    return check_below(&random_, 16) >= b_.stall;
  }

  uint64_t offset_of(uint64_t address, unsigned beats) {
    const uint64_t offset = address - kBase;
    check_that(static_cast<int64_t>(address), address % kBus == 0,
               "address is not a multiple of the bus width");
    check_that(static_cast<int64_t>(address), beats >= 1 && beats <= 256, "%u beats", beats);
    const bool inside = offset < data.size() && offset + uint64_t{beats} * kBus <= data.size();
    check_that(static_cast<int64_t>(address), inside, "address is outside of the memory");
    return inside ? offset : 0;
  }

  void take_read(uint64_t cycle) {
    const uint64_t offset = offset_of(m_.rd_req_addr_o, m_.rd_req_beats_o);
    check_that(static_cast<int64_t>(offset),
               offset >= read_lo && offset + m_.rd_req_beats_o * kBus <= read_hi,
               "a read of %u beats leaves the source", m_.rd_req_beats_o);
    if (m_.rd_req_beats_o == 0) return;
    const uint8_t *first = &data[offset];
    reads_.push_back({cycle + b_.latency, {first, first + m_.rd_req_beats_o * kBus}, 0});
  }

  void offer() {
    Read &read = reads_.front();
    std::memcpy(&m_.rd_rsp_data_i, &read.bytes[read.at], kBus);
    m_.rd_rsp_valid_i = 1;
    m_.rd_rsp_err_i = beats_read++ == b_.read_error;
    read.at += kBus;
    if (read.at == read.bytes.size()) reads_.pop_front();
  }

  /** Without a beat the data and error signals are random. */
  void offer_nothing() {
    uint64_t words[kBus / 8];
    for (uint64_t &word : words) word = check_next(&random_);
    std::memcpy(&m_.rd_rsp_data_i, words, kBus);
    m_.rd_rsp_err_i = words[0] >> 63 != 0;
  }

  void take_write() {
    const uint64_t offset = offset_of(m_.wr_req_addr_o, m_.wr_req_beats_o);
    check_that(static_cast<int64_t>(offset),
               !writes_are_bursts || offset % 4096 + m_.wr_req_beats_o * kBus <= 4096,
               "a write of %u beats crosses 4 KiB", m_.wr_req_beats_o);
    writes_.push_back({offset, m_.wr_req_beats_o, requests_written++ == b_.write_error, {}});
  }

  void take_beat() {
    Beat beat;
    std::memcpy(beat.data, &m_.wr_dat_data_o, kBus);
    std::memcpy(beat.strobe, &m_.wr_dat_strb_o, sizeof beat.strobe);
    beats_.push_back(beat);
  }

  void store(uint64_t cycle) {
    Write &write = writes_.front();
    for (unsigned i = 0; i < kBus; i++) {
      if (!(beats_.front().strobe[i / 8] >> i % 8 & 1)) continue;
      data[write.at + i] = beats_.front().data[i];
      if (write.written.bytes++ == 0) write.written.first = write.at + i;
    }
    beats_.pop_front();
    write.at += kBus;
    if (--write.beats != 0) return;
    answers_.push_back({cycle + b_.latency, write.written, write.error});
    writes_.pop_front();
  }

  /** Checks that streams do not change while they wait. */
  void watch() {
    Held now{};
    now.read = m_.rd_req_valid_o && !m_.rd_req_ready_i;
    now.read_addr = m_.rd_req_addr_o;
    now.read_beats = m_.rd_req_beats_o;
    now.write = m_.wr_req_valid_o && !m_.wr_req_ready_i;
    now.write_addr = m_.wr_req_addr_o;
    now.write_beats = m_.wr_req_beats_o;
    now.beat = m_.wr_dat_valid_o && !m_.wr_dat_ready_i;
    std::memcpy(now.strobe, &m_.wr_dat_strb_o, sizeof now.strobe);
    std::memcpy(now.data, &m_.wr_dat_data_o, kBus);
    if (last_.read) {
      check_that(0,
                 m_.rd_req_valid_o && now.read_addr == last_.read_addr &&
                     now.read_beats == last_.read_beats,
                 "a read request changed while it waited");
    }
    if (last_.write) {
      check_that(0,
                 m_.wr_req_valid_o && now.write_addr == last_.write_addr &&
                     now.write_beats == last_.write_beats,
                 "a write request changed while it waited");
    }
    if (last_.beat) {
      check_that(0,
                 m_.wr_dat_valid_o &&
                     std::memcmp(now.strobe, last_.strobe, sizeof now.strobe) == 0 &&
                     std::memcmp(now.data, last_.data, kBus) == 0,
                 "a write beat changed while it waited");
    }
    last_ = now;
  }

  Model &m_;
  Behaviour b_{};
  check_random_t random_{};
  Held last_{};
  bool taken_ = false;  ///< the beat at the output was taken at the last edge
  std::deque<Read> reads_;
  std::deque<Write> writes_;
  std::deque<Beat> beats_;
  std::deque<Answer> answers_;
};

#endif
