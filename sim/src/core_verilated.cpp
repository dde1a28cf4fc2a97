// SPDX-License-Identifier: Apache-2.0
// A Core of one named configuration, compiled once for each: UFP4_MODEL is the name of its
// Verilated class, UFP4_MODEL_H and UFP4_MODEL_ROOT_H the headers that define it and its internal
// signals, and UFP4_MAKE_CORE the name of the function below.
#include <verilated.h>
#include <verilated_fst_c.h>

#include <memory>
#if UFP4_CORE_COVERAGE
#include <unistd.h>
#include <verilated_cov.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>
#endif

#include UFP4_MODEL_H
#include UFP4_MODEL_ROOT_H
#if UFP4_CORE_COVERAGE
#include UFP4_MODEL_SYMS_H
#endif
#include "core.h"
#include "timeline.h"

namespace ufp4 {
namespace {

[[maybe_unused]] constexpr int kTraceLevels = 99;

// A data port is a machine word or an array of them, depending on its width; on the supported hosts
// both are little-endian bytes.
template <typename T>
uint8_t *bytes(T &port) {
  return reinterpret_cast<uint8_t *>(&port);
}

// --- What trace.vlt makes public ----------------------------------------------------------------

// Each of these is defined twice: for a model that has the signals, and for any other. The names
// are Verilator's for ufp4_top.a.b.
#define INSIDE(name) (r.ufp4_top__DOT__##name)

template <typename Wide>
CoreSigns::Issue issue_of(uint8_t state, const Wide &descriptor) {
  return {state, static_cast<uint8_t>(descriptor[0] & 0xFF), descriptor[1]};
}

template <typename Root>
auto look_command(const Root &r, CoreSigns &s,
                  int) -> decltype(INSIDE(u_command__DOT__u_front__DOT__state_q), true) {
  s.front = INSIDE(u_command__DOT__u_front__DOT__state_q);
  s.retire = INSIDE(u_command__DOT__u_retire__DOT__state_q);
  s.gemm = issue_of(INSIDE(u_command__DOT__u_issue_gemm__DOT__state_q),
                    INSIDE(u_command__DOT__u_issue_gemm__DOT__desc_q));
  s.quant = issue_of(INSIDE(u_command__DOT__u_issue_quant__DOT__state_q),
                     INSIDE(u_command__DOT__u_issue_quant__DOT__desc_q));
  s.reads_pending = INSIDE(reads_pending);
  s.writes_pending = INSIDE(writes_pending);
  s.order_valid = INSIDE(u_axi_write__DOT__order_valid);
  s.w_client = INSIDE(u_axi_write__DOT__order_id);
  s.w_valid = INSIDE(u_axi_write__DOT__w_valid);
  s.w_ready = INSIDE(u_axi_write__DOT__w_ready);
  return true;
}
template <typename Root>
bool look_command(const Root &, CoreSigns &, long) {
  return false;
}

template <typename Root>
auto look_gemm(const Root &r, CoreSigns &s, int) -> decltype(INSIDE(u_gemm__DOT__held), true) {
  s.busy = INSIDE(busy);
  s.stall_operand = INSIDE(stall_operand);
  s.stall_panel = INSIDE(stall_panel);
  s.stall_accumulator = INSIDE(stall_accumulator);
  s.stall_drain = INSIDE(stall_drain);
  s.loading = INSIDE(u_gemm__DOT__loading);
  s.chunk = INSIDE(u_gemm__DOT__u_load__DOT__u_request__DOT__chunk_q);
  s.held = INSIDE(u_gemm__DOT__held);
  s.notes = INSIDE(u_gemm__DOT__u_load__DOT__u_write__DOT__note_valid);
  s.drain_idle = INSIDE(u_gemm__DOT__drain_idle);
  s.drain_active = INSIDE(u_gemm__DOT__u_drain__DOT__active_q);
  s.drain_open = INSIDE(u_gemm__DOT__u_drain__DOT__open_q);
  s.drain_enable = INSIDE(u_gemm__DOT__u_drain__DOT__enable);
  s.addends_here = INSIDE(u_gemm__DOT__u_drain__DOT__addends_here);
  s.request_here = INSIDE(u_gemm__DOT__u_drain__DOT__read_q) != 0 ||
                   INSIDE(u_gemm__DOT__u_drain__DOT__request_here);
  return true;
}
template <typename Root>
bool look_gemm(const Root &, CoreSigns &, long) {
  return false;
}

// A QUANT engine takes rows or pairs; some cores have none.
template <typename Root>
auto look_rows(const Root &r, CoreSigns &s,
               int) -> decltype(INSIDE(gen_quant__DOT__u_quant__DOT__gen_wide__DOT__row_valid),
                                void()) {
  s.row_valid = INSIDE(gen_quant__DOT__u_quant__DOT__gen_wide__DOT__row_valid);
  s.row_ready = INSIDE(gen_quant__DOT__u_quant__DOT__gen_wide__DOT__row_ready);
  s.arriving =
      INSIDE(gen_quant__DOT__u_quant__DOT__gen_wide__DOT__u_strip__DOT__u_arrival__DOT__active);
}
template <typename Root>
auto look_rows(const Root &r, CoreSigns &s,
               long) -> decltype(INSIDE(gen_quant__DOT__u_quant__DOT__gen_narrow__DOT__pair_valid),
                                 void()) {
  s.row_valid = INSIDE(gen_quant__DOT__u_quant__DOT__gen_narrow__DOT__pair_valid);
  s.row_ready = INSIDE(gen_quant__DOT__u_quant__DOT__gen_narrow__DOT__pair_ready);
  s.arriving =
      INSIDE(gen_quant__DOT__u_quant__DOT__gen_narrow__DOT__u_strip__DOT__u_arrival__DOT__active);
}

template <typename Root>
auto look_quant(const Root &r, CoreSigns &s,
                int) -> decltype(INSIDE(gen_quant__DOT__u_quant__DOT__state_q), void()) {
  s.quant_state = INSIDE(gen_quant__DOT__u_quant__DOT__state_q);
  look_rows(r, s, 0);
}
template <typename Root>
void look_quant(const Root &, CoreSigns &s, long) {
  s.quant_state = 0;
}

#undef INSIDE

#if UFP4_CORE_COVERAGE
// Sums of the coverage counters over all cores of this configuration in the process. Writing a file
// takes longer than many tests, so a single one is written when the process ends, in the folder
// named by the environment.
class Coverage {
 public:
  static Coverage &get() {
    static Coverage coverage;
    return coverage;
  }

