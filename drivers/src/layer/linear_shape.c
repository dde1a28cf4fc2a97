// SPDX-License-Identifier: Apache-2.0
// The shapes of a linear layer's tensors and passes, and related properties of its recipe.
#include "linear.h"

void linear_role_shape(const ufp4_linear_shape_t *shape, ufp4_role_t role, int64_t *rows,
                       int64_t *cols) {
  *rows = role == UFP4_ROLE_W ? shape->cout : shape->tokens;
  *cols = role == UFP4_ROLE_DY ? shape->cout : shape->cin;
}

void linear_pass_shape(const ufp4_linear_shape_t *shape, ufp4_pass_t pass, int64_t *m, int64_t *n,
                       int64_t *k) {
  *m = pass == UFP4_PASS_WGRAD ? shape->cout : shape->tokens;
  *n = pass == UFP4_PASS_FPROP ? shape->cout : shape->cin;
  *k = pass == UFP4_PASS_FPROP ? shape->cin : pass == UFP4_PASS_DGRAD ? shape->cout : shape->tokens;
}

uint64_t linear_stride_bytes(int64_t cols, uint64_t element_bytes) {
  uint64_t bytes = (uint64_t)cols * element_bytes;
  return (bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
}

int linear_has_exponents(const ufp4_linear_t *linear) {
  return linear->recipe.scale != UFP4_SCALE_E8M0;
}

int linear_requantizes(const ufp4_linear_t *linear, ufp4_role_t role) {
  const unsigned backward = linear->shape.passes & ~(1u << UFP4_PASS_FPROP);
  return linear->recipe.requantize && role != UFP4_ROLE_DY && linear_role_is_in(role, backward);
}

int linear_role_is_in(ufp4_role_t role, unsigned passes) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    if ((passes >> pass & 1) && (roles[0] == role || roles[1] == role)) return 1;
  }
  return 0;
}
