// SPDX-License-Identifier: Apache-2.0
// The assertions of rtl/sva on forged pins: they are silent about legal traffic, and a broken rule
// is reported by its own assertion and no other.
#include <fcntl.h>
#include <unistd.h>
#include <verilated.h>

#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "Vrules.h"

extern "C" {
#include "check.h"
}

namespace {

using Step = std::function<void(Vrules &)>;
using Steps = std::vector<Step>;

struct Case {
  const char *rule;  // empty: none
  Steps steps;
};

// --- The pins under our hand --------------------------------------------------------------------

void nothing(Vrules &v) {
  v.rst_ni = 1;
  v.m_axi_arvalid_o = v.m_axi_awvalid_o = v.m_axi_wvalid_o = v.m_axi_rvalid_i = v.m_axi_bvalid_i =
      0;
  v.s_axil_arvalid_i = v.s_axil_awvalid_i = v.s_axil_wvalid_i = v.s_axil_rvalid_o =
      v.s_axil_bvalid_o = 0;
  v.m_axi_arready_i = v.m_axi_awready_i = v.m_axi_wready_i = v.m_axi_rready_o = v.m_axi_bready_o =
      1;
  v.s_axil_arready_o = v.s_axil_awready_o = v.s_axil_wready_o = v.s_axil_rready_i =
      v.s_axil_bready_i = 1;
}

void start(Vrules &v) {
  nothing(v);
  v.irq_o = 0;
  v.m_axi_arid_o = v.m_axi_awid_o = v.m_axi_rid_i = v.m_axi_bid_i = 1;
  v.m_axi_araddr_o = v.m_axi_awaddr_o = 0x1000;
  v.m_axi_arlen_o = v.m_axi_awlen_o = 0;
  v.m_axi_arsize_o = v.m_axi_awsize_o = 3;
  v.m_axi_arburst_o = v.m_axi_awburst_o = 1;
  v.m_axi_wstrb_o = 0xFF;
  v.m_axi_wlast_o = v.m_axi_rlast_i = 1;
  v.m_axi_wdata_o = v.m_axi_rdata_i = 0;
  v.m_axi_rresp_i = v.m_axi_bresp_i = v.s_axil_rresp_o = v.s_axil_bresp_o = 0;
  v.s_axil_awaddr_i = v.s_axil_araddr_i = 0;
  v.s_axil_wdata_i = v.s_axil_rdata_o = 0;
  v.s_axil_wstrb_i = 0xF;
}

void cycle(Vrules &v) {
  v.clk_i = 0;
  v.eval();
  v.clk_i = 1;
  v.eval();
}

// Collects Verilator's output during its lifetime, which reports failed assertions.
class Printed {
 public:
  Printed() : file_(std::tmpfile()) {
    std::fflush(stdout);
    kept_ = dup(STDOUT_FILENO);
    dup2(fileno(file_), STDOUT_FILENO);
  }
  ~Printed() {
    std::fclose(file_);
  }
  std::string end() {
    std::fflush(stdout);
    dup2(kept_, STDOUT_FILENO);
    close(kept_);
    std::string text(4096, '\0');
    std::rewind(file_);
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }

