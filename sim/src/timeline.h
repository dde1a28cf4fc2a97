// SPDX-License-Identifier: Apache-2.0
// Converts values of a core's registers in each cycle to the events of a timeline
// (ufp4_timeline.h). The same rules serve the Verilated core (core_verilated.cpp), whose registers
// trace.vlt makes public, and the timed model (timing/core.cpp).
#ifndef UFP4_SIM_TIMELINE_H
#define UFP4_SIM_TIMELINE_H

#include <cstdint>

#include "ufp4/spec.h"
#include "ufp4_timeline.h"

namespace ufp4 {

/** The signals of a cycle, with the RTL's names and state numbers. */
struct CoreSigns {
  struct Issue {
    uint8_t state, opcode;
    uint32_t job;
  };
  uint8_t front, retire;
  Issue gemm, quant;
  // ufp4_gemm and its loader.
  bool busy, stall_operand, stall_panel, stall_accumulator, stall_drain;
  bool loading, chunk, held, notes;
  // ufp4_drain.
  bool drain_idle, drain_active, drain_open, drain_enable, addends_here, request_here;
  // ufp4_quant: whether its source delivers a row or a pair, and whether more will arrive.
  uint8_t quant_state;
  bool row_valid, row_ready, arriving;
  // The bus and its masters, and the client of a beat.
  bool r_valid, r_ready, reads_pending, order_valid, w_valid, w_ready, writes_pending;
  uint8_t r_client, w_client;
};

class Timeline {
 public:
  /** Starts a timeline, unless @p sink is NULL. */
  explicit Timeline(const ufp4_timeline_sink_t *sink) : sink_(sink ? *sink : off()) {}
  /** A copy of a core has no timeline. */
  Timeline(const Timeline &) {}
  Timeline &operator=(const Timeline &) = delete;

  bool on() const {
    return sink_.event != nullptr;
  }
  /** Called in each cycle while on(). */
  void sample(uint64_t cycle, const CoreSigns &s) {
    const uint8_t at[UFP4_TRACK_COUNT] = {command(s), quant(s), load(s), array(s),
                                          drain(s),   read(s),  write(s)};
    for (uint8_t track = 0; track < UFP4_TRACK_COUNT && on(); track++) {
      const uint32_t job = job_of(track, s);
      const Open &open = open_[track];
      if (at[track] == open.at && job == open.job) continue;
      if (close(track, cycle)) return end(cycle);
      open_[track] = {cycle, job, at[track]};
    }
  }
  /** Ends the activities under way before @p cycle, as a reset does. */
  void cut(uint64_t cycle) {
    bool full = false;
    for (uint8_t track = 0; track < UFP4_TRACK_COUNT; track++) full |= close(track, cycle);
    if (full) sink_ = off();
  }
  /** Ends the activities under way before @p cycle, and the timeline. */
  void end(uint64_t cycle) {
    cut(cycle);
    sink_ = off();
  }

 private:
  struct Open {
    uint64_t begin;
    uint32_t job;
    uint8_t at;
  };
  static constexpr ufp4_timeline_sink_t off() {
    return {nullptr, nullptr};
  }
  static uint8_t command(const CoreSigns &s);
  static uint8_t quant(const CoreSigns &s);
  static uint8_t load(const CoreSigns &s);
  static uint8_t array(const CoreSigns &s);
  static uint8_t drain(const CoreSigns &s);
  static uint8_t read(const CoreSigns &s);
  static uint8_t write(const CoreSigns &s);
  static uint32_t job_of(uint8_t track, const CoreSigns &s) {
    const bool gemm =
        track == UFP4_TRACK_LOAD || track == UFP4_TRACK_ARRAY || track == UFP4_TRACK_DRAIN;
    return gemm ? s.gemm.job : track == UFP4_TRACK_QUANT ? s.quant.job : 0;
  }
  /** Ends the activity of a track. @return whether the sink has ended the timeline. */
  bool close(uint8_t track, uint64_t cycle) {
    const Open open = open_[track];
    open_[track] = {};
    if (!on() || open.at == UFP4_AT_NONE || open.begin == cycle) return false;
    const ufp4_timeline_event_t event{open.begin, cycle, open.job, track, open.at};
    return sink_.event(sink_.user, &event) != 0;
  }

