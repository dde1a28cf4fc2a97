// SPDX-License-Identifier: Apache-2.0
// The simulator's protocol checker on forged pins: it is silent about legal traffic and names each
// broken rule.
#include <cstring>
#include <functional>

#include "checker.h"

extern "C" {
#include "check.h"
}

namespace {

constexpr unsigned kBusBytes = 64;

// The pins of a master that the test controls; by default the master does nothing.
struct Forged {
  uint8_t rst_n = 1, arvalid = 0, arready = 0, arid = 1, arlen = 0, arsize = 6, arburst = 1;
  uint64_t araddr = 0x1000, awaddr = 0x1000;
  uint8_t awvalid = 0, awready = 0, awid = 1, awlen = 0, awsize = 6, awburst = 1;
  uint8_t wvalid = 0, wready = 0, wlast = 1, wdata[kBusBytes] = {}, wstrb[kBusBytes / 8] = {};
  uint8_t rvalid = 0, rready = 1, rlast = 1, rid = 1, bvalid = 0, bready = 1, bid = 1;
  uint8_t port_arvalid = 0, port_arready = 1, port_rvalid = 0, port_rready = 1;
  uint8_t port_awvalid = 0, port_awready = 1, port_wvalid = 0, port_wready = 1, port_bvalid = 0,
          port_bready = 1;
  uint32_t port_rdata = 0;

  Forged() {
    std::memset(wstrb, 0xFF, sizeof wstrb);
  }

