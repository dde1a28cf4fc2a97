// SPDX-License-Identifier: Apache-2.0
// Sizes that an address space does not hold. The refusals differ by host, so tests/portable runs
// these on 32 bits too.
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "ufp4/matrix.h"
#include "ufp4/quantize.h"
#include "ufp4/tensor.h"

#define ADDRESS_BITS ((int)sizeof(size_t) * CHAR_BIT)

TEST(bytes) {
  check_bits(0, ufp4_matrix_bytes(3, 5, 4), 60, "3 x 5 floats");
  check_bits(1, ufp4_matrix_bytes(0, 5, 4), 0, "nothing");
  check_bits(2, ufp4_matrix_bytes((int64_t)PTRDIFF_MAX, 1, 1), PTRDIFF_MAX,
             "as much as there can be");
}

TEST(rejects_more_than_there_can_be) {
  check_bits(0, ufp4_matrix_bytes((int64_t)1 << (ADDRESS_BITS - 2), 2, 1), UFP4_TOO_MANY_BYTES,
             "one byte more");
  check_bits(1, ufp4_matrix_bytes((int64_t)1 << 40, (int64_t)1 << 40, 1), UFP4_TOO_MANY_BYTES,
             "2^80");
  check_bits(2, ufp4_matrix_bytes((int64_t)1 << 32, 1, 0x7FFFFFFF),
             ADDRESS_BITS == 32 ? UFP4_TOO_MANY_BYTES : (size_t)0x7FFFFFFF << (ADDRESS_BITS / 2),
             "2^63 - 2^32");
  check_bits(3, ufp4_matrix_bytes(-1, 1, 1), UFP4_TOO_MANY_BYTES, "negative rows");
  check_bits(4, ufp4_matrix_bytes(1, -1, 1), UFP4_TOO_MANY_BYTES, "negative columns");
  check_bits(5, ufp4_matrix_bytes((int64_t)1 << 62, 1, 2), UFP4_TOO_MANY_BYTES, "2^63");
}

// With 64-bit addresses the sizes fit, and the memory may be available.
TEST(rejects_tensors_for_more_than_32_bits) {
  static const char header[] =
      "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (1048576, 4096), "
      "}";
  char path[64];
  ufp4_operand_t operand;
  ufp4_tensor_t tensor;
  ufp4_message_t message = {{0}};
  snprintf(path, sizeof path, "test_size.%ld.npy", (long)getpid());
  FILE *file = fopen(path, "wb");
  if (!check_that(0, file != NULL, "%s: cannot be written", path)) return;
  fwrite(header, 1, sizeof header - 1, file);
  fprintf(file, "%*s\n", (int)(128 - sizeof header), "");
  fflush(file);
  check_that(0, ftruncate(fileno(file), 128 + ((off_t)1 << 34)) == 0,
             "a file of 16 GiB, without blocks");
  fclose(file);
  if (ADDRESS_BITS == 32) {
    check_bits(1, ufp4_tensor_read(path, 0, &tensor, &message), UFP4_ERROR_MEMORY, "%s",
               message.text);
    check_that(2, strstr(message.text, "does not fit in memory") != NULL, "%s", message.text);
    // 2^39 bytes of codes, whose lowest 32 bits are 0; 2^36 of scales.
    check_bits(3, ufp4_operand_create(UFP4_ELEM_E2M1, 1048576, 1048576, &operand),
               UFP4_ERROR_MEMORY, "an operand");
  }
  remove(path);
}
