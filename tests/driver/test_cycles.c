// SPDX-License-Identifier: Apache-2.0
// Tests that every backend that is a core takes the cycles of rtl.
#include <string.h>

#include "times.h"

TEST(are_those_of_rtl) {
  const int nanosecond = strncmp(stand_backend(), "systemc", 7) == 0;
  for (int i = 0; i < (nanosecond ? TIMES_OF_A_NANOSECOND : TIMES_MEMORIES); i++) {
    const times_t got = times_of(stand_backend(), i, 0), want = times_of("rtl", i, 0);
    check_times(i, &got, &want);
    check_that(i, !got.blank, "there are no data");
  }
}
