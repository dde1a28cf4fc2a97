// SPDX-License-Identifier: Apache-2.0
// Three clients read and write at random through the AXI masters, against the simulator's memory
// under its protocol checker.

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <vector>

#include "Vaxi64.h"
#include "Vaxi8.h"
#include "checker.h"
#include "memory.h"

extern "C" {
#include "check.h"
}

namespace {

constexpr unsigned kClients = 3;
constexpr unsigned kAddressBytes = 5;
constexpr uint64_t kBase = 0x8000000000;  // uses the upper address bits
constexpr uint64_t kBytes = 1 << 20;
constexpr uint64_t kPage = 4096;
constexpr uint64_t kLimit = 2000000;

template <typename T>
uint8_t *bytes(T &port) {
  return reinterpret_cast<uint8_t *>(&port);
}

struct Request {
  uint64_t address;
  unsigned beats;
};

struct Beat {
  std::vector<uint8_t> data, strobes;
};

/** A client: the requests that it will make, and the expected responses. */
struct Client {
  std::deque<Request> requests;  // the first is at the port, or will be
  std::deque<Beat> beats;        // of writes
  std::deque<uint64_t> due;      // addresses of requested read beats
  bool request_valid = false, beat_valid = false, ready = false;
  unsigned errors_due = 0, errors = 0;  // of writes, by accepted request
};

template <typename Model>
class Traffic {
 public:
  Traffic(unsigned latency, unsigned bandwidth, uint64_t seed, bool gaps, unsigned bursts = 0)
      : random_(check_random()),
        gaps_(gaps),
        model_(std::make_unique<Model>()),
        bus_(sizeof(model_->rdata_i)),
        memory_(pins_, bus_, {kBase, kBytes, latency, bandwidth, check_stall(seed), 0, bursts}),
        checker_(pins_, bus_, limits()),
        want_(kBytes) {
    random_.state += seed;
    connect();
    memory_.drive();
    for (auto &byte : want_) byte = static_cast<uint8_t>(check_next(&random_));
    std::memcpy(memory_.at(kBase, kBytes), want_.data(), kBytes);
  }

  /** Queues a read of one client. */
  void read(unsigned client, const Request &request) {
    readers_[client].requests.push_back(request);
  }
  /** Queues a write of random bytes with random strobes. */
  void write(unsigned client, const Request &request) {
    writers_[client].requests.push_back(request);
    for (unsigned i = 0; i < request.beats; i++) {
      Beat beat{std::vector<uint8_t>(bus_), std::vector<uint8_t>(bus_ / 8)};
      for (auto &byte : beat.data) byte = static_cast<uint8_t>(check_next(&random_));
      for (auto &byte : beat.strobes)
        byte = check_below(&random_, 2) ? 0xFF : static_cast<uint8_t>(check_next(&random_));
      apply(request.address + i * bus_, beat);
      writers_[client].beats.push_back(beat);
    }
  }

  /** Halts both masters for a thousand cycles from @p cycle on. */
  void halt(uint64_t cycle) {
    halt_ = cycle;
  }

  /** Runs until everything is done. @return the number of cycles */
  uint64_t run() {
    *pins_.rst_n = 0;
    for (int i = 0; i < 3; i++) cycle();
    *pins_.rst_n = 1;
    const uint64_t start = cycle_;
    while (!done() && cycle_ < kLimit) cycle();
    check_that(0, done(), "traffic has not ended after %llu cycles: %s",
               static_cast<unsigned long long>(cycle_), memory_.describe().c_str());
    check_that(0, checker_.message().empty(), "%s", checker_.message().c_str());
    check_that(0, std::memcmp(memory_.at(kBase, kBytes), want_.data(), kBytes) == 0,
               "memory is not what was written");
    return cycle_ - start;
  }

  unsigned bus() const {
    return bus_;
  }
  /** The most writes that were in flight at once. */
  unsigned most_writes() const {
    return most_writes_;
  }
  /** Beats that were taken when the address of their burst was not. */
  unsigned early_beats() const {
    return early_beats_;
  }
  /** Bursts whose address was accepted before the halt, during it (except its first tenth) and
   * after it. */
  const unsigned (&bursts() const)[3] {
    return bursts_;
  }
  check_random_t &random() {
    return random_;
  }

