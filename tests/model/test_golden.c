// SPDX-License-Identifier: Apache-2.0
// The worked examples of numerics.md, section 7, whose tensors are in tests/golden, and the bytes
// of .npy files.
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "ufp4/format.h"
#include "ufp4/gemm.h"
#include "ufp4/tensor.h"

/** Reads a committed .npy; an unreadable one has no rows, and counts as a mismatch. */
static ufp4_tensor_t tensor_of(const char *name) {
  char path[1024];
  ufp4_message_t message = {{0}};
  ufp4_tensor_t tensor;
  snprintf(path, sizeof path, "%s/%s", UFP4_GOLDEN_FOLDER, name);
  check_that(0, ufp4_tensor_read(path, 0, &tensor, &message) == UFP4_OK, "%s", message.text);
  return tensor;
}

/** "Three contracts, three results". */
TEST(tensors) {
  static const uint32_t want[] = {[UFP4_CONTRACT_EXACT] = 0x45800002,
                                  [UFP4_CONTRACT_FP32] = 0x45800000,
                                  [UFP4_CONTRACT_NV] = 0x45800001};
  const ufp4_quantize_t how = {.elem = UFP4_ELEM_E1M2, .exponent_given = 1};
  ufp4_tensor_t x[2] = {tensor_of("contract_a.npy"), tensor_of("contract_b.npy")};
  ufp4_operand_t operands[2] = {{0}};
  for (int i = 0; i < 2; i++)
    check_that(i, ufp4_quantize(&x[i].view, &how, &operands[i]) == UFP4_OK, "quantize");
  for (int contract = UFP4_CONTRACT_EXACT; contract < UFP4_CONTRACT_COUNT; contract++) {
    const ufp4_gemm_t gemm = {.contract = (ufp4_contract_t)contract, .alpha = 1};
    float d = 0;
    check_that(0, ufp4_gemm(&operands[0], &operands[1], &gemm, &d, 1) == UFP4_OK, "gemm");
    check_bits(0, ufp4_f32_bits(d), want[contract], "contract %d", contract);
  }
  for (int i = 0; i < 2; i++) {
    ufp4_operand_free(&operands[i]);
    ufp4_tensor_free(&x[i]);
  }
}

static size_t bytes_of(const char *path, uint8_t *bytes, size_t size) {
  FILE *file = fopen(path, "rb");
  if (!check_that(0, file != NULL, "%s: cannot be read", path)) return 0;
  size_t got = fread(bytes, 1, size, file);
  fclose(file);
  return got;
}

/** Writes a matrix, compares the end of the file with @p want, and reads it back. */
static void check_written(ufp4_dtype_t dtype, int64_t cols, const void *data, const uint8_t *want,
                          size_t size) {
  char path[64];
  uint8_t bytes[512] = {0};
  ufp4_message_t message = {{0}};
  const ufp4_matrix_t matrix = {dtype, 1, cols, cols, data};
  ufp4_tensor_t again = {0};
  snprintf(path, sizeof path, "test_golden.%ld.npy", (long)getpid());
  check_that(dtype, ufp4_tensor_write(path, &matrix, &message) == UFP4_OK, "%s", message.text);
  const size_t got = bytes_of(path, bytes, sizeof bytes);
  check_that(dtype, got >= size && memcmp(bytes + got - size, want, size) == 0, "bytes of dtype %d",
             dtype);
  if (check_that(dtype, ufp4_tensor_read(path, 1, &again, &message) == UFP4_OK, "%s",
                 message.text)) {
    check_that(dtype, again.view.cols == cols && memcmp(again.data, data, size) == 0,
               "dtype %d read back", dtype);
  }
  ufp4_tensor_free(&again);
  remove(path);
}

/** Files are little-endian on every host; numerics.md has the numbers of example.npy. */
TEST(tensor_files) {
  static const float x[16] = {0.5f, -1.25f, 3,  0.75f, -0.125f, 2.5f,  -6, 1,
                              0,    4.5f,   -2, 0.25f, 1.5f,    -3.5f, 5,  -0.0625f};
  static const uint16_t bf16[1] = {0x3F81};
  static const int64_t sums[1] = {0x0102030405060708};
  char path[1024];
  uint8_t bytes[512];
  ufp4_tensor_t example = tensor_of("example.npy");
  check_that(0, example.view.cols == 16 && memcmp(example.data, x, sizeof x) == 0, "example.npy");
  ufp4_tensor_free(&example);
  snprintf(path, sizeof path, "%s/example.npy", UFP4_GOLDEN_FOLDER);
  check_bits(0, bytes_of(path, bytes, sizeof bytes), 128 + sizeof x, "bytes of %s", path);
  check_written(UFP4_DTYPE_F32, 16, x, bytes + 128, sizeof x);
  check_written(UFP4_DTYPE_BF16, 1, bf16, (const uint8_t *)"\x81\x3F", 2);
  check_written(UFP4_DTYPE_I64, 1, sums, (const uint8_t *)"\x08\x07\x06\x05\x04\x03\x02\x01", 8);
}
