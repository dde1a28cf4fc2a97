// SPDX-License-Identifier: Apache-2.0
// The form of its arithmetic that each configuration is simulated with (targets.cpp.in).
#ifndef UFP4_TIMING_TARGETS_H
#define UFP4_TIMING_TARGETS_H

#include <cstdint>

namespace ufp4::timing {

/** An UFP4_TARGET_. */
uint32_t target_of(const char *configuration);

}  // namespace ufp4::timing

#endif
