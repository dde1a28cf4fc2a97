// SPDX-License-Identifier: Apache-2.0
// The golden model against the committed vectors of tests/golden, which the reference model wrote.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "element.h"
#include "ufp4/format.h"
#include "ufp4/gemm.h"
#include "ufp4/random.h"
#include "ufp4/rht.h"
#include "ufp4/tensor.h"

#define FIELDS 64

typedef struct {
  int count;
  char *field[FIELDS];
} line_t;

/** Calls @p check with the fields of each line of a file that is neither comment nor heading. */
static void each_line(const char *name, void (*check)(int64_t number, const line_t *line)) {
  char path[1024], text[4096];
  snprintf(path, sizeof path, "%s/%s", UFP4_GOLDEN_FOLDER, name);
  FILE *file = fopen(path, "r");
  if (!check_that(0, file != NULL, "%s: cannot be read", path)) return;
  for (int64_t number = 1; fgets(text, sizeof text, file); number++) {
    line_t line = {0};
    if (text[0] == '#' || text[0] == '%') continue;
    for (char *field = strtok(text, " \n"); field && line.count < FIELDS;
         field = strtok(NULL, " \n")) {
      line.field[line.count++] = field;
    }
    check(number, &line);
  }
  fclose(file);
}

static uint64_t hex(const char *field) {
  return strtoull(field, NULL, 16);
}

/** Digit i of a string of hexadecimal digits; byte i of a string of bytes. */
static uint8_t digit_at(const char *field, int i) {
  const char text[2] = {field[i], 0};
  return (uint8_t)hex(text);
}

static uint8_t byte_at(const char *field, int i) {
  return (uint8_t)(16 * digit_at(field, 2 * i) + digit_at(field, 2 * i + 1));
}

static ufp4_elem_t elem_named(const char *name) {
  static const char *const names[] = UFP4_ELEM_NAMES;
  int elem = 0;
  while (elem < UFP4_ELEM_COUNT && strcmp(names[elem], name) != 0) elem++;
  return (ufp4_elem_t)elem;
}

static void words_at(const line_t *line, int first, uint32_t bits[16]) {
  for (int i = 0; i < 16; i++) bits[i] = (uint32_t)hex(line->field[first + i]);
}

static void check_cast(int64_t number, const line_t *line) {
  if (!check_bits(number, (uint64_t)line->count, 8, "fields")) return;
  const float x = ufp4_f32_value((uint32_t)hex(line->field[0]));
  const uint64_t got[8] = {0,
                           ufp4_elem_cast(UFP4_ELEM_E2M1, x),
                           ufp4_elem_cast(UFP4_ELEM_E1M2, x),
                           ufp4_elem_cast(UFP4_ELEM_INT4, x),
                           ufp4_e4m3_cast(x),
                           ufp4_e8m0_cast(x, 0),
                           ufp4_e8m0_cast(x, 1),
                           ufp4_bf16_cast(x)};
  for (int i = 1; i < 8; i++)
    check_bits(number, got[i], hex(line->field[i]), "column %d of %s", i, line->field[0]);
}

TEST(casts) {
  each_line("cast.txt", check_cast);
}

static void check_random_line(int64_t number, const line_t *line) {
  uint8_t bytes[16];
  if (!check_bits(number, (uint64_t)line->count, 4, "fields")) return;
  ufp4_random_block(hex(line->field[0]), hex(line->field[1]), hex(line->field[2]), bytes);
  for (int i = 0; i < 16; i++)
    check_bits(number, bytes[i], byte_at(line->field[3], i), "byte %d", i);
}

TEST(random_bytes) {
  each_line("random.txt", check_random_line);
}

static void check_rht(int64_t number, const line_t *line) {
  uint32_t bits[16];
  int32_t out[16] = {0};
  if (!check_bits(number, (uint64_t)line->count, 35, "fields")) return;
  words_at(line, 2, bits);
  const int exponent = ufp4_rht_block(bits, (uint16_t)hex(line->field[1]), out);
  check_bits(number, (uint64_t)exponent, strtoull(line->field[18], NULL, 10), "exponent of %s",
             line->field[0]);
  for (int i = 0; i < 16; i++) {
    check_bits(number, (uint32_t)out[i], (uint32_t)strtol(line->field[19 + i], NULL, 10),
               "out %d of %s", i, line->field[0]);
  }
}

TEST(transforms) {
  each_line("rht.txt", check_rht);
}

