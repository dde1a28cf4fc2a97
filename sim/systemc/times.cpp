// SPDX-License-Identifier: Apache-2.0
#include "times.h"

#include <cmath>
#include <sstream>

namespace {

double seconds_of(sc_core::sc_time_unit unit) {
  switch (unit) {
    case sc_core::SC_FS:
      return 1e-15;
    case sc_core::SC_PS:
      return 1e-12;
    case sc_core::SC_NS:
      return 1e-9;
    case sc_core::SC_US:
      return 1e-6;
    case sc_core::SC_MS:
      return 1e-3;
    case sc_core::SC_SEC:
      return 1;
    default:
      return sc_core::sc_time(1, unit).to_seconds();  // finer units of later versions
  }
}

std::string resolution() {
  return sc_core::sc_get_time_resolution().to_string();
}

// The rounding errors of doubles are far smaller than this.
constexpr double kRounding = 1e-12;

std::string refuse(double seconds) {
  const double count = seconds / sc_core::sc_get_time_resolution().to_seconds();
  if (count >= 0 && std::abs(count - std::round(count)) <= kRounding * count) return {};
  std::ostringstream text;
  text << seconds * 1e9 << " ns is not a multiple of the time resolution, " << resolution()
       << " (sc_set_time_resolution sets a finer one)";
  return text.str();
}

}  // namespace

Ufp4Time::Ufp4Time(double value, sc_core::sc_time_unit unit)
    : sc_time(value > 0 ? value : 0, unit), wrong_(refuse(value * seconds_of(unit))) {}

namespace ufp4 {

uint64_t resolution_fs() {
  return static_cast<uint64_t>(std::llround(sc_core::sc_get_time_resolution().to_seconds() * 1e15));
}

std::string refuse_period(const Ufp4Time &period) {
  if (!period.wrong().empty()) return "the period of a core's clock: " + period.wrong();
  if (period != sc_core::SC_ZERO_TIME) return {};
  return "the period of a core's clock is zero, at a time resolution of " + resolution();
}

std::string refuse_resolution(const std::string &dram) {
  if (dram.empty() || resolution_fs() != 0) return {};
  return "the memory " + dram + " counts femtoseconds: a time resolution of " + resolution() +
         " is too fine";
}

}  // namespace ufp4
