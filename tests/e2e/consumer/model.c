// SPDX-License-Identifier: Apache-2.0
// Runs the worked example of docs/reference/numerics.md, section 7: a block quantized to E1M2, and
// its product with itself.
#include <stdio.h>
#include <string.h>
#include <ufp4/gemm.h>
#include <ufp4/recipe.h>
#include <ufp4/tensor.h>

// This name is also one of the library's internal functions and must not collide with it.
int file_write(void);
int file_write(void) {
  return 1;
}

int main(void) {
  static const float x[16] = {0.5f, -1.25f, 3,  0.75f, -0.125f, 2.5f,  -6, 1,
                              0,    4.5f,   -2, 0.25f, 1.5f,    -3.5f, 5,  -0.0625f};
  static const unsigned char want[8] = {0x91, 0x13, 0x38, 0x1f, 0x50, 0x0a, 0xc2, 0x86};
  ufp4_matrix_t matrix = {UFP4_DTYPE_F32, 1, 16, 16, x};
  ufp4_quantize_t how;
  ufp4_recipe_t recipe;
  ufp4_gemm_t gemm = {.alpha = 1};
  ufp4_operand_t q;
  float d = 0;
  if (ufp4_recipe_named("ufp4", &recipe) != UFP4_OK) return 4;
  recipe.rht[UFP4_PASS_FPROP] = UFP4_RHT_NONE;
  how = ufp4_recipe_quantize(&recipe, UFP4_ROLE_X, UFP4_AXIS_ROW);
  if (ufp4_quantize(&matrix, &how, &q) != UFP4_OK) return 1;
  if (q.exponent != 7 || q.scales[0] != 0x7E || memcmp(q.codes, want, 8) != 0) return 2;
  if (ufp4_gemm(&q, &q, &gemm, &d, 1) != UFP4_OK || d != 119.4375f) return 3;
  ufp4_operand_free(&q);
  printf("%g\n", (double)d);
  return file_write() - 1;
}