  void add(UFP4_MODEL &model) {
    const auto &counts = model.rootp->vlSymsp->__Vcoverage;
    const std::lock_guard<std::mutex> lock(mutex_);
    sums_.resize(std::size(counts));
    for (size_t i = 0; i < sums_.size(); i++) sums_[i] += counts[i];
  }

  ~Coverage() {
    const char *folder = std::getenv("UFP4_RTL_COVERAGE");
    if (folder == nullptr || sums_.empty()) return;
    // Verilator writes the counters of a model; this one never ran.
    VerilatedContext context;
    UFP4_MODEL model(&context, "ufp4");
    auto &counts = model.rootp->vlSymsp->__Vcoverage;
    for (size_t i = 0; i < sums_.size(); i++) {
      counts[i] = static_cast<uint32_t>(std::min<uint64_t>(sums_[i], UINT32_MAX));
    }
    const std::string name =
        std::string(folder) + "/" + std::to_string(getpid()) + "-" + model.modelName();
    context.coveragep()->write((name + ".part").c_str());
    std::rename((name + ".part").c_str(), (name + ".dat").c_str());
  }

 private:
  std::mutex mutex_;
  std::vector<uint64_t> sums_;
};
#endif

class CoreVerilated final : public Core {
 public:
  explicit CoreVerilated(uint64_t seed) {
    context_.traceEverOn(true);
    context_.fatalOnError(false);
#if UFP4_CORE_COVERAGE
    // A register with a random initial value would count as changed.
    context_.randReset(0);
#else
    context_.randReset(seed ? 2 : 0);
#endif
    context_.randSeed(static_cast<int>(seed & 0x7FFFFFFF));
    model_ = std::make_unique<UFP4_MODEL>(&context_, "ufp4");
    bus_bytes = sizeof(model_->m_axi_rdata_i);
    connect_host();
    connect_memory();
  }

  ~CoreVerilated() override {
    enter();
    trace_close();
    model_->final();
#if UFP4_CORE_COVERAGE
    Coverage::get().add(*model_);
#endif
  }

  void eval() override {
    enter();
    model_->eval();
  }

  bool failed() const override {
    return context_.gotError();
  }

  bool trace_open(const char *path) override {
#if VM_TRACE
    trace_ = std::make_unique<VerilatedFstC>();
    model_->trace(trace_.get(), kTraceLevels);
    trace_->open(path);
    return trace_->isOpen();
#else
    (void)path;  // the build has no waveforms
    return false;
#endif
  }