 private:
  static constexpr uint64_t kHalt = 1000, kBegun = kHalt / 10;  // by then, what had begun has gone

  // The guarantees of the masters alone: three clients, each write counted, strobes as the client
  // gives them.
  static ufp4::Limits limits() {
    constexpr unsigned kReads = 1023, kWrites = 255;
    ufp4::Limits limits;
    for (unsigned c = 0; c < kClients; c++) {
      limits.reads[c] = {kReads, static_cast<unsigned>(kPage), 0};
      limits.writes[c] = {kWrites, static_cast<unsigned>(kPage), 0};
    }
    return limits;
  }

  void count() {
    const auto &axi = pins_.axi;
    const bool address = *axi.awvalid && *axi.awready, beat = *axi.wvalid && *axi.wready;
    const unsigned taken = address + (*axi.arvalid && *axi.arready);
    if (cycle_ < halt_) {
      bursts_[0] += taken;
    } else if (cycle_ >= halt_ + kHalt) {
      bursts_[2] += taken;
    } else if (cycle_ >= halt_ + kBegun) {
      bursts_[1] += taken;
    }
    early_beats_ += beat && addresses_ == ended_ && !address;
    addresses_ += address;
    ended_ += beat && *axi.wlast;
    writes_ += address;
    writes_ -= *axi.bvalid && *axi.bready;
    most_writes_ = std::max(most_writes_, writes_);
  }

  void apply(uint64_t address, const Beat &beat) {
    if (!inside(address)) return;
    for (unsigned i = 0; i < bus_; i++) {
      if (beat.strobes[i / 8] >> (i % 8) & 1) want_[address - kBase + i] = beat.data[i];
    }
  }

  static bool inside(uint64_t address) {
    return address >= kBase && address < kBase + kBytes;
  }

  // Bursts of a request that get an error: its pages outside memory.
  unsigned bad_bursts(const Request &request) const {
    unsigned count = 0;
    const uint64_t end = request.address + request.beats * bus_;
    for (uint64_t at = request.address; at < end; at = (at / kPage + 1) * kPage)
      count += !inside(at);
    return count;
  }

  bool done() const {
    for (const Client &c : readers_) {
      if (!c.requests.empty() || !c.due.empty()) return false;
    }
    for (unsigned c = 0; c < kClients; c++) {
      if (!writers_[c].requests.empty() || !writers_[c].beats.empty() ||
          !(model_->wr_idle_o >> c & 1))
        return false;
    }
    return true;
  }

  bool chance() {
    return !gaps_ || check_below(&random_, 3) != 0;
  }

  // Sets the pins of the clients for the next cycle; an offer stays until taken.
  void offer() {
    for (unsigned c = 0; c < kClients; c++) {
      Client &r = readers_[c], &w = writers_[c];
      r.request_valid = !r.requests.empty() && (r.request_valid || chance());
      r.ready = chance();
      w.request_valid = !w.requests.empty() && (w.request_valid || chance());
      w.beat_valid = !w.beats.empty() && (w.beat_valid || chance());
      show(c, r, model_->rd_req_valid_i, bytes(model_->rd_req_addr_i), model_->rd_req_beats_i);
      show(c, w, model_->wr_req_valid_i, bytes(model_->wr_req_addr_i), model_->wr_req_beats_i);
      set(model_->rd_rsp_ready_i, c, r.ready);
      set(model_->wr_dat_valid_i, c, w.beat_valid);
      if (!w.beat_valid) continue;
      std::memcpy(bytes(model_->wr_dat_data_i) + c * bus_, w.beats.front().data.data(), bus_);
      std::memcpy(bytes(model_->wr_dat_strb_i) + c * bus_ / 8, w.beats.front().strobes.data(),
                  bus_ / 8);
    }
  }

  template <typename T>
  static void set(T &port, unsigned bit, bool value) {
    port = static_cast<T>((port & ~(1u << bit)) | static_cast<unsigned>(value) << bit);
  }

  static void show(unsigned c, const Client &client, uint8_t &valid, uint8_t *addresses,
                   uint32_t &beats) {
    set(valid, c, client.request_valid);
    if (!client.request_valid) return;
    std::memcpy(addresses + c * kAddressBytes, &client.requests.front().address, kAddressBytes);
    beats = (beats & ~(0x1FFu << 9 * c)) | client.requests.front().beats << 9 * c;
  }

