// SPDX-License-Identifier: Apache-2.0
// Tests quantized operands as files of format "ufp4-1".
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "stand.h"
#include "ufp4/format.h"

static const int shapes[][2] = {{1, 1}, {1, 8}, {2, 9}, {3, 16}, {3, 17}, {17, 31}, {5, 130}};
#define SHAPES ((int)(sizeof shapes / sizeof shapes[0]))

static void check_equal(int64_t index, const ufp4_operand_t *got, const ufp4_operand_t *want) {
  check_bits(index, got->elem, want->elem, "elem");
  check_bits(index, (uint64_t)got->rows, (uint64_t)want->rows, "rows");
  check_bits(index, (uint64_t)got->cols, (uint64_t)want->cols, "cols");
  check_bits(index, (uint64_t)got->exponent, (uint64_t)want->exponent, "exponent");
  check_bits(index, got->flags, want->flags, "flags");
  size_t blocks = (size_t)(want->rows * want->blocks);
  check_that(index, memcmp(got->codes, want->codes, blocks * 8) == 0, "codes");
  check_bits(index, got->scale, want->scale, "scale");
  check_bits(index, ufp4_f32_bits(got->tensor_scale), ufp4_f32_bits(want->tensor_scale),
             "tensor_scale");
  size_t scales = (size_t)(want->rows * want->scale_blocks);
  if (want->scales != NULL)
    check_that(index, memcmp(got->scales, want->scales, scales) == 0, "scales");
  if (want->scales_f32 != NULL)
    check_that(index, memcmp(got->scales_f32, want->scales_f32, 4 * scales) == 0, "scales");
}

static ufp4_operand_t quantized(check_random_t *random, int64_t rows, int64_t cols,
                                const ufp4_quantize_t *how) {
  float *values = stand_tensor(random, rows * cols, 1.0f);
  ufp4_matrix_t matrix = {UFP4_DTYPE_F32, rows, cols, cols, values};
  ufp4_operand_t operand;
  check_bits(0, ufp4_quantize(&matrix, how, &operand), UFP4_OK, "quantize");
  free(values);
  return operand;
}

// Writes an operand, two codes a byte if @p packed, and reads it back.
static void check_reads_back(int64_t index, ufp4_operand_t *operand, const ufp4_quantize_t *how,
                             int packed) {
  ufp4_operand_t back;
  ufp4_quantize_t told;
  ufp4_message_t message = {0};
  const char *path = files_path("q.safetensors");
  files_check_status(index, ufp4_operand_write(path, operand, how, packed, &message), UFP4_OK,
                     &message);
  files_check_status(index, ufp4_operand_read(path, &back, &told, &message), UFP4_OK, &message);
  check_equal(index, &back, operand);
  check_bits(index, told.rht, how->rht, "rht");
  check_bits(index, told.rht_mask, how->rht ? how->rht_mask : 0, "mask");
  check_bits(index, told.seed, how->seed, "seed");
  check_bits(index, told.tensor_id, how->tensor_id, "tensor_id");
  check_bits(index, told.round, how->round, "round");
  check_bits(index, told.scale_round, how->scale_round, "scale_round");
  ufp4_operand_free(operand);
  ufp4_operand_free(&back);
  files_remove("q.safetensors");
}

TEST(written_operands_read_back) {
  check_random_t random = check_random();
  for (int i = 0; i < SHAPES * 12; i++) {
    ufp4_quantize_t how = {.elem = (ufp4_elem_t)(i % 3),
                           .rht = i / 3 % 2,
                           .rht_mask = (uint16_t)(0x1234 + i),
                           .seed = UINT64_MAX,
                           .tensor_id = 12345,
                           .round = UFP4_ROUND_SR,
                           .scale_round = UFP4_SCALE_ROUND_UP};
    ufp4_operand_t operand = quantized(&random, shapes[i / 12][0], shapes[i / 12][1], &how);
    operand.flags = (unsigned)i & 3u;
    check_reads_back(i, &operand, &how, i / 6 % 2);
  }
}