static void check_quantize(int64_t number, const line_t *line) {
  if (!check_bits(number, (uint64_t)line->count, 27, "fields")) return;
  const ufp4_quantize_t how = {
      .elem = elem_named(line->field[1]),
      .rht = strcmp(line->field[2], "rht") == 0,
      .rht_mask = (uint16_t)hex(line->field[3]),
      .round = strcmp(line->field[4], "sr") == 0 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
      .scale_round =
          strcmp(line->field[5], "up") == 0 ? UFP4_SCALE_ROUND_UP : UFP4_SCALE_ROUND_RNE};
  uint32_t bits[16];
  uint8_t random[16], codes[16], scale;
  words_at(line, 7, bits);
  for (int i = 0; i < 16; i++) random[i] = byte_at(line->field[23], i);
  const unsigned flags =
      ufp4_quantize_block(bits, &how, (int)strtol(line->field[6], NULL, 10), random, codes, &scale);
  const char *name = line->field[26];
  const unsigned want = strcmp(name, "nan") == 0         ? UFP4_FLAG_NAN
                        : strcmp(name, "saturated") == 0 ? UFP4_FLAG_ROW_SATURATED
                                                         : 0u;
  check_bits(number, scale, hex(line->field[25]), "scale of %s", line->field[0]);
  check_bits(number, flags, want, "flags of %s", line->field[0]);
  for (int i = 0; i < 16; i++)
    check_bits(number, codes[i], digit_at(line->field[24], i), "code %d of %s", i, line->field[0]);
}

TEST(blocks) {
  each_line("quantize.txt", check_quantize);
}

/** An operand of one row from four fields. */
static ufp4_operand_t operand_at(const line_t *line, int first) {
  ufp4_operand_t out;
  if (ufp4_operand_create(elem_named(line->field[first]), 1, 32, &out) != UFP4_OK) abort();
  out.exponent = (int)strtol(line->field[first + 1], NULL, 10);
  for (int i = 0; i < 16; i++) {
    const char *codes = line->field[first + 2];
    out.codes[i] = (uint8_t)(digit_at(codes, 2 * i) | digit_at(codes, 2 * i + 1) << 4);
  }
  for (int i = 0; i < 2; i++) out.scales[i] = byte_at(line->field[first + 3], i);
  return out;
}