  ufp4_timeline_sink_t sink_{};
  Open open_[UFP4_TRACK_COUNT] = {};
};

// State_e of ufp4_front, ufp4_retire, ufp4_issue, ufp4_quant.
enum { kFrontRequest = 1, kFrontFetch, kFrontCheck, kFrontOffer };
enum { kIssueWait = 1 };
enum { kQuantIdle, kQuantSetup, kQuantStart, kQuantRun, kQuantSettle, kQuantDrain };

inline uint8_t Timeline::command(const CoreSigns &s) {
  if (s.retire != 0) return UFP4_AT_COMPLETE;
  switch (s.front) {
    case kFrontRequest:
    case kFrontFetch:
      return UFP4_AT_FETCH;
    case kFrontCheck:
      return UFP4_AT_CHECK;
    case kFrontOffer:
      return UFP4_AT_OFFER;
    default:
      return UFP4_AT_NONE;
  }
}

inline uint8_t Timeline::quant(const CoreSigns &s) {
  switch (s.quant_state) {
    case kQuantSetup:
    case kQuantStart:
      return UFP4_AT_START;
    case kQuantRun:
      if (s.row_valid && !s.row_ready) return UFP4_AT_STALL_OUTPUT;
      if (s.row_valid) return s.quant.opcode == UFP4_OPCODE_AMAX ? UFP4_AT_AMAX : UFP4_AT_QUANT;
      return s.arriving ? UFP4_AT_STALL_SOURCE : UFP4_AT_LAST_BLOCKS;
    case kQuantSettle:
    case kQuantDrain:
      return UFP4_AT_STALL_ANSWER;
    default:
      return s.quant.state == kIssueWait ? UFP4_AT_STALL_JOB : UFP4_AT_NONE;
  }
}

inline uint8_t Timeline::load(const CoreSigns &s) {
  if (s.notes) return UFP4_AT_LOAD;
  if (s.held) return UFP4_AT_STALL_PANEL;
  if (s.chunk) return UFP4_AT_ASK;
  return s.loading ? UFP4_AT_STALL_FULL : UFP4_AT_NONE;
}

inline uint8_t Timeline::array(const CoreSigns &s) {
  if (s.busy) return UFP4_AT_BUSY;
  if (s.stall_operand) return UFP4_AT_STALL_OPERAND;
  if (s.stall_panel) return UFP4_AT_STALL_PANEL;
  if (s.stall_accumulator) return UFP4_AT_STALL_ACCUMULATOR;
  if (s.stall_drain) return UFP4_AT_STALL_DRAIN;
  return s.gemm.state == kIssueWait ? UFP4_AT_STALL_JOB : UFP4_AT_NONE;
}

inline uint8_t Timeline::drain(const CoreSigns &s) {
  if (s.drain_idle) return UFP4_AT_NONE;
  if (!s.drain_enable) return UFP4_AT_STALL_WRITE;
  if (!s.drain_active) return UFP4_AT_DRAIN;
  if (!s.drain_open) return UFP4_AT_STALL_SUMS;
  if (!s.addends_here) return UFP4_AT_STALL_ADDEND;
  return s.request_here ? UFP4_AT_DRAIN : UFP4_AT_STALL_REQUEST;
}

// The masters' clients by number (ufp4_top).
inline uint8_t Timeline::read(const CoreSigns &s) {
  static constexpr uint8_t kClients[4] = {UFP4_AT_BEAT_COMMAND, UFP4_AT_BEAT_OPERANDS,
                                          UFP4_AT_BEAT_ADDEND, UFP4_AT_BEAT_QUANT};
  if (s.r_valid && !s.r_ready) return UFP4_AT_STALL_CORE;
  if (s.r_valid) return kClients[s.r_client & 3];
  return s.reads_pending ? UFP4_AT_STALL_MEMORY : UFP4_AT_NONE;
}

inline uint8_t Timeline::write(const CoreSigns &s) {
  static constexpr uint8_t kClients[4] = {UFP4_AT_BEAT_COMMAND, UFP4_AT_BEAT_D, UFP4_AT_BEAT_QUANT,
                                          UFP4_AT_NONE};
  if (s.w_valid && !s.w_ready) return UFP4_AT_STALL_MEMORY;
  if (s.w_valid) return kClients[s.w_client & 3];
  if (s.order_valid) return UFP4_AT_STALL_DATA;
  return s.writes_pending ? UFP4_AT_STALL_ANSWER : UFP4_AT_NONE;
}

}  // namespace ufp4

#endif