TEST(every_scale_reads_back) {
  static const ufp4_quantize_t table[] = {
      {.scale = UFP4_SCALE_E4M3, .rht = UFP4_RHT_BF16, .rht_mask = 0x1234},
      {.scale = UFP4_SCALE_E4M3, .layout = UFP4_LAYOUT_2D},
      {.scale = UFP4_SCALE_NVFP4},
      {.scale = UFP4_SCALE_NVFP4, .rht = UFP4_RHT_BF16, .rht_mask = 0xD7E8},
      {.scale = UFP4_SCALE_NVFP4, .layout = UFP4_LAYOUT_2D},
      {.scale = UFP4_SCALE_E8M0, .scale_round = UFP4_SCALE_ROUND_DOWN},
      {.scale = UFP4_SCALE_E8M0, .elem = UFP4_ELEM_INT4, .scale_round = UFP4_SCALE_ROUND_UP},
      {.scale = UFP4_SCALE_FP32},
      {.scale = UFP4_SCALE_FP32, .elem = UFP4_ELEM_E1M2, .rht = UFP4_RHT_INTEGER, .rht_mask = 1},
  };
  check_random_t random = check_random();
  for (int i = 0; i < SHAPES * 18; i++) {
    const ufp4_quantize_t *how = &table[i % 9];
    ufp4_operand_t operand = quantized(&random, shapes[i / 18][0], shapes[i / 18][1], how);
    check_reads_back(i, &operand, how, i / 9 % 2);
  }
}

// Reads a file with that header and @p size bytes of data after it.
static ufp4_status_t read_json(const char *json, const void *data, int64_t size,
                               ufp4_operand_t *out, ufp4_quantize_t *how, ufp4_message_t *message) {
  const size_t length = strlen(json);
  uint8_t *bytes = malloc(8 + length + (size_t)size);
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)length >> (8 * i));
  memcpy(bytes + 8, json, length);
  memcpy(bytes + 8 + length, data, (size_t)size);
  const char *path = files_write("q.safetensors", bytes, 8 + length + (size_t)size);
  ufp4_status_t status = ufp4_operand_read(path, out, how, message);
  files_remove("q.safetensors");
  free(bytes);
  return status;
}

// Reads a file with @p width bytes of codes (all @p code) and @p blocks scales per row, of those
// element types.
static ufp4_status_t read_typed(const char *const types[2], const char *metadata, int64_t rows,
                                int width, int blocks, uint8_t code, ufp4_operand_t *out,
                                ufp4_quantize_t *how, ufp4_message_t *message) {
  char json[1024];
  const int64_t data = rows * width, all = data + rows * blocks;
  const int cols = strcmp(types[0], "F4") == 0 ? 2 * width : width;
  snprintf(json, sizeof json,
           "{\"__metadata__\": {%s}, \"codes\": {\"dtype\": \"%s\", \"shape\": [%lld, %d], "
           "\"data_offsets\": [0, %lld]}, \"scales\": {\"dtype\": \"%s\", \"shape\": [%lld, %d], "
           "\"data_offsets\": [%lld, %lld]}}",
           metadata, types[0], (long long)rows, cols, (long long)data, types[1], (long long)rows,
           blocks, (long long)data, (long long)all);
  uint8_t *bytes = malloc((size_t)all);
  memset(bytes, code, (size_t)data);
  memset(bytes + data, 0x38, (size_t)(all - data));
  ufp4_status_t status = read_json(json, bytes, all, out, how, message);
  free(bytes);
  return status;
}

static const char *const plain[2] = {"U8", "U8"};

#define LEAST "\"elem\": \"e2m1\", \"scale\": \"e4m3\", \"block\": \"16\""

