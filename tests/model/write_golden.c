// SPDX-License-Identifier: Apache-2.0
// Writes the vectors of tests/golden with the reference model: write_golden DIR; write_golden
// --check DIR compares instead.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "legal.h"

static const char *const elem_names[] = {"e2m1", "e1m2", "int4"};

static void hex_words(FILE *out, const uint32_t *words, int count) {
  for (int i = 0; i < count; i++) fprintf(out, " %08" PRIx32, words[i]);
}

static void hex_digits(FILE *out, const uint8_t *digits, int count) {
  fputc(' ', out);
  for (int i = 0; i < count; i++) fprintf(out, "%x", digits[i]);
}

static void hex_bytes(FILE *out, const uint8_t *bytes, int count) {
  fputc(' ', out);
  for (int i = 0; i < count; i++) fprintf(out, "%02x", bytes[i]);
}

static const char *flag_name(unsigned flags) {
  return flags == REFERENCE_FLAG_NAN         ? "nan"
         : flags == REFERENCE_FLAG_SATURATED ? "saturated"
                                             : "none";
}

// --- Casts --------------------------------------------------------------------------------------

static void write_cast(FILE *out) {
  static const uint32_t inputs[] = {0x00000000, 0x80000000, 0x00000001, 0x3E800000, 0xBE800000,
                                    0x3F000000, 0x3F400000, 0x3F800000, 0x3FA00000, 0xBFE00000,
                                    0x40200000, 0x40600000, 0x40A00000, 0xC0A00000, 0x40F00000,
                                    0xC1000000, 0x43E00000, 0x43E80000, 0x43F00000, 0x3A800000,
                                    0x3A800001, 0x3B000000, 0x00400000, 0x00400001, 0x7F000000,
                                    0x7F000001, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000};
  fprintf(out, "%% f32 e2m1 e1m2 int4 e4m3 e8m0_down e8m0_up bf16\n");
  for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
    const uint32_t x = inputs[i];
    fprintf(out, "%08" PRIx32 " %x %x %x %02x %02x %02x %04x\n", x,
            reference_elem_cast(REFERENCE_E2M1, x), reference_elem_cast(REFERENCE_E1M2, x),
            reference_elem_cast(REFERENCE_INT4, x), reference_e4m3_cast(x),
            reference_e8m0_cast(x, 0), reference_e8m0_cast(x, 1), reference_bf16_cast(x));
  }
}

// --- Random bytes -------------------------------------------------------------------------------

static void write_random(FILE *out) {
  static const uint64_t table[][3] = {{0, 0, 0},
                                      {1, 0, 0},
                                      {0, 1, 0},
                                      {0, 0, 1},
                                      {0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x100000000}};
  fprintf(out, "%% seed tensor_id group bytes\n");
  for (int i = 0; i < 5; i++) {
    uint8_t bytes[16];
    reference_random_block(table[i][0], table[i][1], table[i][2], bytes);
    fprintf(out, "%016" PRIx64 " %016" PRIx64 " %016" PRIx64, table[i][0], table[i][1],
            table[i][2]);
    hex_bytes(out, bytes, 16);
    fputc('\n', out);
  }
}

// --- Blocks -------------------------------------------------------------------------------------

typedef struct {
  const char *name;
  uint32_t bits[16];
} block_t;

#define BLOCKS 10

/** The same blocks are used for the transform and the quantizer. */
static void make_blocks(block_t blocks[BLOCKS]) {
  static const block_t fixed[] = {
      {"impulse", {0x3F800000}},
      {"zeros_of_both_signs", {0x00000000, 0x80000000}},
      {"quarters",
       {0x00000000, 0x3E800000, 0x3F000000, 0x3F400000, 0x3F800000, 0x3FA00000, 0x3FC00000,
        0x3FE00000, 0x40000000, 0xBE800000, 0xBF000000, 0xBF400000, 0xBF800000, 0xBFA00000,
        0x40C00000, 0x80000000}},
      {"subnormals", {0x00000001, 0x80000003, 0x007FFFFF, 0x00400000}},
      {"largest", {0x7F7FFFFF, 0xFF7FFFFF, 0x7F000000, 0x7E800000}},
      {"nan", {0x3F800000, 0x7FC00000}},
      {"inf", {0x3F800000, 0x00000000, 0xFF800000}},
  };
  memcpy(blocks, fixed, sizeof fixed);
  check_random_t random = {20606};
  static const char *const names[] = {"gaussian", "bf16", "wild"};
  static const fixture_distribution_t distributions[] = {FIXTURE_GAUSSIAN, FIXTURE_BF16,
                                                         FIXTURE_WILD};
  for (int i = 0; i < 3; i++) {
    blocks[7 + i].name = names[i];
    fixture_numbers(&random, distributions[i], blocks[7 + i].bits, 16);
  }
}

