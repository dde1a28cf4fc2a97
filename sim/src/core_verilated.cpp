// SPDX-License-Identifier: Apache-2.0
// A Core of one named configuration; compiled once for each, with UFP4_MODEL the name of its
// Verilated class, UFP4_MODEL_H the header that defines it, and UFP4_MAKE_CORE the name of the
// function below.
#include <verilated.h>
#include <verilated_fst_c.h>

#include <memory>
#if UFP4_CORE_COVERAGE
#include <unistd.h>
#include <verilated_cov.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#endif

#include UFP4_MODEL_H
#include "core.h"

namespace ufp4 {
namespace {

constexpr int kTraceLevels = 99;

// A data port is a machine word or an array of them, by its width; both are little-endian bytes on
// the hosts we build for.
template <typename T>
uint8_t *bytes(T &port) {
  return reinterpret_cast<uint8_t *>(&port);
}

class CoreVerilated final : public Core {
 public:
  explicit CoreVerilated(uint64_t seed) {
    context_.traceEverOn(true);
    context_.fatalOnError(false);
#if UFP4_CORE_COVERAGE
    // A register that starts at random would count as one that has changed.
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
    write_coverage();
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
    trace_ = std::make_unique<VerilatedFstC>();
    model_->trace(trace_.get(), kTraceLevels);
    trace_->open(path);
    return trace_->isOpen();
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

 private:
#if UFP4_CORE_COVERAGE
  // One file a core, in the folder that the environment names. Each configuration is counted by
  // itself.
  void write_coverage() {
    static std::atomic<int> count;
    const char *folder = std::getenv("UFP4_RTL_COVERAGE");
    if (folder == nullptr) return;
    const std::string name = std::string(folder) + "/" + std::to_string(getpid()) + "-" +
                             model_->modelName() + "-" + std::to_string(count++);
    context_.coveragep()->write((name + ".part").c_str());
    std::rename((name + ".part").c_str(), (name + ".dat").c_str());
  }
#endif

  // What a model says and frees goes to the context of the thread, which is otherwise that of the
  // core made last, if that is still there.
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
