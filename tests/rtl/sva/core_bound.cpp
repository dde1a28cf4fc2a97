// SPDX-License-Identifier: Apache-2.0
// The core `small` with the assertions of rtl/sva bound to it, replacing sim/'s list of
// configurations.
#include <cstring>

#include "core.h"

namespace ufp4 {

std::unique_ptr<Core> make_core_bound(uint64_t seed);

bool has_core(const char *configuration) {
  return std::strcmp(configuration, "small") == 0;
}

std::unique_ptr<Core> make_core(const char *configuration, uint64_t seed) {
  return has_core(configuration) ? make_core_bound(seed) : nullptr;
}

}  // namespace ufp4