static void write_rht(FILE *out) {
  block_t blocks[BLOCKS];
  make_blocks(blocks);
  fprintf(out, "%% block mask x0..x15 exponent y0..y15\n");
  for (int i = 0; i < BLOCKS * 2; i++) {
    const block_t *block = &blocks[i / 2];
    const uint16_t mask = i % 2 ? 0xD7E8 : 0;
    int32_t y[16] = {0};
    const int exponent = reference_rht_block(block->bits, mask, y);
    fprintf(out, "%s %04x", block->name, mask);
    hex_words(out, block->bits, 16);
    fprintf(out, " %d", exponent);
    for (int j = 0; j < 16; j++) fprintf(out, " %" PRId32, y[j]);
    fputc('\n', out);
  }
}

static void write_one_quantize(FILE *out, const block_t *block, const reference_quantize_t *how,
                               int t, uint64_t group) {
  uint8_t random[16], codes[16];
  uint32_t scale;
  reference_random_block(how->seed, how->tensor_id, group, random);
  const unsigned flags = reference_quantize_block(block->bits, how, t, random, codes, &scale);
  fprintf(out, "%s %s %s %04x %s %s %d", block->name, elem_names[how->elem],
          how->rht ? "rht" : "plain", (unsigned)how->mask, how->stochastic ? "sr" : "rne",
          how->scale_round == REFERENCE_SCALE_UP ? "up" : "rne", t);
  hex_words(out, block->bits, 16);
  hex_bytes(out, random, 16);
  hex_digits(out, codes, 16);
  fprintf(out, " %02x %s\n", scale, flag_name(flags));
}

static void write_quantize(FILE *out) {
  block_t blocks[BLOCKS];
  make_blocks(blocks);
  fprintf(out,
          "%% block elem transform mask round scale_round t x0..x15 random codes scale flags\n");
  for (int i = 0; i < BLOCKS * 12; i++) {
    const block_t *block = &blocks[i / 12];
    const reference_quantize_t how = {.elem = (reference_elem_t)(i % 3),
                                      .rht = (reference_rht_t)(i / 3 % 2),
                                      .mask = 0xD7E8,
                                      .stochastic = i / 6 % 2,
                                      .scale_round = (reference_scale_round_t)(i / 6 % 2),
                                      .seed = 7,
                                      .tensor_id = 11};
    write_one_quantize(out, block, &how, reference_tensor_exponent(block->bits, 1, 16, &how),
                       (uint64_t)i);
    // Every fourth again with an exponent from outside that saturates the scale.
    if (i % 4 == 0) write_one_quantize(out, block, &how, 140, (uint64_t)i);
  }
}

// --- GEMM ---------------------------------------------------------------------------------------

static void write_operand(FILE *out, const reference_operand_t *operand) {
  fprintf(out, " %s %d", elem_names[operand->elem], operand->t);
  hex_digits(out, operand->codes, 32);
  const uint8_t scales[2] = {(uint8_t)operand->scales[0], (uint8_t)operand->scales[1]};
  hex_bytes(out, scales, 2);
}

