// SPDX-License-Identifier: Apache-2.0
#include "sdram_chip.h"

#include <cstdio>

namespace ufp4 {

SdramChip::SdramChip(double clock_hz, const SdramTimes &times)
    : period_(1e9 / clock_hz), times_(times), words_(kBytes / 2) {
  // Initial contents, which vary from word to word.
  for (uint32_t i = 0; i < words_.size(); i++)
    words_[i] = static_cast<uint16_t>(i * 2654435761u >> 15);
}

void SdramChip::power_up() {
  banks_ = {};
  pipe_ = {};
  closed_all_ = mode_set_ = false;
  power_up_refreshes_ = 0;
  refreshed_ = mode_time_ = last_activated_ = kNever;
  burst_ = Burst::kNone;
  power_edge_ = edge_;
}

void SdramChip::fail(const char *rule) {
  if (!message_.empty()) return;
  char text[200];
  std::snprintf(text, sizeof text, "sdram: edge %llu: %s", static_cast<unsigned long long>(edge_),
                rule);
  message_ = text;
  std::fprintf(stderr, "%s\n", text);
}

void SdramChip::require(bool kept, const char *rule) {
  if (!kept) fail(rule);
}

bool SdramChip::passed(double since, double least, unsigned cycles) const {
  constexpr double kRounding = 1e-6;
  return now_ - since > least - kRounding && now_ - since > cycles * period_ - kRounding;
}

void SdramChip::set_mode(unsigned word) {
  require(closed_all_ && power_up_refreshes_ >= times_.power_up_refreshes,
          "the mode register is set before a precharge of all and the refreshes of the power-up");
  for (const Bank &bank : banks_)
    require(!bank.open && passed(bank.closed, times_.rp),
            "the mode register is set with a row open");
  require(passed(refreshed_, times_.rfc), "the mode register is set within tRFC of a refresh");
  length_ = 1u << (word & 7);
  cas_ = word >> 4 & 7;
  require(length_ <= 8 && (word & ~0x77u) == 0 && (cas_ == 2 || cas_ == 3),
          "this mode is not known");
  require(period_ > (cas_ == 2 ? times_.period_cas2 : times_.period_cas3) - 1e-6,
          "the clock is too fast for this CAS latency");
  mode_set_ = true;
  mode_time_ = now_;
}

void SdramChip::refresh() {
  require(closed_all_, "a refresh comes before the precharge of all of the power-up");
  for (const Bank &bank : banks_) {
    require(!bank.open, "a refresh comes while a row is open");
    require(passed(bank.closed, times_.rp), "a refresh comes within tRP of a precharge");
    require(passed(bank.activated, times_.rc), "a refresh comes within tRC of an activate");
  }
  require(passed(refreshed_, times_.rfc), "a refresh comes within tRFC of another");
  require(passed(mode_time_, times_.mrd, times_.mrd_cycles), "a refresh comes within tMRD");
  if (!mode_set_) power_up_refreshes_++;
  refreshed_ = now_;
  refreshes_++;
}

void SdramChip::precharge(unsigned index) {
  Bank &bank = banks_[index];
  if (bank.open) {
    require(passed(bank.activated, times_.ras), "a precharge comes within tRAS of its activate");
    require(passed(bank.written, times_.wr, times_.wr_cycles),
            "a precharge comes within tWR of the last word written");
    require(burst_ == Burst::kNone || burst_bank_ != index, "a precharge cuts a burst");
    require(!passed(bank.activated, times_.ras_most), "a row was open for longer than tRAS may be");
    bank.closed = now_;
  }
  bank.open = false;
}

void SdramChip::activate(unsigned index, unsigned row) {
  Bank &bank = banks_[index];
  require(mode_set_ && passed(mode_time_, times_.mrd, times_.mrd_cycles),
          "an activate comes before the mode register is set, or within tMRD of it");
  require(!bank.open, "an activate comes to a bank whose row is open");
  require(passed(bank.closed, times_.rp), "an activate comes within tRP of a precharge");
  require(passed(bank.activated, times_.rc), "an activate comes within tRC of another");
  require(passed(last_activated_, times_.rrd, times_.rrd_cycles),
          "an activate comes within tRRD of that of another bank");
  require(passed(refreshed_, times_.rfc), "an activate comes within tRFC of a refresh");
  bank.open = true;
  bank.row = row & static_cast<unsigned>(~fault.row_low);
  bank.activated = last_activated_ = now_;
  bank.written = kNever;
}

void SdramChip::begin(Burst kind, const SdramPins &pins) {
  const Bank &bank = banks_[pins.bank];
  require(bank.open, "a read or write comes to a bank without an open row");
  require(passed(bank.activated, times_.rcd), "a read or write comes within tRCD of its activate");
  require(!(pins.address & 1u << 10), "auto precharge is not known");
  require(burst_ == Burst::kNone, "a read or write cuts a burst");
  require(pins.address % length_ == 0 && pins.address < kColumns,
          "a burst wraps, or has no such column");
  require(kind == Burst::kWrite || !pins.dq_driven,
          "the controller drives the data pins of a read");
  burst_ = kind;
  burst_bank_ = pins.bank;
  burst_column_ = pins.address;
  burst_left_ = length_;
}

void SdramChip::command(const SdramPins &pins) {
  const unsigned code = pins.cs_n ? 7 : pins.ras_n << 2 | pins.cas_n << 1 | int{pins.we_n};
  require(pins.cke, "CKE is low: not known");
  if (code == 7) return;
  require(now_ > times_.power_up - period_ / 2, "a command comes before the pause of the power-up");
  switch (code) {
    case 0:
      return set_mode(pins.address | static_cast<unsigned>(pins.bank) << 13);
    case 1:
      return refresh();
    case 2:
      for (unsigned b = 0; b < kBanks; b++)
        if (pins.address & 1u << 10 || b == pins.bank) precharge(b);
      closed_all_ |= pins.address >> 10 & 1;
      return;
    case 3:
      return activate(pins.bank, pins.address);
    case 4:
      return begin(Burst::kWrite, pins);
    case 5:
      return begin(Burst::kRead, pins);
    default:
      fail("a burst stop is not known");
  }
}

// Transfers a word of the present burst: written from the pins, or read for the pins some edges
// later.
void SdramChip::move_burst(const SdramPins &pins) {
  if (burst_ == Burst::kNone) return;
  Bank &bank = banks_[burst_bank_];
  uint16_t &at = word(burst_bank_, bank.row, burst_column_);
  if (burst_ == Burst::kWrite) {
    require(pins.dq_driven, "nothing drives the data pins of a write");
    for (unsigned byte = 0; byte < 2; byte++) {
      const uint16_t mask = static_cast<uint16_t>(0xFF << 8 * byte);
      if (!((pins.dqm & ~fault.unmasked) >> byte & 1))
        at = static_cast<uint16_t>((at & ~mask) | (pins.dq & mask));
    }
    bank.written = now_;
  } else {
    pipe_[cas_ - 1] = {true, static_cast<uint16_t>(at & ~fault.data_low)};
  }
  burst_column_++;
  if (--burst_left_ == 0) burst_ = Burst::kNone;
}

uint16_t SdramChip::clock(const SdramPins &pins) {
  now_ = static_cast<double>(edge_ - power_edge_) * period_;
  if (!mode_set_) require(pins.dqm == 3, "the data are not masked during the power-up");
  command(pins);
  if (mode_set_) require(!passed(refreshed_, times_.refresh + period_), "a refresh is late");
  move_burst(pins);
  // The words of a read are on the pins from the edge before the one at which they are sampled.
  masks_ = {pins.dqm, masks_[0], masks_[1]};
  const bool was_driving = driving_;
  driving_ = pipe_[0].valid;
  require(!pins.dq_driven || (!was_driving && !driving_),
          "controller and chip both drive the data pins");
  noise_ = noise_ * 6364136223846793005u + 1442695040888963407u;
  uint16_t dq = static_cast<uint16_t>(noise_ >> 48);
  if (driving_) {
    // A mask applies to the word that is sampled two edges later.
    for (unsigned byte = 0; byte < 2; byte++) {
      const uint16_t mask = static_cast<uint16_t>(0xFF << 8 * byte);
      if (!(masks_[1] >> byte & 1))
        dq = static_cast<uint16_t>((dq & ~mask) | (pipe_[0].data & mask));
    }
  }
  for (unsigned i = 0; i + 1 < pipe_.size(); i++) pipe_[i] = pipe_[i + 1];
  pipe_.back() = {};
  edge_++;
  return dq;
}

}  // namespace ufp4