TEST(files_of_others_need_little) {
  static const struct {
    const char *metadata;
    int width, blocks, cols, packed;
  } table[] = {
      {LEAST, 5, 1, 5, 0},
      {LEAST, 16, 1, 16, 0},
      {LEAST, 17, 2, 17, 0},
      {LEAST, 16, 2, 32, 1},
      {LEAST, 9, 2, 18, 1},
      {LEAST ", \"cols\": \"15\"", 8, 1, 15, 1},
      {LEAST ", \"cols\": \"8\"", 8, 1, 8, 0},
      {LEAST ", \"cols\": \"1\"", 1, 1, 1, 1},
      {LEAST ", \"cols\": \"17\", \"rht\": \"0xD7E8\"", 32, 2, 17, 0},
      {LEAST ", \"cols\": \"17\", \"rht\": \"d7e8\"", 16, 2, 17, 1},
      {LEAST ", \"rows\": \"2\", \"other\": \"ignored\"", 5, 1, 5, 0},
  };
  for (int i = 0; i < 11; i++) {
    ufp4_operand_t operand;
    ufp4_quantize_t how;
    ufp4_message_t message = {0};
    uint8_t code = table[i].packed ? 0x33 : 0x03;
    ufp4_status_t status = read_typed(plain, table[i].metadata, 2, table[i].width, table[i].blocks,
                                      code, &operand, &how, &message);
    files_check_status(i, status, UFP4_OK, &message);
    if (status != UFP4_OK) continue;
    check_bits(i, (uint64_t)operand.cols, (uint64_t)table[i].cols, "cols");
    check_bits(i, (uint64_t)operand.exponent, 0, "exponent");
    int64_t stored = how.rht ? (operand.cols + 15) / 16 * 16 : operand.cols;
    for (int64_t k = 0; k < operand.blocks * 16; k++) {
      check_bits(k, fixture_code(&operand, 1, k), k < stored ? 3 : 0, "code of file %d", i);
    }
    ufp4_operand_free(&operand);
  }
}

static void check_status(int64_t index, const char *const types[2], const char *metadata,
                         int64_t rows, int width, int blocks, uint8_t code, ufp4_status_t want,
                         const char *words) {
  ufp4_operand_t operand;
  ufp4_quantize_t how;
  ufp4_message_t message = {0};
  files_check_status(
      index, read_typed(types, metadata, rows, width, blocks, code, &operand, &how, &message), want,
      &message);
  check_that(index, strstr(message.text, words) != NULL, "message '%s' does not say '%s'",
             message.text, words);
  check_that(index, operand.codes == NULL, "an operand was made");
}

static void check_refused(int64_t index, const char *metadata, int width, int blocks, uint8_t code,
                          const char *words) {
  check_status(index, plain, metadata, 2, width, blocks, code, UFP4_ERROR_FORMAT, words);
}

TEST(rejects_missing_metadata) {
  check_refused(0, "", 5, 1, 3, "missing");
  check_refused(1, "\"scale\": \"e4m3\", \"block\": \"16\"", 5, 1, 3, "elem");
  check_refused(2, "\"elem\": \"e2m1\", \"block\": \"16\"", 5, 1, 3, "scale");
  check_refused(3, "\"elem\": \"e2m1\", \"scale\": \"e4m3\"", 5, 1, 3, "block");
}

TEST(rejects_unknown_metadata_values) {
  static const char *const extras[] = {"\"format\": \"ufp4-2\"",
                                       "\"rht\": \"yes\"",
                                       "\"rht\": \"0x10000\"",
                                       "\"rht\": \"0x1\", \"rht_size\": \"48\"",
                                       "\"rht\": \"0x1\", \"rht_size\": \"x\"",
                                       "\"axis\": \"diagonal\"",
                                       "\"round\": \"away\"",
                                       "\"scale_round\": \"down\"",
                                       "\"seed\": \"-1\"",
                                       "\"tensor_id\": \"x\"",
                                       "\"tensor_exponent\": \"1.5\"",
                                       "\"tensor_exponent\": \"32768\"",
                                       "\"cols\": \"0\"",
                                       "\"cols\": \"99999999999999999999\"",
                                       "\"rht\": \"-1\"",
                                       "\"rht\": \"\"",
                                       "\"rht\": \"bf16:\"",
                                       "\"rows\": \"x\"",
                                       "\"cols\": \"\"",
                                       "\"seed\": \"1x\"",
                                       "\"seed\": \"18446744073709551616\"",
                                       "\"tensor_scale\": \"\"",
                                       "\"tensor_scale\": \"1x\""};
  for (int i = 0; i < (int)(sizeof extras / sizeof extras[0]); i++) {
    char metadata[256];
    snprintf(metadata, sizeof metadata, LEAST ", %s", extras[i]);
    check_refused(i, metadata, 5, 1, 3, "metadata");
  }
  check_refused(20, "\"elem\": \"fp4\", \"scale\": \"e4m3\", \"block\": \"16\"", 5, 1, 3,
                "elem is 'fp4'; e2m1, e1m2, int4 or mixed is needed");
  check_refused(21, "\"elem\": \"e2m1\", \"scale\": \"e5m2\", \"block\": \"16\"", 5, 1, 3, "scale");
  check_refused(22, "\"elem\": \"e2m1\", \"scale\": \"e4m3\", \"block\": \"48\"", 5, 1, 3, "block");
}