  void trace_close() override {
    enter();
    if (trace_) trace_->close();
    trace_.reset();
  }

  void trace_dump(uint64_t time) override {
    context_.time(time);
    if (trace_) trace_->dump(time);
  }

  bool look(CoreSigns &s) const override {
    const auto &root = *model_->rootp;
    if (!look_command(root, s, 0) || !look_gemm(root, s, 0)) return false;
    look_quant(root, s, 0);
    s.r_valid = *pins.axi.rvalid;
    s.r_ready = *pins.axi.rready;
    s.r_client = *pins.axi.rid;
    return true;
  }

 private:
  // The messages of a model, and what it frees, go to the thread's context. Otherwise this would be
  // the context of the core created last, which may no longer exist.
  void enter() {
    Verilated::threadContextp(&context_);
  }

  void connect_host() {
    UFP4_MODEL &m = *model_;
    pins.clk = &m.clk_i;
    pins.rst_n = &m.rst_ni;
    pins.irq = &m.irq_o;
    pins.axil.awvalid = &m.s_axil_awvalid_i;
    pins.axil.awready = &m.s_axil_awready_o;
    pins.axil.awaddr = &m.s_axil_awaddr_i;
    pins.axil.wvalid = &m.s_axil_wvalid_i;
    pins.axil.wready = &m.s_axil_wready_o;
    pins.axil.wdata = &m.s_axil_wdata_i;
    pins.axil.wstrb = &m.s_axil_wstrb_i;
    pins.axil.bvalid = &m.s_axil_bvalid_o;
    pins.axil.bready = &m.s_axil_bready_i;
    pins.axil.arvalid = &m.s_axil_arvalid_i;
    pins.axil.arready = &m.s_axil_arready_o;
    pins.axil.araddr = &m.s_axil_araddr_i;
    pins.axil.rvalid = &m.s_axil_rvalid_o;
    pins.axil.rready = &m.s_axil_rready_i;
    pins.axil.rdata = &m.s_axil_rdata_o;
  }

  void connect_memory() {
    UFP4_MODEL &m = *model_;
    pins.axi.arvalid = &m.m_axi_arvalid_o;
    pins.axi.arready = &m.m_axi_arready_i;
    pins.axi.arid = &m.m_axi_arid_o;
    pins.axi.araddr = &m.m_axi_araddr_o;
    pins.axi.arlen = &m.m_axi_arlen_o;
    pins.axi.arsize = &m.m_axi_arsize_o;
    pins.axi.arburst = &m.m_axi_arburst_o;
    pins.axi.rvalid = &m.m_axi_rvalid_i;
    pins.axi.rready = &m.m_axi_rready_o;
    pins.axi.rid = &m.m_axi_rid_i;
    pins.axi.rdata = bytes(m.m_axi_rdata_i);
    pins.axi.rresp = &m.m_axi_rresp_i;
    pins.axi.rlast = &m.m_axi_rlast_i;
    pins.axi.awvalid = &m.m_axi_awvalid_o;
    pins.axi.awready = &m.m_axi_awready_i;
    pins.axi.awid = &m.m_axi_awid_o;
    pins.axi.awaddr = &m.m_axi_awaddr_o;
    pins.axi.awlen = &m.m_axi_awlen_o;
    pins.axi.awsize = &m.m_axi_awsize_o;
    pins.axi.awburst = &m.m_axi_awburst_o;
    pins.axi.wvalid = &m.m_axi_wvalid_o;
    pins.axi.wready = &m.m_axi_wready_i;
    pins.axi.wdata = bytes(m.m_axi_wdata_o);
    pins.axi.wstrb = bytes(m.m_axi_wstrb_o);
    pins.axi.wlast = &m.m_axi_wlast_o;
    pins.axi.bvalid = &m.m_axi_bvalid_i;
    pins.axi.bready = &m.m_axi_bready_o;
    pins.axi.bid = &m.m_axi_bid_i;
    pins.axi.bresp = &m.m_axi_bresp_i;
  }

  VerilatedContext context_;
  std::unique_ptr<UFP4_MODEL> model_;
  std::unique_ptr<VerilatedFstC> trace_;
};

}  // namespace

std::unique_ptr<Core> UFP4_MAKE_CORE(uint64_t seed) {
  return std::make_unique<CoreVerilated>(seed);
}

}  // namespace ufp4
