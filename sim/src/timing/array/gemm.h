// SPDX-License-Identifier: Apache-2.0
// The GEMM engine: mirrors ufp4_gemm.
#ifndef UFP4_TIMING_GEMM_H
#define UFP4_TIMING_GEMM_H

#include <cstdint>

#include "timing/array/addend.h"
#include "timing/array/drain.h"
#include "timing/array/load.h"
#include "timing/array/sequencer.h"
#include "timing/mem/width.h"

namespace ufp4::timing {

class Gemm {
 public:
  /** External signals of a cycle; signals of the masters are those for this engine's clients. */
  struct Input {
    bool start = false;  // offered job
    uint32_t panels_held = 0, panels = 0;
    bool load_ready = false, load_valid = false;
    bool addend_ready = false, addend_valid = false;
    bool write_ready = false, write_dat_ready = false, write_idle = false;
    bool read_error = false, write_error = false;  // with the present beat, with a response
  };
  /** Signals of a cycle, which step() computes. */
  struct State {
    bool done = false, busy = false;
    bool stall_operand = false, stall_panel = false, stall_accumulator = false, stall_drain = false;
    bool end_chunk = false;

    void show(CoreSigns &signs) const {
      signs.busy = busy;
      signs.stall_operand = stall_operand;
      signs.stall_panel = stall_panel;
      signs.stall_accumulator = stall_accumulator;
      signs.stall_drain = stall_drain;
    }
    bool at_work() const {
      return busy || stall_operand || stall_panel || stall_accumulator || stall_drain;
    }
  };

  explicit Gemm(const Shape &shape);

  bool active() const {
    return active_;
  }
  /** Returns the status of the finished job. */
  uint16_t status() const {
    return errors_.status();
  }
  // The requests of the clients, which depend only on registers.
  bool load_valid(uint32_t panels_held, uint32_t panels) const {
    return load_width_.can_ask() && request_.valid() && !write_.full() &&
           !request_.held(panels_held, panels) && (waits_ || !(fed_ && addend_valid()));
  }
  Request load_request(const ufp4_gemm_descriptor_t &desc) const {
    return load_width_.request(request_.request(desc));
  }
  bool load_bus_ready() const {
    return load_width_.bus_ready();
  }
  bool addend_valid() const {
    return addend_.valid();
  }
  Request addend_request() const {
    return addend_.request();
  }
  bool addend_bus_ready() const {
    return addend_.bus_ready();
  }
  bool write_valid() const {
    return width_.valid(drain_.req_valid());
  }
  Request write_request() const {
    return width_.request(drain_.request());
  }
  bool write_dat_valid() const {
    return width_.dat_valid(drain_.dat_valid());
  }
  const LoadRequest &loader() const {
    return request_;
  }
  /** Writes to @p signs what the cycle shows besides its State. */
  void look(bool write_ready, bool write_dat_ready, uint32_t panels_held, uint32_t panels,
            CoreSigns &signs) const;
  void reset();
  /** Simulates a cycle at @p now of the job @p desc. @p state receives its signals. */
  void step(const ufp4_gemm_descriptor_t &desc, const Input &in, uint64_t now, State &state);

  void add(const Shape &shape, Accesses *all) const {
    write_.add(shape, all);
    sequencer_.add(all);
    drain_.add(all);
    addend_.add(all);
  }

  template <typename Visitor>
  void visit(Visitor &v) {
    v.tiles = sequencer_.tiles();
    v.exact(active_ | quiet_ << 1 | fed_ << 2 | waits_ << 3 | errors_.bits() << 4);
    request_.visit(v);
    load_width_.visit(v);
    write_.visit(v);
    sequencer_.visit(v);
    drain_.visit(v);
    addend_.visit(v);
    width_.visit(v);
  }

 private:
  inline void evaluate(const Input &in, const Sequencer::State &feed, State &state) const;
  void start(const ufp4_gemm_descriptor_t &desc);

  LoadRequest request_;
  WidthRead load_width_;
  LoadWrite write_;
  Sequencer sequencer_;
  Drain drain_;
  Addend addend_;
  WidthWrite width_;
  BusErrors errors_;
  bool active_ = false, quiet_ = false;
  bool fed_ = false;    // the first chunk was fed; from then on addends go before operands
  bool waits_ = false;  // an operand request waits, and then is not withdrawn
};

}  // namespace ufp4::timing

#endif