static void check_gemm(int64_t number, const line_t *line) {
  if (!check_bits(number, (uint64_t)line->count, 12, "fields")) return;
  ufp4_operand_t a = operand_at(line, 1), b = operand_at(line, 5);
  int64_t sum = 0;
  uint32_t f32 = 0;
  uint16_t bf16 = 0;
  void *const outputs[] = {
      [UFP4_DTYPE_F32] = &f32, [UFP4_DTYPE_BF16] = &bf16, [UFP4_DTYPE_I64] = &sum};
  for (int dtype = 0; dtype < UFP4_DTYPE_COUNT; dtype++) {
    const ufp4_gemm_t how = {
        .contract = UFP4_CONTRACT_EXACT, .d_dtype = (ufp4_dtype_t)dtype, .alpha = 1};
    check_bits(number, (uint64_t)ufp4_gemm(&a, &b, &how, outputs[dtype], 1), UFP4_OK, "status");
  }
  check_bits(number, (uint64_t)sum, (uint64_t)strtoll(line->field[9], NULL, 10), "sum");
  check_bits(number, f32, hex(line->field[10]), "FP32");
  check_bits(number, bf16, hex(line->field[11]), "BF16");
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(products) {
  each_line("gemm.txt", check_gemm);
}

/** The place of @p name among @p count names; count if it is not there. */
static int named(const char *name, const char *const names[], int count) {
  int i = 0;
  while (i < count && strcmp(names[i], name) != 0) i++;
  return i;
}

static const char *const scale_names[UFP4_SCALE_COUNT] = {"e4m3", "nvfp4", "e8m0", "fp32"};

/** Scale i of a field: words for FP32, else bytes. */
static uint32_t scale_at(const char *field, ufp4_scale_t scale, int64_t i) {
  uint32_t bits = 0;
  if (scale != UFP4_SCALE_FP32) return byte_at(field, (int)i);
  for (int digit = 0; digit < 8; digit++) bits = bits << 4 | digit_at(field, (int)(8 * i + digit));
  return bits;
}

static void check_scale(int64_t number, const line_t *line) {
  static const char *const transforms[] = {"plain", "rht", "bf16"};
  static const char *const rounds[] = {"rne", "up", "down", "46"};
  if (!check_bits(number, (uint64_t)line->count, 54, "fields")) return;
  const ufp4_quantize_t how = {
      .elem = elem_named(line->field[0]),
      .scale = (ufp4_scale_t)named(line->field[1], scale_names, UFP4_SCALE_COUNT),
      .layout = strcmp(line->field[2], "2d") == 0 ? UFP4_LAYOUT_2D : UFP4_LAYOUT_1D,
      .rht = (ufp4_rht_t)named(line->field[3], transforms, 3),
      .rht_mask = (uint16_t)hex(line->field[4]),
      .round = strcmp(line->field[5], "sr") == 0 ? UFP4_ROUND_SR : UFP4_ROUND_RNE,
      .scale_round = (ufp4_scale_round_t)named(line->field[6], rounds, 4),
      .seed = hex(line->field[7]),
      .tensor_id = hex(line->field[8])};
  uint32_t x[40];
  for (int i = 0; i < 40; i++) x[i] = (uint32_t)hex(line->field[9 + i]);
  const ufp4_matrix_t in = {UFP4_DTYPE_F32, 2, 20, 20, x};
  ufp4_operand_t got;
  if (!check_bits(number, (uint64_t)ufp4_quantize(&in, &how, &got), UFP4_OK, "status")) return;
  check_bits(number, (uint64_t)got.exponent, (uint64_t)strtol(line->field[49], NULL, 10), "t");
  check_bits(number, ufp4_f32_bits(got.tensor_scale), hex(line->field[50]), "tensor scale");
  for (int i = 0; i < 64; i++)
    check_bits(number, fixture_code(&got, 0, i), digit_at(line->field[51], i), "code %d", i);
  for (int64_t i = 0; i < 2 * got.scale_blocks; i++) {
    check_bits(number, fixture_scale(&got, i), scale_at(line->field[52], how.scale, i),
               "scale %lld", (long long)i);
  }
  const unsigned nan = strcmp(line->field[53], "nan") == 0 ? UFP4_FLAG_NAN : 0;
  check_bits(number, got.flags, nan, "flags");
  ufp4_operand_free(&got);
}

TEST(scales) {
  each_line("scale.txt", check_scale);
}

/** An operand of one row of 80 from five fields. */
static ufp4_operand_t scaled_operand_at(const line_t *line, int first, ufp4_scale_t scale) {
  ufp4_operand_t out;
  if (ufp4_operand_create_scaled(elem_named(line->field[first]), scale, 1, 80, &out) != UFP4_OK)
    abort();
  out.exponent = (int)strtol(line->field[first + 1], NULL, 10);
  out.tensor_scale = ufp4_f32_value((uint32_t)hex(line->field[first + 2]));
  for (int i = 0; i < 40; i++) {
    const char *codes = line->field[first + 3];
    out.codes[i] = (uint8_t)(digit_at(codes, 2 * i) | digit_at(codes, 2 * i + 1) << 4);
  }
  for (int64_t i = 0; i < out.scale_blocks; i++)
    fixture_set_scale(&out, i, scale_at(line->field[first + 4], scale, i));
  return out;
}

static void check_contract(int64_t number, const line_t *line) {
  static const char *const contracts[] = {"exact", "fp32", "nv"};
  if (!check_bits(number, (uint64_t)line->count, 14, "fields")) return;
  const ufp4_scale_t scale = (ufp4_scale_t)named(line->field[1], scale_names, UFP4_SCALE_COUNT);
  ufp4_operand_t a = scaled_operand_at(line, 2, scale), b = scaled_operand_at(line, 7, scale);
  uint32_t f32 = 0;
  uint16_t bf16 = 0;
  for (int dtype = 0; dtype < 2; dtype++) {
    const ufp4_gemm_t how = {.contract = (ufp4_contract_t)named(line->field[0], contracts, 3),
                             .d_dtype = dtype ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32,
                             .alpha = 1};
    check_bits(number, (uint64_t)ufp4_gemm(&a, &b, &how, dtype ? (void *)&bf16 : &f32, 1), UFP4_OK,
               "status");
  }
  check_bits(number, f32, hex(line->field[12]), "FP32");
  check_bits(number, bf16, hex(line->field[13]), "BF16");
  ufp4_operand_free(&a);
  ufp4_operand_free(&b);
}

TEST(contracts) {
  each_line("contract.txt", check_contract);
}

/** Reads a committed .npy; an unreadable one has no rows, and counts as a mismatch. */
static ufp4_tensor_t tensor_of(const char *name) {
  char path[1024];
  ufp4_message_t message = {{0}};
  ufp4_tensor_t tensor;
  snprintf(path, sizeof path, "%s/%s", UFP4_GOLDEN_FOLDER, name);
  check_that(0, ufp4_tensor_read(path, 0, &tensor, &message) == UFP4_OK, "%s", message.text);
  return tensor;
}

/** docs/reference/numerics.md, section 7: "Three contracts, three results". */
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

/** Files are little-endian, whatever the host is; numerics.md, section 7, has the numbers of
 * example.npy. */
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
