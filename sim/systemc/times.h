// SPDX-License-Identifier: Apache-2.0
// Times of modules against the kernel's time resolution.
#ifndef UFP4_SYSTEMC_TIMES_H
#define UFP4_SYSTEMC_TIMES_H

#include <cstdint>
#include <string>

#include "ufp4_systemc.h"

namespace ufp4 {

/** The kernel's time resolution, in femtoseconds; 0: it is finer. */
uint64_t resolution_fs();
/** Says what is wrong with the period of a clock; empty: nothing. */
std::string refuse_period(const Ufp4Time &period);
/** Says what is wrong with the resolution for memory @p dram, which counts femtoseconds; empty:
 * nothing. */
std::string refuse_resolution(const std::string &dram);

}  // namespace ufp4

#endif