  ufp4::Pins pins() {
    ufp4::Pins p{};
    p.rst_n = &rst_n;
    p.axi.arvalid = &arvalid, p.axi.arready = &arready, p.axi.arid = &arid, p.axi.araddr = &araddr;
    p.axi.arlen = &arlen, p.axi.arsize = &arsize, p.axi.arburst = &arburst;
    p.axi.awvalid = &awvalid, p.axi.awready = &awready, p.axi.awid = &awid, p.axi.awaddr = &awaddr;
    p.axi.awlen = &awlen, p.axi.awsize = &awsize, p.axi.awburst = &awburst;
    p.axi.wvalid = &wvalid, p.axi.wready = &wready, p.axi.wlast = &wlast, p.axi.wdata = wdata,
    p.axi.wstrb = wstrb;
    p.axi.rvalid = &rvalid, p.axi.rready = &rready, p.axi.rlast = &rlast, p.axi.rid = &rid;
    p.axi.bvalid = &bvalid, p.axi.bready = &bready, p.axi.bid = &bid;
    p.axil.arvalid = &port_arvalid, p.axil.arready = &port_arready, p.axil.rvalid = &port_rvalid;
    p.axil.rready = &port_rready, p.axil.rdata = &port_rdata, p.axil.awvalid = &port_awvalid;
    p.axil.awready = &port_awready, p.axil.wvalid = &port_wvalid, p.axil.wready = &port_wready;
    p.axil.bvalid = &port_bvalid, p.axil.bready = &port_bready;
    return p;
  }
};

using Step = std::function<void(Forged &)>;

// Like `default`, but fewer bursts of ID 1 may be in flight, and there are no IDs but 0 and 1.
ufp4::Limits limits() {
  ufp4::Limits limits;
  limits.reads[0] = {1, 128, 0};
  limits.reads[1] = {32, 2048, 0};
  limits.writes[0] = {1, 16, 16};
  limits.writes[1] = {2, 1024, 2};
  return limits;
}

// Runs the steps, one per cycle; the message must then contain @p text, or be empty if that is
// empty.
template <typename Rules>
void run_with(int64_t index, Forged &forged, Rules &rules, std::initializer_list<Step> steps,
              const char *text) {
  for (const Step &step : steps) {
    step(forged);
    rules.sample();
  }
  const char *got = rules.message().c_str();
  check_that(index, *text ? std::strstr(got, text) != nullptr : *got == 0,
             "the checker says '%s', not '%s'", got, text);
}

void run(int64_t index, std::initializer_list<Step> steps, const char *text) {
  Forged forged;
  const ufp4::Pins pins = forged.pins();
  ufp4::Checker checker(pins, kBusBytes, limits());
  run_with(index, forged, checker, steps, text);
}

void run_port(int64_t index, std::initializer_list<Step> steps, const char *text) {
  Forged forged;
  const ufp4::Pins pins = forged.pins();
  ufp4::PortChecker checker(pins);
  run_with(index, forged, checker, steps, text);
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

TEST(checker_passes_legal_bursts) {
  run(0,
      {offer_read, offer_read, [](Forged &f) { f.arready = 1; },
       [](Forged &f) { f.araddr = 0x2000; }},
      "");
  run(1, {[](Forged &f) { offer_read(f), f.araddr = 0xF80, f.arlen = 1; }}, "");
  run(2,
      {offer_write, offer_beat, [](Forged &f) { f.wready = 1; }, [](Forged &f) { f.wlast = 1; },
       [](Forged &f) { f.wvalid = 0; }},
      "");
  // Before the first edge of a reset any level is allowed.
  run(3,
      {[](Forged &f) { f.rst_n = 0, f.arvalid = 1, f.arburst = 3; },
       [](Forged &f) { f.arvalid = 0; }},
      "");
}

// After a reset nothing from before it, offered or in flight, is binding.
TEST(checker_forgets_in_reset) {
  const Step reset = [](Forged &f) { f.rst_n = f.arvalid = f.awvalid = f.wvalid = 0; };
  const Step burst = [](Forged &f) { f.rst_n = f.awvalid = f.awready = 1, f.awlen = 0; };
  const Step only_beat = [](Forged &f) { f.awvalid = 0, f.wvalid = f.wready = f.wlast = 1; };
  run(0, {offer_read, reset, [](Forged &f) { f.rst_n = 1, f.araddr = 0x2000; }, offer_read}, "");
  run(1,
      {[](Forged &f) { f.awvalid = 1; }, reset,
       [](Forged &f) { f.rst_n = f.awvalid = 1, f.awaddr = 0x2000; }},
      "");
  run(2, {offer_write, offer_beat, reset, burst, only_beat}, "");
  run(3, {offer_write, [](Forged &f) { offer_beat(f), f.wready = 1; }, reset, burst, only_beat},
      "");
}

TEST(rejects_valid_in_reset) {
  run(0, {[](Forged &f) { f.rst_n = 0, f.arvalid = 1; }, [](Forged &) {}},
      "AR: valid is high in reset");
  run(1, {[](Forged &f) { f.rst_n = 0, f.awvalid = 1; }, [](Forged &) {}},
      "AW: valid is high in reset");
  run(2, {[](Forged &f) { f.rst_n = 0, f.wvalid = 1; }, [](Forged &) {}},
      "W: valid is high in reset");
}

TEST(rejects_unstable_addresses) {
  run(0, {offer_read, [](Forged &f) { f.arvalid = 0; }}, "AR: valid fell");
  run(1, {offer_read, [](Forged &f) { f.araddr += 64; }}, "AR: the payload changed");
  run(2, {offer_read, [](Forged &f) { f.arlen++; }}, "AR: the payload changed");
  run(3, {offer_read, [](Forged &f) { f.arid++; }}, "AR: the payload changed");
  run(4, {[](Forged &f) { f.awvalid = 1; }, [](Forged &f) { f.awvalid = 0; }}, "AW: valid fell");
  run(5, {[](Forged &f) { f.awvalid = 1; }, [](Forged &f) { f.awaddr = 0; }},
      "AW: the payload changed");
}

TEST(rejects_unstable_data) {
  run(0, {offer_write, offer_beat, [](Forged &f) { f.wvalid = 0; }}, "W: valid fell");
  run(1, {offer_write, offer_beat, [](Forged &f) { f.wdata[63] = 1; }}, "W: the payload changed");
  run(2, {offer_write, offer_beat, [](Forged &f) { f.wstrb[7] = 1; }}, "W: the payload changed");
  run(3, {offer_write, offer_beat, [](Forged &f) { f.wlast = 1; }}, "W: the payload changed");
}

TEST(rejects_bad_bursts) {
  run(0, {[](Forged &f) { offer_read(f), f.araddr = 0xF80, f.arlen = 2; }},
      "AR: the burst crosses 4 KiB");
  run(1, {[](Forged &f) { offer_read(f), f.araddr = 0x1020; }},
      "AR: the address is not a multiple");
  run(2, {[](Forged &f) { offer_read(f), f.arsize = 3; }}, "AR: the size is not a full beat");
  run(3, {[](Forged &f) { offer_read(f), f.arburst = 0; }}, "AR: the burst is not INCR");
  run(4, {[](Forged &f) { f.awvalid = 1, f.awaddr = 0xFC0, f.awlen = 1; }},
      "AW: the burst crosses 4 KiB");
}

TEST(rejects_wrong_last) {
  run(0, {offer_write, [](Forged &f) { offer_beat(f), f.wready = 1, f.wlast = 1; }},
      "W: wlast is not where");
  run(1, {offer_write, [](Forged &f) { offer_beat(f), f.wready = 1; }, [](Forged &) {}},
      "W: wlast is not where");
}

TEST(rejects_foreign_ids) {
  run(0, {[](Forged &f) { offer_read(f), f.arid = 3; }}, "AR: the core has no such ID");
  run(1, {[](Forged &f) { f.awvalid = 1, f.awid = 2; }}, "AW: the core has no such ID");
}

TEST(rejects_long_bursts) {
  run(0, {[](Forged &f) { offer_read(f), f.arid = 0, f.arlen = 1; }}, "");
  run(1, {[](Forged &f) { offer_read(f), f.arid = 0, f.arlen = 2; }}, "AR: the burst is longer");
  run(2, {[](Forged &f) { f.awvalid = 1, f.awid = 0, f.awlen = 0; }}, "");  // 16 bytes, a beat
  run(3, {[](Forged &f) { f.awvalid = 1, f.awid = 0, f.awlen = 1; }}, "AW: the burst is longer");
}

TEST(rejects_too_many_in_flight) {
  const Step read = [](Forged &f) { f.arvalid = f.arready = 1, f.arid = 0, f.rvalid = 0; };
  const Step answer = [](Forged &f) { f.arvalid = 0, f.rvalid = 1, f.rid = 0; };
  const Step first_beat = [](Forged &f) { f.arvalid = 0, f.rvalid = 1, f.rid = f.rlast = 0; };
  const Step waits = [](Forged &f) { f.arvalid = 0, f.rvalid = 1, f.rid = f.rready = 0; };
  const Step other = [](Forged &f) { f.arvalid = 0, f.rvalid = 1, f.rid = 1; };
  run(0, {read, answer, read, answer}, "");
  run(1, {read, read}, "AR: more bursts of an ID");
  run(2, {read, first_beat, read}, "AR: more bursts of an ID");
  run(3, {read, waits, read}, "AR: more bursts of an ID");
  run(4, {read, other, read}, "AR: more bursts of an ID");

  const Step write = [](Forged &f) {
    f.awvalid = f.awready = f.wvalid = f.wready = 1, f.bvalid = 0;
  };
  const Step done = [](Forged &f) { f.awvalid = f.wvalid = 0, f.bvalid = 1; };
  const Step address = [](Forged &f) { f.awvalid = f.awready = f.bvalid = 1, f.wvalid = 0; };
  run(5, {write, write, done, write}, "");
  run(6, {write, write, write}, "AW: more bursts of an ID");
  run(7,
      {write, address, address, address, address, address, address, address, address, address,
       address, address, address, address, address, address, address, address, address},
      "");
  run(8, {write,   address, address, address, address, address, address, address, address, address,
          address, address, address, address, address, address, address, address, address, address},
      "AW: more bursts have begun");
}

TEST(rejects_bad_strobes) {
  static uint8_t id, length;
  const Step address = [](Forged &f) { f.awvalid = f.awready = 1, f.awid = id, f.awlen = length; };
  // A beat with strobes from byte `from` on, `bytes` of them.
  const auto beat = [](unsigned from, unsigned bytes, uint8_t last) -> Step {
    return [=](Forged &f) {
      f.awvalid = 0, f.wvalid = f.wready = 1, f.wlast = last;
      std::memset(f.wstrb, 0, sizeof f.wstrb);
      for (unsigned i = from; i < from + bytes; i++)
        f.wstrb[i / 8] = static_cast<uint8_t>(f.wstrb[i / 8] | 1 << i % 8);
    };
  };
  const Step hole = [](Forged &f) { f.wstrb[3] = 0; };
  id = 1, length = 1;
  run(0, {address, beat(62, 2, 0), beat(0, 2, 1)}, "");
  run(1, {address, beat(0, 64, 0), beat(0, 64, 1)}, "");
  run(2, {address, beat(0, 62, 0), beat(0, 2, 1)}, "the strobes of a burst have a gap");
  run(3, {address, beat(0, 64, 0), beat(2, 2, 1)}, "the strobes of a burst have a gap");
  run(4, {address, beat(0, 64, 0), beat(0, 3, 1)}, "inside an element");
  run(5, {address, beat(61, 3, 0), beat(0, 64, 1)}, "inside an element");
  run(6, {address, beat(0, 64, 0), beat(0, 0, 1)}, "no strobe of a beat is on");
  run(7, {address, beat(0, 0, 0), beat(0, 64, 1)}, "no strobe of a beat is on");
  id = 0, length = 0;
  run(8, {address, beat(48, 16, 1)}, "");
  run(9, {address, beat(40, 16, 1)}, "inside an element");
  run(10, {address, [&](Forged &f) { beat(0, 64, 1)(f), hole(f); }},
      "the strobes of a burst have a gap");

  // A soft reset allows beats without strobes for bursts that have begun.
  Forged forged;
  const ufp4::Pins pins = forged.pins();
  ufp4::Checker checker(pins, kBusBytes, limits());
  checker.soft_reset();
  id = length = 1;
  run_with(11, forged, checker, {address, beat(0, 64, 0), beat(0, 0, 1)}, "");
}

TEST(checker_passes_data_before_their_address) {
  const Step beat = [](Forged &f) { f.awvalid = 0, f.wvalid = f.wready = f.wlast = 1; };
  const Step first = [](Forged &f) { f.wvalid = f.wready = 1, f.wlast = 0; };
  const Step address = [](Forged &f) { f.awvalid = f.awready = 1, f.wvalid = 0; };
  run(0, {beat, beat, address, address}, "");
  run(1, {first, beat, [](Forged &f) { f.awlen = 1, f.awvalid = f.awready = 1, f.wvalid = 0; }},
      "");
  run(2, {first, [](Forged &f) { f.awlen = 1, f.awvalid = f.awready = 1, f.wvalid = 0; }, beat},
      "");
  run(3, {first, beat, address}, "W: wlast is not where");
  run(4, {beat, [](Forged &f) { f.awlen = 1, f.awvalid = f.awready = 1, f.wvalid = 0; }},
      "W: wlast is not where");
}

TEST(rejects_data_too_early) {
  const Step beat = [](Forged &f) { f.wvalid = f.wready = f.wlast = 1; };
  run(0, {beat, beat, beat}, "W: data of too many bursts");
}

TEST(checker_passes_register_accesses) {
  const Step quiet = [](Forged &f) {
    f.port_arvalid = f.port_awvalid = f.port_wvalid = f.port_rvalid = f.port_bvalid = 0;
  };
  const Step read = [](Forged &f) { f.port_arvalid = 1; };
  const Step read_waits = [](Forged &f) {
    f.port_arvalid = f.port_rready = 0, f.port_rvalid = 1, f.port_rdata = 7;
  };
  run_port(0, {read, read_waits, read_waits, [](Forged &f) { f.port_rready = 1; }, quiet}, "");
  const Step address = [](Forged &f) { f.port_awvalid = 1, f.port_wvalid = 0; };
  const Step data = [](Forged &f) { f.port_awvalid = 0, f.port_wvalid = 1; };
  const Step answer = [](Forged &f) { f.port_awvalid = f.port_wvalid = 0, f.port_bvalid = 1; };
  run_port(1, {address, data, answer, quiet, data, address, answer, quiet}, "");
  // The next write may be taken while an answer waits; a reset clears both.
  run_port(2,
           {address, data,
            [&](Forged &f) { answer(f), f.port_bready = 0, f.port_awvalid = f.port_wvalid = 1; }},
           "");
  run_port(3,
           {read, [&](Forged &f) { quiet(f), f.rst_n = 0; },
            [](Forged &f) { f.rst_n = f.port_arvalid = 1; }},
           "");
}

TEST(rejects_bad_register_answers) {
  const Step read = [](Forged &f) { f.port_arvalid = 1; };
  const Step waits = [](Forged &f) { f.port_arvalid = f.port_rready = 0, f.port_rvalid = 1; };
  run_port(0, {read, waits, [](Forged &f) { f.port_rvalid = 0; }},
           "R of the registers: valid fell");
  run_port(1, {read, waits, [](Forged &f) { f.port_rdata = 1; }},
           "R of the registers: the payload changed");
  run_port(2, {waits}, "R of the registers: an answer that nothing");
  run_port(3, {read, [](Forged &f) { f.port_arvalid = 0, f.port_rvalid = 1; }, [](Forged &) {}},
           "R of the registers: an answer");
  run_port(4, {read, read}, "AR of the registers: a second");
  const Step write = [](Forged &f) { f.port_awvalid = f.port_wvalid = 1; };
  const Step answer = [](Forged &f) {
    f.port_awvalid = f.port_wvalid = f.port_bready = 0, f.port_bvalid = 1;
  };
  run_port(5, {write, answer, [](Forged &f) { f.port_bvalid = 0; }},
           "B of the registers: valid fell");
  run_port(6, {[](Forged &f) { f.port_awvalid = 1; }, answer},
           "B of the registers: an answer that nothing");
  run_port(7, {[](Forged &f) { f.port_wvalid = 1; }, answer},
           "B of the registers: an answer that nothing");
  run_port(8, {[](Forged &f) { f.port_awvalid = 1; }, [](Forged &) {}, [](Forged &) {}},
           "AW of the registers: a third");
  run_port(9, {[](Forged &f) { f.port_wvalid = 1; }, [](Forged &) {}, [](Forged &) {}},
           "W of the registers: a third");
  run_port(10, {[](Forged &f) { f.rst_n = 0, f.port_rvalid = 1; }, [](Forged &) {}},
           "R of the registers: valid is high");
  run_port(11, {[](Forged &f) { f.rst_n = 0, f.port_bvalid = 1; }, [](Forged &) {}},
           "B of the registers: valid is high");
}

// docs/ip/interfaces.md, "How much is in flight", for four configurations: bursts and bytes of
// each ID.
TEST(limits_are_those_of_the_data_sheet) {
  static const struct {
    const char *name;
    ufp4::Limits limits;
  } sheets[] = {
      {"small",
       {{{{1, 128, 0}, {16, 2048, 0}, {32, 128, 0}, {64, 128, 0}}},
        {{{1, 16, 16}, {255, 128, 2}, {255, 128, 16}}}}},
      {"default",
       {{{{1, 128, 0}, {64, 2048, 0}, {32, 1024, 0}, {128, 128, 0}}},
        {{{1, 16, 16}, {255, 1024, 2}, {255, 128, 16}}}}},
      {"large",
       {{{{1, 128, 0}, {64, 2048, 0}, {32, 2048, 0}, {256, 256, 0}}},
        {{{1, 16, 16}, {255, 2048, 2}, {255, 512, 16}}}}},
      {"tiny",
       {{{{1, 128, 0}, {16, 1024, 0}, {32, 128, 0}, {}}}, {{{1, 16, 16}, {255, 128, 2}, {}}}}},
  };
  static const ufp4_configuration_t configurations[] = UFP4_CONFIGURATIONS;
  const auto same = [](const ufp4::IdLimits &a, const ufp4::IdLimits &b) {
    return a.bursts == b.bursts && a.bytes == b.bytes && a.grain == b.grain;
  };
  for (const auto &sheet : sheets) {
    bool found = false;
    for (const auto &c : configurations) {
      if (std::strcmp(c.name, sheet.name) != 0) continue;
      found = true;
      const ufp4::Limits limits = ufp4::limits_of(c);
      for (unsigned id = 0; id < limits.reads.size(); id++) {
        check_that(id, same(limits.reads[id], sheet.limits.reads[id]), "%s: %u reads of %u bytes",
                   c.name, limits.reads[id].bursts, limits.reads[id].bytes);
        check_that(id, same(limits.writes[id], sheet.limits.writes[id]),
                   "%s: %u writes of %u bytes", c.name, limits.writes[id].bursts,
                   limits.writes[id].bytes);
      }
    }
    check_that(&sheet - sheets, found, "no configuration has the name %s", sheet.name);
  }
}

}  // namespace
