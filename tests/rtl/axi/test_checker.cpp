// SPDX-License-Identifier: Apache-2.0
// The simulator's protocol checker on forged pins: it is silent about legal traffic and names each broken rule.
#include <cstring>
#include <functional>

#include "checker.h"
#include "test_axi.h"

extern "C" {
#include "check.h"
}

namespace {

constexpr unsigned kBusBytes = 64;

// The pins of a master under our hand; by default it does nothing.
struct Forged {
  uint8_t rst_n = 1, arvalid = 0, arready = 0, arid = 1, arlen = 0, arsize = 6, arburst = 1;
  uint64_t araddr = 0x1000, awaddr = 0x1000;
  uint8_t awvalid = 0, awready = 0, awid = 1, awlen = 0, awsize = 6, awburst = 1;
  uint8_t wvalid = 0, wready = 0, wlast = 1, wdata[kBusBytes] = {}, wstrb[kBusBytes / 8] = {};

  ufp4::Pins pins() {
    ufp4::Pins p{};
    p.rst_n = &rst_n;
    p.axi.arvalid = &arvalid, p.axi.arready = &arready, p.axi.arid = &arid, p.axi.araddr = &araddr;
    p.axi.arlen = &arlen, p.axi.arsize = &arsize, p.axi.arburst = &arburst;
    p.axi.awvalid = &awvalid, p.axi.awready = &awready, p.axi.awid = &awid, p.axi.awaddr = &awaddr;
    p.axi.awlen = &awlen, p.axi.awsize = &awsize, p.axi.awburst = &awburst;
    p.axi.wvalid = &wvalid, p.axi.wready = &wready, p.axi.wlast = &wlast, p.axi.wdata = wdata, p.axi.wstrb = wstrb;
    return p;
  }
};

using Step = std::function<void(Forged &)>;

// Runs the steps, one a cycle; the message must then contain @p text, or be empty where that is empty.
void run(int64_t index, std::initializer_list<Step> steps, const char *text) {
  Forged forged;
  const ufp4::Pins pins = forged.pins();
  ufp4::Checker checker(pins, kBusBytes);
  for (const Step &step : steps) {
    step(forged);
    checker.sample();
  }
  const char *got = checker.message().c_str();
  check_that(index, *text ? std::strstr(got, text) != nullptr : *got == 0, "the checker says '%s', not '%s'", got,
             text);
}

void offer_read(Forged &f) {
  f.arvalid = 1;
  f.arready = 0;
}

void offer_write(Forged &f) {
  f.awvalid = f.awready = 1;
  f.awlen = 1;
}

void offer_beat(Forged &f) {
  f.awvalid = 0;
  f.wvalid = 1;
  f.wready = 0;
  f.wlast = 0;
}

}  // namespace

void checker_passes_legal_bursts() {
  run(0, {offer_read, offer_read, [](Forged &f) { f.arready = 1; }, [](Forged &f) { f.araddr = 0x2000; }}, "");
  run(1, {[](Forged &f) { offer_read(f), f.araddr = 0xF80, f.arlen = 1; }}, "");
  run(2,
      {offer_write, offer_beat, [](Forged &f) { f.wready = 1; }, [](Forged &f) { f.wlast = 1; },
       [](Forged &f) { f.wvalid = 0; }},
      "");
  // Until the first edge of a reset anything may be there.
  run(3, {[](Forged &f) { f.rst_n = 0, f.arvalid = 1, f.arburst = 3; }, [](Forged &f) { f.arvalid = 0; }}, "");
}

// Nothing that was offered or in flight binds who was reset.
void checker_forgets_in_reset() {
  const Step reset = [](Forged &f) { f.rst_n = f.arvalid = f.awvalid = f.wvalid = 0; };
  const Step burst = [](Forged &f) { f.rst_n = f.awvalid = f.awready = 1, f.awlen = 0; };
  const Step only_beat = [](Forged &f) { f.awvalid = 0, f.wvalid = f.wready = f.wlast = 1; };
  run(0, {offer_read, reset, [](Forged &f) { f.rst_n = 1, f.araddr = 0x2000; }, offer_read}, "");
  run(1, {[](Forged &f) { f.awvalid = 1; }, reset, [](Forged &f) { f.rst_n = f.awvalid = 1, f.awaddr = 0x2000; }}, "");
  run(2, {offer_write, offer_beat, reset, burst, only_beat}, "");
  run(3, {offer_write, [](Forged &f) { offer_beat(f), f.wready = 1; }, reset, burst, only_beat}, "");
}

void rejects_valid_in_reset() {
  run(0, {[](Forged &f) { f.rst_n = 0, f.arvalid = 1; }, [](Forged &) {}}, "AR: valid is high in reset");
  run(1, {[](Forged &f) { f.rst_n = 0, f.awvalid = 1; }, [](Forged &) {}}, "AW: valid is high in reset");
  run(2, {[](Forged &f) { f.rst_n = 0, f.wvalid = 1; }, [](Forged &) {}}, "W: valid is high in reset");
}

void rejects_unstable_addresses() {
  run(0, {offer_read, [](Forged &f) { f.arvalid = 0; }}, "AR: valid fell");
  run(1, {offer_read, [](Forged &f) { f.araddr += 64; }}, "AR: the payload changed");
  run(2, {offer_read, [](Forged &f) { f.arlen++; }}, "AR: the payload changed");
  run(3, {offer_read, [](Forged &f) { f.arid++; }}, "AR: the payload changed");
  run(4, {[](Forged &f) { f.awvalid = 1; }, [](Forged &f) { f.awvalid = 0; }}, "AW: valid fell");
  run(5, {[](Forged &f) { f.awvalid = 1; }, [](Forged &f) { f.awaddr = 0; }}, "AW: the payload changed");
}

void rejects_unstable_data() {
  run(0, {offer_write, offer_beat, [](Forged &f) { f.wvalid = 0; }}, "W: valid fell");
  run(1, {offer_write, offer_beat, [](Forged &f) { f.wdata[63] = 1; }}, "W: the payload changed");
  run(2, {offer_write, offer_beat, [](Forged &f) { f.wstrb[7] = 1; }}, "W: the payload changed");
  run(3, {offer_write, offer_beat, [](Forged &f) { f.wlast = 1; }}, "W: the payload changed");
}

void rejects_bad_bursts() {
  run(0, {[](Forged &f) { offer_read(f), f.araddr = 0xF80, f.arlen = 2; }}, "AR: the burst crosses 4 KiB");
  run(1, {[](Forged &f) { offer_read(f), f.araddr = 0x1020; }}, "AR: the address is not a multiple");
  run(2, {[](Forged &f) { offer_read(f), f.arsize = 3; }}, "AR: the size is not a full beat");
  run(3, {[](Forged &f) { offer_read(f), f.arburst = 0; }}, "AR: the burst is not INCR");
  run(4, {[](Forged &f) { f.awvalid = 1, f.awaddr = 0xFC0, f.awlen = 1; }}, "AW: the burst crosses 4 KiB");
}

void rejects_wrong_last() {
  run(0, {offer_write, [](Forged &f) { offer_beat(f), f.wready = 1, f.wlast = 1; }}, "W: wlast is not where");
  run(1, {offer_write, [](Forged &f) { offer_beat(f), f.wready = 1; }, [](Forged &) {}}, "W: wlast is not where");
}
