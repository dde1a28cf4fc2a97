// SPDX-License-Identifier: Apache-2.0
// Checks of modules' times against the kernel's time resolution.
#ifndef UFP4_SYSTEMC_TIMES_H
#define UFP4_SYSTEMC_TIMES_H

#include <cstdint>
#include <string>

#include "ufp4_systemc.h"

namespace ufp4 {

/** Returns the kernel's time resolution in femtoseconds; 0: it is finer. */
uint64_t resolution_fs();
/** Returns an error message about the period of a clock, or an empty one. */
std::string refuse_period(const Ufp4Time &period);
/** Returns an error message about the resolution for memory @p dram, which counts femtoseconds, or
 * an empty one. */
std::string refuse_resolution(const std::string &dram);

}  // namespace ufp4

#endif