  void take_read(unsigned c) {
    Client &r = readers_[c];
    if (model_->rd_rsp_valid_o >> c & 1 && r.ready) {
      if (!check_that(static_cast<int64_t>(cycle_), !r.due.empty(),
                      "client %u got a beat it did not ask for", c))
        return;
      const uint64_t address = r.due.front();
      r.due.pop_front();
      check_bits(static_cast<int64_t>(cycle_), model_->rd_rsp_err_o, !inside(address),
                 "error of client %u at 0x%llx", c, static_cast<unsigned long long>(address));
      if (inside(address)) {
        check_that(static_cast<int64_t>(cycle_),
                   std::memcmp(bytes(model_->rd_rsp_data_o), memory_.at(address, bus_), bus_) == 0,
                   "data of client %u at 0x%llx", c, static_cast<unsigned long long>(address));
      }
    }
    if (r.request_valid && model_->rd_req_ready_o >> c & 1) {
      for (unsigned i = 0; i < r.requests.front().beats; i++)
        r.due.push_back(r.requests.front().address + i * bus_);
      r.requests.pop_front();
      r.request_valid = false;
    }
  }

  void take_write(unsigned c) {
    Client &w = writers_[c];
    // When a client sees idle, it must have seen the errors of everything accepted before this
    // cycle.
    if (model_->wr_idle_o >> c & 1) {
      check_bits(static_cast<int64_t>(cycle_), w.errors, w.errors_due,
                 "errors of client %u when it is idle", c);
    }
    w.errors += model_->wr_err_o >> c & 1;
    if (w.beat_valid && model_->wr_dat_ready_o >> c & 1) {
      w.beats.pop_front();
      w.beat_valid = false;
    }
    if (w.request_valid && model_->wr_req_ready_o >> c & 1) {
      w.errors_due += bad_bursts(w.requests.front());
      w.requests.pop_front();
      w.request_valid = false;
    }
  }

  void cycle() {
    offer();
    model_->halt_i = cycle_ >= halt_ && cycle_ < halt_ + kHalt;
    model_->eval();
    checker_.sample();
    memory_.sample(cycle_);
    if (*pins_.rst_n) {
      count();
      for (unsigned c = 0; c < kClients; c++) {
        take_read(c);
        take_write(c);
      }
    }
    *pins_.clk = 1;
    model_->eval();
    memory_.drive();
    *pins_.clk = 0;
    model_->eval();
    cycle_++;
  }

  void connect() {
    Model &m = *model_;
    auto &axi = pins_.axi;
    size_ = bus_ == 64 ? 6 : 3;
    pins_.clk = &m.clk_i, pins_.rst_n = &m.rst_ni;
    axi.arvalid = &m.arvalid_o, axi.arready = &m.arready_i, axi.arid = &m.arid_o,
    axi.araddr = &m.araddr_o;
    axi.arlen = &m.arlen_o, axi.arsize = &size_, axi.arburst = &incr_;
    axi.rvalid = &m.rvalid_i, axi.rready = &m.rready_o, axi.rid = &m.rid_i,
    axi.rdata = bytes(m.rdata_i);
    axi.rresp = &m.rresp_i, axi.rlast = &m.rlast_i;
    axi.awvalid = &m.awvalid_o, axi.awready = &m.awready_i, axi.awid = &m.awid_o,
    axi.awaddr = &m.awaddr_o;
    axi.awlen = &m.awlen_o, axi.awsize = &size_, axi.awburst = &incr_;
    axi.wvalid = &m.wvalid_o, axi.wready = &m.wready_i, axi.wdata = bytes(m.wdata_o),
    axi.wstrb = bytes(m.wstrb_o);
    axi.wlast = &m.wlast_o;
    axi.bvalid = &m.bvalid_i, axi.bready = &m.bready_o, axi.bid = &m.bid_i, axi.bresp = &m.bresp_i;
  }