static void write_gemm(FILE *out) {
  check_random_t random = {20606};
  fprintf(out, "%% case a_elem a_t a_codes a_scales b_elem b_t b_codes b_scales sum f32 bf16\n");
  for (int i = 0; i < 27; i++) {
    ufp4_operand_t a =
        fixture_operand(&random, (ufp4_elem_t)(i % 3), 1, 32, (fixture_scales_t)(i / 9));
    ufp4_operand_t b =
        fixture_operand(&random, (ufp4_elem_t)(i / 3 % 3), 1, 32, (fixture_scales_t)(i / 9));
    if (i % 9 == 8 && i / 9 == FIXTURE_SCALES_NAN) b.scales[1] = 0xFF;
    reference_operand_t reference_a = fixture_slow_operand(&a),
                        reference_b = fixture_slow_operand(&b);
    reference_a.t = 10 - i;
    reference_b.t = 3 * i;
    const int64_t sum = reference_gemm_sum(&reference_a, 0, &reference_b, 0, 0);
    const uint32_t f32 = reference_gemm_round(&reference_a, &reference_b, sum, NULL, NULL);
    fprintf(out, "%d", i);
    write_operand(out, &reference_a);
    write_operand(out, &reference_b);
    fprintf(out, " %" PRId64 " %08" PRIx32 " %04x\n", sum, f32, reference_bf16_cast(f32));
    reference_operand_free(&reference_a);
    reference_operand_free(&reference_b);
    ufp4_operand_free(&a);
    ufp4_operand_free(&b);
  }
}

// --- Every scale, every contract ----------------------------------------------------------------

static const char *const scale_names[] = {"e4m3", "nvfp4", "e8m0", "fp32"};

/** FP32 scales as words, others as bytes. */
static void hex_scales(FILE *out, const reference_operand_t *operand) {
  fputc(' ', out);
  for (int64_t i = 0; i < operand->rows * operand->scale_blocks; i++) {
    fprintf(out, operand->scale == REFERENCE_SCALE_FP32 ? "%08" PRIx32 : "%02" PRIx32,
            operand->scales[i]);
  }
}

#define SCALE_ROWS 2
#define SCALE_COLS 20

static void write_scale(FILE *out) {
  static const char *const transforms[] = {"plain", "rht", "bf16"};
  static const char *const rounds[] = {"rne", "up", "down", "46"};
  static const fixture_distribution_t kinds[] = {FIXTURE_GAUSSIAN, FIXTURE_TIES, FIXTURE_WILD,
                                                 FIXTURE_SUBNORMAL, FIXTURE_SPECIAL};
  check_random_t random = {20606};
  fprintf(out,
          "%% elem scale layout transform mask round scale_round seed tensor_id x (2 rows of 20) t "
          "tensor_scale "
          "codes (2 rows of 32) scales flags\n");
  for (int n = 0, i = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    const ufp4_quantize_t options = legal_quantize_combination(n);
    const reference_quantize_t how = fixture_slow_options(&options);
    uint32_t x[SCALE_ROWS * SCALE_COLS];
    if (!legal_quantize(&options)) continue;
    fixture_numbers(&random, kinds[i++ % 5], x, SCALE_ROWS * SCALE_COLS);
    const int t = reference_tensor_exponent(x, SCALE_ROWS, SCALE_COLS, &how);
    reference_operand_t q = reference_quantize(x, SCALE_ROWS, SCALE_COLS, &how, t);
    fprintf(out, "%s %s %s %s %04x %s %s %016" PRIx64 " %016" PRIx64, elem_names[how.elem],
            scale_names[how.scale], how.tall ? "2d" : "1d", transforms[how.rht], (unsigned)how.mask,
            how.stochastic ? "sr" : "rne", rounds[how.scale_round], how.seed, how.tensor_id);
    hex_words(out, x, SCALE_ROWS * SCALE_COLS);
    fprintf(out, " %d %08" PRIx32, q.t, q.tensor_scale);
    hex_digits(out, q.codes, SCALE_ROWS * 32);
    hex_scales(out, &q);
    fprintf(out, " %s\n", flag_name(q.flags));
    reference_operand_free(&q);
  }
}

#define CONTRACT_COLS 80

static void write_contract_operand(FILE *out, const reference_operand_t *operand) {
  fprintf(out, " %s %d %08" PRIx32, elem_names[operand->elem], operand->t, operand->tensor_scale);
  hex_digits(out, operand->codes, CONTRACT_COLS);
  hex_scales(out, operand);
}

/** D of one row by one row. */
static uint32_t contract_result(const reference_operand_t *a, const reference_operand_t *b,
                                ufp4_contract_t contract) {
  switch (contract) {
    case UFP4_CONTRACT_EXACT:
      return reference_gemm_round(a, b, reference_gemm_sum(a, 0, b, 0, 0), NULL, NULL);
    case UFP4_CONTRACT_NV:
      return reference_gemm_scale(a, b, REFERENCE_NV, reference_gemm_nv(a, 0, b, 0, 0), NULL, NULL);
    default:
      return reference_gemm_scale(a, b, REFERENCE_FP32, reference_gemm_fp32(a, 0, b, 0), NULL,
                                  NULL);
  }
}

