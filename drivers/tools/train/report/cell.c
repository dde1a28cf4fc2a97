// SPDX-License-Identifier: Apache-2.0
// What the parts of the page have in common.
#include <math.h>

#include "report.h"

void report_number(FILE *out, const char *sign, int digits, double value) {
  if (!isfinite(value)) {
    fputs("<td>&ndash;</td>", out);
  } else {
    fprintf(out, "<td>%s%.*f</td>", value < 0 ? "" : sign, digits, value);
  }
}

const char *report_color(int variant) {
  static const char *const colors[] = {"#444444", "#0969da", "#d1242f", "#9a6700",
                                       "#1a7f37", "#8250df", "#bf3989", "#0a7b83"};
  return colors[variant % (int)(sizeof colors / sizeof *colors)];
}