 private:
  std::FILE *file_;
  int kept_ = -1;
};

// Returns the assertions that fail in these steps; each step is one cycle, and a valid lasts one
// step.
std::set<std::string> broken_by(const Steps &steps) {
  VerilatedContext context;
  context.fatalOnError(false);
  Vrules v(&context, "pins");
  start(v);
  v.rst_ni = 0;
  for (unsigned i = 0; i < 8; i++) cycle(v);
  nothing(v);
  cycle(v);
  Printed printed;
  for (const Step &step : steps) {
    nothing(v);
    step(v);
    cycle(v);
  }
  const std::string text = printed.end();
  std::set<std::string> names;
  static const std::regex failed(
      "Assertion failed in [A-Za-z0-9_.]*\\.([a-z0-9_]+): ufp4 bus rule: ");
  for (std::sregex_iterator i(text.begin(), text.end(), failed), end; i != end; ++i)
    names.insert((*i)[1]);
  return names;
}

void check_cases(const std::vector<Case> &cases) {
  for (size_t i = 0; i < cases.size(); i++) {
    std::string got;
    for (const std::string &name : broken_by(cases[i].steps))
      got += (got.empty() ? "" : " ") + name;
    check_that(static_cast<int64_t>(i), got == cases[i].rule, "broken is '%s', not '%s'",
               got.c_str(), cases[i].rule);
  }
}

// --- Steps --------------------------------------------------------------------------------------

#define DO(...) [](Vrules &v) { __VA_ARGS__; }

const Step idle = DO((void)v);
const Step ar = DO(v.m_axi_arvalid_o = 1);
const Step ar_held = DO(v.m_axi_arvalid_o = 1, v.m_axi_arready_i = 0);
const Step aw = DO(v.m_axi_awvalid_o = 1);
const Step aw_held = DO(v.m_axi_awvalid_o = 1, v.m_axi_awready_i = 0);
const Step w = DO(v.m_axi_wvalid_o = v.m_axi_wlast_o = 1);
const Step w_first = DO(v.m_axi_wvalid_o = 1, v.m_axi_wlast_o = 0);
const Step w_held = DO(v.m_axi_wvalid_o = v.m_axi_wlast_o = 1, v.m_axi_wready_i = 0);
const Step aw_w = DO(v.m_axi_awvalid_o = v.m_axi_wvalid_o = v.m_axi_wlast_o = 1);
const Step r = DO(v.m_axi_rvalid_i = v.m_axi_rlast_i = 1);
const Step r_held = DO(v.m_axi_rvalid_i = v.m_axi_rlast_i = 1, v.m_axi_rready_o = 0);
const Step b = DO(v.m_axi_bvalid_i = 1);
const Step b_held = DO(v.m_axi_bvalid_i = 1, v.m_axi_bready_o = 0);
const Step reset = DO(v.rst_ni = 0);
const Step port_ar = DO(v.s_axil_arvalid_i = 1);
const Step port_r = DO(v.s_axil_rvalid_o = 1);
const Step port_r_held = DO(v.s_axil_rvalid_o = 1, v.s_axil_rready_i = 0);
const Step port_aw = DO(v.s_axil_awvalid_i = 1);
const Step port_w = DO(v.s_axil_wvalid_i = 1);
const Step port_write = DO(v.s_axil_awvalid_i = v.s_axil_wvalid_i = 1);
const Step port_b = DO(v.s_axil_bvalid_o = 1);
const Step port_b_held = DO(v.s_axil_bvalid_o = 1, v.s_axil_bready_i = 0);

Step and_then(const Step &first, const Step &then) {
  return [=](Vrules &v) { first(v), then(v); };
}
Step two_beats(const Step &address) {
  return and_then(address, DO(v.m_axi_arlen_o = v.m_axi_awlen_o = 1));
}
Step strobes(const Step &beat, uint8_t which) {
  return [=](Vrules &v) { beat(v), v.m_axi_wstrb_o = which; };
}
Step write_of(uint16_t offset, uint32_t value) {
  return [=](Vrules &v) {
    port_write(v);
    v.s_axil_awaddr_i = offset;
    v.s_axil_wdata_i = value;
  };
}
Steps times(unsigned count, const Step &step, Steps before = {}) {
  before.insert(before.end(), count, step);
  return before;
}

constexpr uint16_t kControl = 0x20, kIrqStatus = 0x28, kIrqMask = 0x2C;
const Step irq_rises = DO(v.irq_o = 1);
const Step irq_falls = DO(v.irq_o = 0);

// --- Rules, each broken; a core without QUANT on a bus of 8 bytes, with 128 bytes of sums a row --

const std::vector<Case> &faults() {
  static const std::vector<Case> cases = {
      {"reset_is_quiet", {reset, and_then(reset, ar)}},
      {"reset_is_quiet", {reset, and_then(reset, aw)}},
      {"reset_is_quiet", {reset, and_then(reset, w)}},
      {"reset_is_quiet", {reset, and_then(reset, port_r)}},
      {"reset_is_quiet", {reset, and_then(reset, port_b)}},
      {"reset_is_quiet", {reset, and_then(reset, irq_rises)}},
      {"memory_reset_is_quiet", {reset, and_then(reset, r)}},
      {"memory_reset_is_quiet", {reset, and_then(reset, b)}},

      {"ar_waits", {ar_held, idle}},
      {"ar_waits", {ar_held, and_then(ar, DO(v.m_axi_araddr_o += 8))}},
      {"ar_waits", {ar_held, and_then(ar, DO(v.m_axi_arid_o = 2))}},
      {"ar_waits", {ar_held, two_beats(ar)}},
      {"ar_full_beats", {and_then(ar, DO(v.m_axi_arsize_o = 2))}},
      {"ar_incr", {and_then(ar, DO(v.m_axi_arburst_o = 2))}},
      {"ar_aligned", {and_then(ar, DO(v.m_axi_araddr_o = 0x1004))}},
      {"ar_4k", {and_then(two_beats(ar), DO(v.m_axi_araddr_o = 0x1FF8))}},
      {"ar_id", {and_then(ar_held, DO(v.m_axi_arid_o = 3))}},
      {"ar_length", {and_then(ar, DO(v.m_axi_arid_o = 0, v.m_axi_arlen_o = 16))}},
      {"ar_length", {and_then(ar, DO(v.m_axi_arid_o = 2, v.m_axi_arlen_o = 16))}},
      {"ar_in_flight", {and_then(ar, DO(v.m_axi_arid_o = 0)), ar}},
      {"ar_in_flight", times(17, ar)},
      {"r_taken", times(33, r_held, {ar})},

      {"aw_waits", {aw_held, idle}},
      {"aw_waits", {aw_held, and_then(aw, DO(v.m_axi_awaddr_o += 8))}},
      {"aw_full_beats", {and_then(aw, DO(v.m_axi_awsize_o = 4))}},
      {"aw_incr", {and_then(aw, DO(v.m_axi_awburst_o = 0))}},
      {"aw_aligned", {and_then(aw, DO(v.m_axi_awaddr_o = 0x1001))}},
      {"aw_4k", {and_then(two_beats(aw), DO(v.m_axi_awaddr_o = 0xFF8))}},
      {"aw_id", {and_then(aw_held, DO(v.m_axi_awid_o = 2))}},
      {"aw_length", {and_then(aw, DO(v.m_axi_awid_o = 0, v.m_axi_awlen_o = 2))}},
      {"aw_length", {and_then(aw, DO(v.m_axi_awlen_o = 16))}},
      {"aw_in_flight", {and_then(aw_w, DO(v.m_axi_awid_o = 0)), aw}},
      {"aw_in_flight", times(256, aw_w)},
      {"aw_begun", times(19, aw)},

      {"w_waits", {aw, w_held, idle}},
      {"w_waits", {aw, w_held, and_then(w, DO(v.m_axi_wdata_o = 1))}},
      {"w_waits", {aw, w_held, strobes(w, 0x3F)}},
      {"w_waits", {two_beats(aw), w_held, w_first, w}},
      {"w_last", {two_beats(aw), w}},
      {"w_last", {aw, w_first}},
      {"w_last", {w_first, w, aw}},
      {"w_last", {w, two_beats(aw)}},
      {"w_early", times(3, w)},
      {"w_one_run", {aw, strobes(w, 0x33)}},
      {"w_one_run", {two_beats(aw), strobes(w_first, 0x0F), strobes(w, 0x0F)}},
      {"w_grain", {aw, strobes(w, 0xFE)}},
      {"w_grain",
       {two_beats(and_then(aw, DO(v.m_axi_awid_o = 0))), strobes(w_first, 0xF0), strobes(w, 0xFF)}},
      {"w_some_strobe", {two_beats(aw), strobes(w_first, 0xFF), strobes(w, 0)}},
      {"w_some_strobe", {two_beats(aw), strobes(w_first, 0), strobes(w, 0xFF)}},

      {"r_waits", {ar, r_held, idle}},
      {"r_waits", {ar, r_held, and_then(r, DO(v.m_axi_rdata_i = 1))}},
      {"r_waits", {ar, r_held, and_then(r, DO(v.m_axi_rresp_i = 2))}},
      {"r_asked", {r}},
      {"r_asked", {ar, and_then(r, DO(v.m_axi_rid_i = 2))}},
      {"r_asked", {ar, r, r}},
      {"r_last", {two_beats(ar), r}},
      {"r_last", {ar, and_then(r, DO(v.m_axi_rlast_i = 0))}},
      {"r_last",
       {two_beats(ar), ar, and_then(r, DO(v.m_axi_rlast_i = 0)), r, r,
        and_then(ar, DO(v.m_axi_arlen_o = 2)), r}},
      {"b_waits", {aw_w, b_held, idle}},
      {"b_waits", {aw_w, b_held, and_then(b, DO(v.m_axi_bresp_i = 2))}},
      {"b_asked", {aw, b}},
      {"b_asked", {w, b}},
      {"b_asked", {aw_w, b, b}},

      {"s_r_waits", {port_ar, port_r_held, idle}},
      {"s_r_waits", {port_ar, port_r_held, and_then(port_r, DO(v.s_axil_rdata_o = 1))}},
      {"s_b_waits", {port_write, port_b_held, idle}},
      {"s_r_okay", {port_ar, and_then(port_r, DO(v.s_axil_rresp_o = 2))}},
      {"s_b_okay", {port_write, and_then(port_b, DO(v.s_axil_bresp_o = 3))}},
      {"s_r_asked", {port_r}},
      {"s_r_asked", {port_ar, port_r, port_r}},
      {"s_b_asked", {port_aw, port_b}},
      {"s_b_asked", {port_w, port_b}},
      {"s_b_asked", {port_write, port_b, port_b}},
      {"s_ar_one", {port_ar, port_ar}},
      {"s_aw_two", times(3, port_aw)},
      {"s_w_two", times(3, port_w)},
      {"s_ar_waits", {and_then(port_ar, DO(v.s_axil_arready_o = 0)), idle}},
      {"s_ar_waits",
       {and_then(port_ar, DO(v.s_axil_arready_o = 0)),
        and_then(port_ar, DO(v.s_axil_araddr_i = 4))}},
      {"s_aw_waits", {and_then(port_aw, DO(v.s_axil_awready_o = 0)), idle}},
      {"s_w_waits", {and_then(port_w, DO(v.s_axil_wready_o = 0)), idle}},
      {"s_w_waits",
       {and_then(port_w, DO(v.s_axil_wready_o = 0)), and_then(port_w, DO(v.s_axil_wstrb_i = 1))}},

      {"irq_unmasked", {irq_rises}},
      {"irq_unmasked", {write_of(kIrqMask, 1), port_b, irq_rises, write_of(kIrqMask, 0), port_b}},
      {"irq_falls", {write_of(kIrqMask, 1), port_b, irq_rises, irq_falls}},
      {"irq_falls",
       {write_of(kControl, 4), port_b, write_of(kIrqMask, 1), port_b, irq_rises, irq_falls}},
      {"irq_falls",
       {write_of(kIrqMask, 1), port_b, irq_rises, write_of(kControl, 1),
        and_then(port_b, irq_falls)}},
  };
  return cases;
}

TEST(each_fault_breaks_its_rule_and_no_other) {
  check_cases(faults());
}

// Every label of an assertion in the source is broken by a case above.
TEST(each_rule_has_a_fault) {
  std::set<std::string> broken, named;
  for (const Case &fault : faults()) broken.insert(fault.rule);
  std::ifstream source(UFP4_AXI_SVA);
  static const std::regex label("^ *(?:`UFP4_RULE\\((\\w+),|(\\w+): assert property \\(@)");
  for (std::string line; std::getline(source, line);) {
    std::smatch found;
    if (std::regex_search(line, found, label) && found[1] != "NAME" && found[2] != "NAME")
      named.insert(found[1].matched ? found[1] : found[2]);
  }
  check_that(0, named.size() > 40, "the source has %zu rules", named.size());
  for (const std::string &name : named)
    check_that(1, broken.count(name) == 1, "no fault breaks %s", name.c_str());
  for (const std::string &name : broken)
    check_that(2, named.count(name) == 1, "there is no rule %s", name.c_str());
}

TEST(legal_traffic_breaks_no_rule) {
  const Step id0 = DO(v.m_axi_arid_o = v.m_axi_awid_o = v.m_axi_rid_i = v.m_axi_bid_i = 0);
  check_cases({
      {"", {ar_held, ar_held, ar, r_held, r}},
      {"",
       {and_then(two_beats(ar), DO(v.m_axi_araddr_o = 0xFF0)), and_then(r, DO(v.m_axi_rlast_i = 0)),
        idle, r}},
      {"", times(16, ar)},
      {"", times(32, r_held, {ar})},
      {"", {and_then(ar, id0), r, ar, r}},
      {"", {two_beats(aw), w_first, w, b_held, b}},
      {"", times(18, aw)},
      {"", times(255, aw_w)},
      // Data come before their address.
      {"", {w, w, aw, aw, b, b}},
      {"", {w_first, two_beats(aw), w, b}},
      {"", {w_first, w, two_beats(aw), b}},
      // Strobes: from an element on, to an element; a whole completion.
      {"", {two_beats(aw), strobes(w_first, 0xC0), strobes(w, 0x03)}},
      {"", {aw, strobes(w, 0x3C)}},
      {"", {and_then(two_beats(aw), id0), w_first, w}},
      // After a soft reset beats without strobes end the started bursts, and the interrupt is
      // cleared.
      {"", {write_of(kControl, 4), port_b, two_beats(aw), strobes(w_first, 0xFF), strobes(w, 0)}},
      {"",
       {write_of(kIrqMask, 7), port_b, irq_rises, write_of(kControl, 4), port_b, idle, irq_falls}},
      // The register port.
      {"", {port_ar, port_r_held, port_r, port_ar, port_r}},
      {"", {port_aw, port_w, port_b_held, and_then(port_b_held, port_write), port_b, port_b}},
      {"", {port_w, port_w, port_aw, port_b, port_aw, port_b}},
      {"",
       {write_of(kIrqMask, 1), port_b, irq_rises, write_of(kIrqStatus, 1),
        and_then(port_b, irq_falls)}},
      {"",
       {write_of(kIrqMask, 1), port_b, irq_rises, write_of(kIrqMask, 0),
        and_then(port_b, irq_falls)}},
      // A reset clears the state of the rules, and before its first edge any level is allowed.
      {"", {ar_held, reset, reset, ar, r}},
      {"", {two_beats(aw), w_first, reset, reset, and_then(aw, DO(v.m_axi_awlen_o = 0)), w, b}},
      {"", {port_ar, reset, reset, port_ar, port_r}},
      {"", {and_then(reset, and_then(ar, DO(v.m_axi_arburst_o = 3))), reset}},
  });
}

}  // namespace
