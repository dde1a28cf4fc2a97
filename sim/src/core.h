// SPDX-License-Identifier: Apache-2.0
// An elaborated core, accessed through its pins. All other code in sim/ uses this interface, so a
// SystemC module, or another simulator, can replace CoreVerilated by providing the same pins.
#ifndef UFP4_SIM_CORE_H
#define UFP4_SIM_CORE_H

#include <cstdint>
#include <memory>

namespace ufp4 {

struct CoreSigns;

/** Pointers to the ports of ufp4_top; data buses are little-endian bytes. Inputs are written
 * between two calls of eval. */
struct Pins {
  uint8_t *clk, *rst_n;
  const uint8_t *irq;

  struct {
    uint8_t *awvalid, *wvalid, *bready, *arvalid, *rready, *wstrb;
    uint16_t *awaddr, *araddr;
    uint32_t *wdata;
    const uint8_t *awready, *wready, *bvalid, *arready, *rvalid;
    const uint32_t *rdata;
  } axil;

  struct {
    const uint8_t *arvalid, *arid, *arlen, *arsize, *arburst, *rready;
    const uint64_t *araddr, *awaddr;
    const uint8_t *awvalid, *awid, *awlen, *awsize, *awburst, *wvalid, *wlast, *wdata, *wstrb,
        *bready;
    uint8_t *arready, *rvalid, *rid, *rdata, *rresp, *rlast;
    uint8_t *awready, *wready, *bvalid, *bid, *bresp;
  } axi;
};

class Core {
 public:
  virtual ~Core() = default;
  /** Settles the core after a change of its pins. */
  virtual void eval() = 0;
  /** Returns whether an RTL assertion has failed; the model has printed which one. */
  virtual bool failed() const = 0;
  /** Starts a waveform file; returns false if it cannot be written. */
  virtual bool trace_open(const char *path) = 0;
  virtual void trace_close() = 0;
  /** Sets the model's time, and adds the present values to the waveform, if there is one. */
  virtual void trace_dump(uint64_t time) = 0;
  /** Reads values of the core's registers after it has settled. @return false if this model does
   * not expose them. */
  virtual bool look(CoreSigns &) const {
    return false;
  }

  Pins pins{};
  unsigned bus_bytes = 0;
};

/** Makes a core. @p seed 0: registers start at zero, otherwise at random. @return nullptr if there
 * is no such configuration. */
std::unique_ptr<Core> make_core(const char *configuration, uint64_t seed);
/** Returns whether there is such a configuration. */
bool has_core(const char *configuration);

}  // namespace ufp4

#endif