TEST(rejects_combinations_that_are_illegal) {
  static const char *const made[] = {
      "\"elem\": \"e1m2\", \"scale\": \"nvfp4\", \"block\": \"16\", \"scale_round\": \"46\"",
      "\"elem\": \"e1m2\", \"scale\": \"nvfp4\", \"block\": \"32\"",
      "\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"block\": \"16\", \"rht\": \"0xD7E8\"",
      "\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"block\": \"16\", \"tensor_exponent\": \"1\"",
      "\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"block\": \"16\", \"tensor_scale\": \"0\"",
      "\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"block\": \"16\", \"tensor_scale\": \"inf\"",
      "\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"block\": \"16\"",
      "\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"block\": \"32\", \"rht\": \"bf16:0xD7E8\"",
      "\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"block\": \"32\", \"scale_round\": \"rne\"",
      "\"elem\": \"e2m1\", \"scale\": \"fp32\", \"block\": \"16\", \"rht\": \"bf16:0xD7E8\"",
      LEAST ", \"tensor_scale\": \"2\"",
  };
  for (int i = 0; i < (int)(sizeof made / sizeof made[0]); i++)
    check_refused(i, made[i], 16, 1, 3, "metadata");
}

TEST(rejects_scales_of_the_wrong_type) {
  static const char *const metadata = "\"elem\": \"e2m1\", \"scale\": \"fp32\", \"block\": \"16\"";
  check_refused(0, metadata, 5, 1, 3, "its element type is U8; F32 is needed");
}

#define MADE(scale, block) "\"elem\": \"e2m1\", \"scale\": \"" scale "\", \"block\": \"" block "\""

TEST(element_types_of_four_and_eight_bits) {
  static const struct {
    const char *types[2], *metadata;
    int width, blocks, cols;
  } table[] = {
      {{"U8", "F8_E4M3"}, MADE("e4m3", "16"), 16, 1, 16},
      {{"U8", "F8_E4M3"}, MADE("nvfp4", "16"), 17, 2, 17},
      {{"U8", "F8_E8M0"}, MADE("e8m0", "32"), 33, 2, 33},
      {{"F4", "U8"}, MADE("e4m3", "16"), 16, 2, 32},
      {{"F4", "F8_E8M0"}, MADE("e8m0", "32"), 20, 2, 40},
      {{"F4", "F8_E4M3"}, MADE("nvfp4", "16"), 4, 1, 8},
  };
  for (int i = 0; i < 6; i++) {
    ufp4_operand_t operand;
    ufp4_quantize_t how;
    ufp4_message_t message = {0};
    const int f4 = strcmp(table[i].types[0], "F4") == 0;
    files_check_status(i,
                       read_typed(table[i].types, table[i].metadata, 2, table[i].width,
                                  table[i].blocks, f4 ? 0x5A : 0x0A, &operand, &how, &message),
                       UFP4_OK, &message);
    check_bits(i, (uint64_t)operand.cols, (uint64_t)table[i].cols, "cols");
    for (int64_t k = 0; k < operand.cols; k++)
      check_bits(k, fixture_code(&operand, 1, k), f4 && k % 2 != 0 ? 5 : 10, "code");
    for (int64_t b = 0; b < 2 * operand.scale_blocks; b++)
      check_bits(b, operand.scales[b], 0x38, "scale");
    ufp4_operand_free(&operand);
  }
}

static void check_types_refused(int64_t index, const char *codes, const char *scales,
                                const char *metadata, int width, int blocks, const char *words) {
  const char *const types[2] = {codes, scales};
  check_status(index, types, metadata, 2, width, blocks, 3, UFP4_ERROR_FORMAT, words);
}

TEST(rejects_element_types_that_contradict_the_metadata) {
  static const char int4[] = "\"elem\": \"int4\", \"scale\": \"e4m3\", \"block\": \"16\"";
  check_types_refused(0, "U8", "F8_E8M0", MADE("e4m3", "16"), 16, 1,
                      "F8_E8M0; U8 or F8_E4M3 is needed");
  check_types_refused(1, "U8", "F8_E4M3", MADE("e8m0", "32"), 16, 1,
                      "F8_E4M3; U8 or F8_E8M0 is needed");
  check_types_refused(2, "F8_E4M3", "U8", MADE("e4m3", "16"), 16, 1, "F8_E4M3; U8 or F4 is needed");
  check_types_refused(3, "F4", "U8", int4, 16, 2, "here they are int4");
  check_types_refused(4, "F4", "U8", MADE("e4m3", "16") ", \"cols\": \"30\"", 16, 2,
                      "do not match scales of");
}