  check_random_t random_;
  const bool gaps_;
  std::unique_ptr<Model> model_;
  const unsigned bus_;
  ufp4::Pins pins_{};
  uint8_t size_ = 0, incr_ = 1;
  ufp4::Memory memory_;
  ufp4::Checker checker_;
  std::vector<uint8_t> want_;
  Client readers_[kClients], writers_[kClients];
  uint64_t cycle_ = 0, halt_ = kLimit;
  unsigned addresses_ = 0, ended_ = 0, writes_ = 0, most_writes_ = 0, early_beats_ = 0,
           bursts_[3] = {};
};

// Reads come from the first half of memory, writes go to a part of the second half for each client;
// some lie outside.
template <typename Model>
Request random_request(Traffic<Model> &traffic, uint64_t from, uint64_t size) {
  check_random_t *random = &traffic.random();
  Request request{};
  request.beats = 1 + check_below(random, check_below(random, 2) ? 256 : 6);
  const uint64_t bytes = uint64_t{request.beats} * traffic.bus();
  request.address =
      from + check_below(random, static_cast<uint32_t>((size - bytes) / traffic.bus())) *
                 uint64_t{traffic.bus()};
  if (check_below(random, 10) == 0) request.address += kBytes;
  return request;
}

template <typename Model>
void three_clients() {
  constexpr uint64_t kPart = kBytes / 8;
  unsigned early_beats = 0;
  static const unsigned latencies[] = {1, 30, 200}, bandwidths[] = {0, 3, 0};
  for (unsigned i = 0; i < 12; i++) {
    Traffic<Model> traffic(latencies[i % 3], bandwidths[i / 4], i / 2, i % 2);
    for (unsigned n = 0; n < 60; n++) {
      for (unsigned c = 0; c < kClients; c++) {
        traffic.read(c, random_request(traffic, kBase, kBytes / 2));
        traffic.write(c, random_request(traffic, kBase + kBytes / 2 + c * kPart, kPart));
      }
    }
    traffic.run();
    early_beats += traffic.early_beats();
  }
  check_that(0, early_beats > 100, "%u beats came before the address of their burst", early_beats);
}

TEST(three_clients_narrow) {
  three_clients<Vaxi8>();
}

SLOW_TEST(three_clients_wide) {
  three_clients<Vaxi64>();
}

// One client alone makes bursts of 1 KiB with a latency of 200 cycles: enough are in flight to move
// a beat in nearly every cycle.
TEST(keeps_the_bus_busy) {
  constexpr unsigned kBeats = 16, kRequests = 200;
  for (int writes = 0; writes < 2; writes++) {
    Traffic<Vaxi64> traffic(200, 0, 0, false);
    for (unsigned n = 0; n < kRequests; n++) {
      const Request request{kBase + n * 1024, kBeats};
      if (writes) {
        traffic.write(1, request);
      } else {
        traffic.read(1, request);
      }
    }
    const uint64_t cycles = traffic.run();
    check_that(writes, cycles < kBeats * kRequests + 220, "%u beats took %llu cycles",
               kBeats * kRequests, static_cast<unsigned long long>(cycles));
  }
}

// The bus takes any number of bursts and answers late: the master stops at the number that it can
// count.
TEST(counts_its_writes) {
  constexpr unsigned kRequests = 600, kCounted = 255;
  Traffic<Vaxi8> traffic(2000, 0, 0, false, kRequests);
  for (unsigned n = 0; n < kRequests; n++) traffic.write(2, {kBase + n * traffic.bus(), 1});
  traffic.run();
  check_bits(0, traffic.most_writes(), kCounted, "writes in flight");
}

// Started bursts end, no other begins although the clients keep requesting, and nothing is lost.
TEST(halted_masters_begin_no_burst) {
  constexpr unsigned kBeats = 8, kRequests = 100;
  for (unsigned writes = 0; writes < 2; writes++) {
    Traffic<Vaxi8> traffic(30, 0, 0, false);
    for (unsigned n = 0; n < kRequests; n++) {
      const Request request{kBase + n * kPage, kBeats};
      if (writes) {
        traffic.write(n % kClients, request);
      } else {
        traffic.read(n % kClients, request);
      }
    }
    traffic.halt(200);
    traffic.run();
    const unsigned(&bursts)[3] = traffic.bursts();
    check_that(writes, bursts[0] > 0 && bursts[2] > 0, "%u bursts before the halt, %u after it",
               bursts[0], bursts[2]);
    check_bits(writes, bursts[1], 0, "bursts of halted masters");
  }
}

}  // namespace