static reference_operand_t contract_operand(check_random_t *random, ufp4_elem_t elem,
                                            ufp4_scale_t scale, int i) {
  static const fixture_scales_t kinds[] = {FIXTURE_SCALES_NEAR, FIXTURE_SCALES_ANY,
                                           FIXTURE_SCALES_NEAR, FIXTURE_SCALES_NAN};
  ufp4_operand_t operand =
      fixture_operand_scaled(random, elem, scale, 1, CONTRACT_COLS, kinds[i % 4]);
  reference_operand_t out = fixture_slow_operand(&operand);
  if (scale == UFP4_SCALE_E4M3) out.t = (int)check_below(random, 24) - 12;
  if (scale == UFP4_SCALE_NVFP4) out.tensor_scale = 0x3A000000 + check_below(random, 1 << 24);
  ufp4_operand_free(&operand);
  return out;
}

static void write_contract(FILE *out) {
  static const char *const names[] = {"exact", "fp32", "nv"};
  check_random_t random = {20606};
  fprintf(out,
          "%% contract scale a_elem a_t a_tensor_scale a_codes a_scales b_elem b_t b_tensor_scale "
          "b_codes b_scales "
          "f32 bf16\n");
  for (int n = 0, i = 0; n < 2 * LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t c = legal_gemm_combination(n / 2);
    if (!legal_gemm(&c)) continue;
    reference_operand_t a = contract_operand(&random, c.a, c.scale, i),
                        b = contract_operand(&random, c.b, c.scale, i);
    const uint32_t d = contract_result(&a, &b, c.contract);
    fprintf(out, "%s %s", names[c.contract], scale_names[c.scale]);
    write_contract_operand(out, &a);
    write_contract_operand(out, &b);
    fprintf(out, " %08" PRIx32 " %04x\n", d, reference_gemm_bf16(d));
    reference_operand_free(&a);
    reference_operand_free(&b);
    i++;
  }
}

// --- Files --------------------------------------------------------------------------------------

typedef struct {
  const char *name;
  void (*write)(FILE *out);
} golden_t;

/** The whole text of one file; free it. */
static char *text_of(const golden_t *golden, size_t *size) {
  char *text = NULL;
  FILE *out = open_memstream(&text, size);
  if (!out) return NULL;
  fprintf(out,
          "# Written by the reference model (build target write_golden); do not edit. Numbers are "
          "hexadecimal bits,\n");
  fprintf(out, "# but t, exponent, y and sum. docs/reference/numerics.md says what they mean.\n");
  golden->write(out);
  fclose(out);
  return text;
}

static int same_as_file(FILE *file, const char *text, size_t size) {
  for (size_t i = 0; i < size; i++) {
    if (fgetc(file) != (unsigned char)text[i]) return 0;
  }
  return fgetc(file) == EOF;
}

/** Writes or compares one file. @return 0 if that went well. */
static int handle(const golden_t *golden, const char *folder, int check) {
  char path[4096];
  size_t size = 0;
  char *text = text_of(golden, &size);
  snprintf(path, sizeof path, "%s/%s", folder, golden->name);
  FILE *file = text ? fopen(path, check ? "r" : "w") : NULL;
  int ok = file != NULL;
  if (ok) ok = check ? same_as_file(file, text, size) : fwrite(text, 1, size, file) == size;
  if (file && fclose(file) != 0) ok = 0;
  if (!ok)
    fprintf(stderr, "%s %s\n", path,
            check ? "is not what write_golden writes" : "could not be written");
  free(text);
  return !ok;
}

int main(int argc, char **argv) {
  static const golden_t files[] = {
      {"cast.txt", write_cast},         {"random.txt", write_random}, {"rht.txt", write_rht},
      {"quantize.txt", write_quantize}, {"gemm.txt", write_gemm},     {"scale.txt", write_scale},
      {"contract.txt", write_contract}};
  const int check = argc == 3 && strcmp(argv[1], "--check") == 0;
  int failed = 0;
  if (argc != 2 + check) {
    fprintf(stderr, "usage: write_golden [--check] DIR\n");
    return 2;
  }
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
    failed |= handle(&files[i], argv[argc - 1], check);
  return failed;
}