TEST(rejects_shapes_that_do_not_go_together) {
  check_refused(0, LEAST, 17, 1, 3, "do not match scales of");
  check_refused(1, LEAST, 16, 3, 3, "do not match scales of");
  check_refused(2, LEAST ", \"cols\": \"6\"", 5, 1, 3, "do not match scales of");
  check_refused(3, LEAST ", \"cols\": \"17\"", 17, 1, 3, "(metadata: cols 17); codes are");
  check_refused(4, LEAST ", \"rows\": \"3\"", 5, 1, 3, "do not match scales of");
  check_refused(5, LEAST ", \"rht\": \"0xD7E8\"", 5, 1, 3, "do not match scales of");
}

// Reads a file with one row of FP32 scales.
static ufp4_status_t read_f32(const float *scales, int rows, int codes_rows, ufp4_operand_t *out,
                              ufp4_message_t *message) {
  static const char json[] =
      "{\"__metadata__\": {\"elem\": \"int4\", \"scale\": \"fp32\", \"block\": \"16\"},"
      "\"scales\": {\"dtype\": \"F32\", \"shape\": [%d, 1], \"data_offsets\": [0, %d]},"
      "\"codes\": {\"dtype\": \"U8\", \"shape\": [%d, 3], \"data_offsets\": [%d, %d]}}";
  char header[400];
  uint8_t data[64] = {0};
  ufp4_quantize_t how;
  const int size = 4 * rows, all = size + 3 * codes_rows;
  snprintf(header, sizeof header, json, rows, size, codes_rows, size, all);
  memcpy(data, scales, (size_t)size);
  return read_json(header, data, all, out, &how, message);
}

TEST(fp32_scales_of_others_may_be_nan) {
  const float scales[2] = {ufp4_f32_value(0xFFC12345), -0.0f};
  ufp4_operand_t operand;
  ufp4_message_t message = {0};
  files_check_status(0, read_f32(scales, 2, 2, &operand, &message), UFP4_OK, &message);
  check_bits(0, fixture_scale(&operand, 0), UFP4_F32_NAN, "NaN");
  check_bits(1, fixture_scale(&operand, 1), 0x80000000, "minus zero");
  ufp4_operand_free(&operand);
}

TEST(rejects_negative_and_infinite_fp32_scales) {
  const float scales[][2] = {
      {-1, 1}, {1, ufp4_f32_value(0x7F800000)}, {ufp4_f32_value(0x80000001), 0}};
  for (int i = 0; i < 3; i++) {
    ufp4_operand_t operand;
    ufp4_message_t message = {0};
    files_check_status(i, read_f32(scales[i], 2, 2, &operand, &message), UFP4_ERROR_FORMAT,
                       &message);
    check_that(i, strstr(message.text, "negative or infinite") != NULL, "'%s'", message.text);
    check_that(i, operand.codes == NULL, "an operand was made");
  }
}

TEST(rejects_scales_of_other_rows) {
  const float scales[] = {1, 1};
  ufp4_operand_t operand;
  ufp4_message_t message = {0};
  files_check_status(0, read_f32(scales, 2, 1, &operand, &message), UFP4_ERROR_FORMAT, &message);
  check_that(0, strstr(message.text, "do not match scales of") != NULL, "'%s'", message.text);
}

TEST(rejects_sizes_over_the_limit) {
  enum { LONG = UFP4_MAX_DIM + 1 };
  check_status(0, plain, LEAST, LONG, 1, 1, 0, UFP4_ERROR_ARGUMENT,
               "it has 1048577 rows; at most 1048576 are possible");
  check_status(1, plain, LEAST, 1, LONG, (LONG + 15) / 16, 0, UFP4_ERROR_ARGUMENT,
               "it has 1048577 columns; at most 1048576 are possible");
}

TEST(rejects_codes_over_15) {
  check_refused(0, LEAST, 5, 1, 0x13, "a code is greater than 15");
  check_refused(1, LEAST ", \"cols\": \"8\"", 8, 1, 0x33, "a code is greater than 15");
}
