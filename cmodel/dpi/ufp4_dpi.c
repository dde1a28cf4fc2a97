// SPDX-License-Identifier: Apache-2.0
// The C side of ufp4_dpi_pkg.sv, where each function is documented: unpacks the arguments and calls the golden model.
// A packed vector comes as 32-bit words, the lowest first; a packed struct so too, its last member first.
#include <stdlib.h>
#include <string.h>
#include <svdpi.h>
#include <ufp4/format.h>
#include <ufp4/gemm.h>
#include <ufp4/quantize.h>
#include <ufp4/random.h>
#include <ufp4/rht.h>

static int is_elem(int elem) {
  return elem >= 0 && elem < UFP4_ELEM_COUNT;
}

// --- Elements and scales ---------------------------------------------------------------------------------

int ufp4_dpi_elem_quanta(int elem, unsigned char code) {
  return is_elem(elem) ? ufp4_elem_quanta((ufp4_elem_t)elem, code) : 0;
}

unsigned ufp4_dpi_elem_value(int elem, unsigned char code) {
  return is_elem(elem) ? ufp4_f32_bits(ufp4_elem_value((ufp4_elem_t)elem, code)) : UFP4_F32_NAN;
}

unsigned char ufp4_dpi_elem_cast(int elem, unsigned f32) {
  return is_elem(elem) ? ufp4_elem_cast((ufp4_elem_t)elem, ufp4_f32_value(f32)) : 0;
}

unsigned char ufp4_dpi_e4m3_cast(unsigned f32) {
  return ufp4_e4m3_cast(ufp4_f32_value(f32));
}

unsigned ufp4_dpi_e4m3_value(unsigned char code) {
  return ufp4_f32_bits(ufp4_e4m3_value(code));
}

unsigned char ufp4_dpi_e8m0_cast(unsigned f32, int up) {
  return ufp4_e8m0_cast(ufp4_f32_value(f32), up != 0);
}

unsigned ufp4_dpi_e8m0_value(unsigned char code) {
  return ufp4_f32_bits(ufp4_e8m0_value(code));
}

unsigned short ufp4_dpi_bf16_cast(unsigned f32) {
  return ufp4_bf16_cast(ufp4_f32_value(f32));
}

// --- Random numbers --------------------------------------------------------------------------------------

static uint64_t join(const svBitVecVal *words) {
  return (uint64_t)words[1] << 32 | words[0];
}

static void join_bytes(const uint8_t bytes[16], svBitVecVal words[4]) {
  memset(words, 0, 16);
  for (int i = 0; i < 16; i++) words[i / 4] |= (svBitVecVal)bytes[i] << 8 * (i % 4);
}

void ufp4_dpi_random_block(unsigned long long seed, unsigned long long tensor_id, unsigned long long group,
                           svBitVecVal *random) {
  uint8_t bytes[16];
  ufp4_random_block(seed, tensor_id, group, bytes);
  join_bytes(bytes, random);
}

int ufp4_dpi_threefry4x32(int rounds, const svBitVecVal *key, const svBitVecVal *counter, svBitVecVal *words) {
  if (rounds < 0 || rounds > 72) return UFP4_ERROR_ARGUMENT;
  ufp4_threefry4x32(rounds, key, counter, words);
  return UFP4_OK;
}

int ufp4_dpi_philox4x32(int rounds, const svBitVecVal *key, const svBitVecVal *counter, svBitVecVal *words) {
  if (rounds < 0 || rounds > 16) return UFP4_ERROR_ARGUMENT;
  ufp4_philox4x32(rounds, key, counter, words);
  return UFP4_OK;
}

// --- Blocks ----------------------------------------------------------------------------------------------

int ufp4_dpi_rht_block(const svBitVecVal *words, unsigned short mask, svBitVecVal *numbers) {
  int32_t out[16] = {0};
  int exponent = ufp4_rht_block(words, mask, out);
  memcpy(numbers, out, sizeof out);
  return exponent;
}

int ufp4_dpi_rht_block_bf16(const svBitVecVal *words, unsigned short mask, svBitVecVal *numbers) {
  memset(numbers, 0, 64);
  return ufp4_rht_block_bf16(words, mask, numbers);
}

static void split_codes(const svBitVecVal *words, uint8_t codes[16]) {
  for (int i = 0; i < 16; i++) codes[i] = words[i / 8] >> 4 * (i % 8) & 15;
}

int ufp4_dpi_quantize_block(const svBitVecVal *words, int elem, int rht, unsigned short mask, int round,
                            int scale_round, int exponent, const svBitVecVal *random, svBitVecVal *codes,
                            unsigned char *scale) {
  memset(codes, 0, 8);
  *scale = 0;
  if (!is_elem(elem) || (rht != UFP4_RHT_NONE && rht != UFP4_RHT_INTEGER) ||
      (round != UFP4_ROUND_RNE && round != UFP4_ROUND_SR) ||
      (scale_round != UFP4_SCALE_ROUND_RNE && scale_round != UFP4_SCALE_ROUND_UP) || exponent < INT16_MIN ||
      exponent > INT16_MAX) {
    return -1;
  }
  ufp4_quantize_t how = {.elem = (ufp4_elem_t)elem,
                         .rht = (ufp4_rht_t)rht,
                         .rht_mask = mask,
                         .round = (ufp4_round_t)round,
                         .scale_round = (ufp4_scale_round_t)scale_round};
  uint8_t bytes[16], unpacked[16];
  for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)(random[i / 4] >> 8 * (i % 4));
  unsigned flags = ufp4_quantize_block(words, &how, exponent, bytes, unpacked, scale);
  for (int i = 0; i < 16; i++) codes[i / 8] |= (svBitVecVal)unpacked[i] << 4 * (i % 8);
  return (int)flags;
}

int ufp4_dpi_block_dot(int a_elem, int b_elem, const svBitVecVal *a_codes, const svBitVecVal *b_codes) {
  uint8_t a[16], b[16];
  int sum = 0;
  if (!is_elem(a_elem) || !is_elem(b_elem)) return 0;
  split_codes(a_codes, a);
  split_codes(b_codes, b);
  for (int i = 0; i < 16; i++) {
    sum += ufp4_elem_quanta((ufp4_elem_t)a_elem, a[i]) * ufp4_elem_quanta((ufp4_elem_t)b_elem, b[i]);
  }
  return sum;
}

// A block as an operand of one row: packed as the golden model packs it, two codes a byte, low nibble first.
static ufp4_operand_t block_operand(int elem, const svBitVecVal *words, uint8_t packed[8], uint8_t *scale) {
  for (int i = 0; i < 8; i++) packed[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
  return (ufp4_operand_t){.elem = (ufp4_elem_t)elem,
                          .rows = 1,
                          .cols = 16,
                          .blocks = 1,
                          .block = 16,
                          .scale_blocks = 1,
                          .codes = packed,
                          .scales = scale,
                          .tensor_scale = 1};
}

long long ufp4_dpi_block_product(int a_elem, int b_elem, const svBitVecVal *a_codes, const svBitVecVal *b_codes,
                                 unsigned char a_scale, unsigned char b_scale) {
  uint8_t a_packed[8], b_packed[8];
  int64_t product = UFP4_I64_NAN;
  if (!is_elem(a_elem) || !is_elem(b_elem)) return product;
  ufp4_operand_t a = block_operand(a_elem, a_codes, a_packed, &a_scale);
  ufp4_operand_t b = block_operand(b_elem, b_codes, b_packed, &b_scale);
  ufp4_gemm_t how = {.contract = UFP4_CONTRACT_EXACT, .d_dtype = UFP4_DTYPE_I64, .alpha = 1};
  return ufp4_gemm(&a, &b, &how, &product, 1) == UFP4_OK ? product : UFP4_I64_NAN;
}

unsigned ufp4_dpi_f32_from_scaled(long long sum, int exponent) {
  return ufp4_f32_from_scaled(sum, exponent);
}

// --- Matrices --------------------------------------------------------------------------------------------

static int holds(svOpenArrayHandle array, int64_t count) {
  return svDimensions(array) == 1 && svSize(array, 1) >= count;
}

// The element at the index-th lowest index; indices fit an int where holds() was true.
static void *at(svOpenArrayHandle array, int64_t index) {
  return svGetArrElemPtr1(array, svLow(array, 1) + (int)index);
}

static void *copy_in(svOpenArrayHandle array, int64_t count, size_t element) {
  uint8_t *data = malloc((size_t)count * element);
  for (int64_t i = 0; data != NULL && i < count; i++) memcpy(data + (size_t)i * element, at(array, i), element);
  return data;
}

static void copy_out(svOpenArrayHandle array, int64_t count, size_t element, const void *data) {
  for (int64_t i = 0; i < count; i++) memcpy(at(array, i), (const uint8_t *)data + (size_t)i * element, element);
}

// The struct quantize_t.
enum {
  Q_ID = 0,
  Q_SEED = 2,
  Q_EXPONENT = 4,
  Q_GIVEN,
  Q_SCALE_ROUND,
  Q_ROUND,
  Q_MASK,
  Q_RHT,
  Q_LAYOUT,
  Q_SCALE,
  Q_ELEM
};

static int is_quantize(const svBitVecVal *s) {
  return s[Q_ELEM] < UFP4_ELEM_COUNT && s[Q_SCALE] < UFP4_SCALE_COUNT && s[Q_LAYOUT] < UFP4_LAYOUT_COUNT &&
         s[Q_RHT] < UFP4_RHT_COUNT && s[Q_MASK] <= UINT16_MAX && s[Q_ROUND] < UFP4_ROUND_COUNT &&
         s[Q_SCALE_ROUND] < UFP4_SCALE_ROUND_COUNT;
}

static ufp4_quantize_t unpack_quantize(const svBitVecVal *s) {
  return (ufp4_quantize_t){.elem = (ufp4_elem_t)s[Q_ELEM],
                           .scale = (ufp4_scale_t)s[Q_SCALE],
                           .layout = (ufp4_layout_t)s[Q_LAYOUT],
                           .rht = (ufp4_rht_t)s[Q_RHT],
                           .rht_mask = (uint16_t)s[Q_MASK],
                           .round = (ufp4_round_t)s[Q_ROUND],
                           .scale_round = (ufp4_scale_round_t)s[Q_SCALE_ROUND],
                           .seed = join(s + Q_SEED),
                           .tensor_id = join(s + Q_ID),
                           .exponent_given = s[Q_GIVEN] != 0,
                           .exponent = (int)s[Q_EXPONENT]};
}

static void put_codes(const ufp4_operand_t *operand, int64_t width, svOpenArrayHandle codes) {
  for (int64_t i = 0; i < operand->rows * width; i++) {
    int64_t k = i % width;
    uint8_t pair = operand->codes[(i / width) * operand->blocks * 8 + k / 2];
    *(uint8_t *)at(codes, i) = k % 2 ? pair >> 4 : pair & 15;
  }
}

static uint32_t scale_bits(const ufp4_operand_t *operand, int64_t i) {
  return operand->scales != NULL ? operand->scales[i] : ufp4_f32_bits(operand->scales_f32[i]);
}

int ufp4_dpi_quantize(int rows, int cols, const svBitVecVal *how_words, const svOpenArrayHandle x,
                      const svOpenArrayHandle codes, const svOpenArrayHandle scales, int *exponent,
                      unsigned *tensor_scale, int *flags) {
  *exponent = *flags = 0;
  *tensor_scale = 0;
  if (rows < 1 || cols < 1 || !holds(x, (int64_t)rows * cols) || !is_quantize(how_words)) return UFP4_ERROR_ARGUMENT;
  ufp4_quantize_t how = unpack_quantize(how_words);
  ufp4_operand_t operand;
  void *data = copy_in(x, (int64_t)rows * cols, sizeof(float));
  if (data == NULL) return UFP4_ERROR_MEMORY;
  ufp4_matrix_t matrix = {UFP4_DTYPE_F32, rows, cols, cols, data};
  ufp4_status_t status = ufp4_quantize(&matrix, &how, &operand);
  free(data);
  if (status != UFP4_OK) return (int)status;
  int64_t width = how.rht == UFP4_RHT_NONE ? cols : operand.blocks * 16, count = rows * operand.scale_blocks;
  if (holds(codes, rows * width) && holds(scales, count)) {
    put_codes(&operand, width, codes);
    for (int64_t i = 0; i < count; i++) *(uint32_t *)at(scales, i) = scale_bits(&operand, i);
    *exponent = operand.exponent;
    *tensor_scale = ufp4_f32_bits(operand.tensor_scale);
    *flags = (int)operand.flags;
  } else {
    status = UFP4_ERROR_ARGUMENT;
  }
  ufp4_operand_free(&operand);
  return (int)status;
}

// The structs operand_t and gemm_t.
enum { O_TENSOR_SCALE = 0, O_EXPONENT, O_ELEM, O_WORDS };
enum { G_B = 0, G_A = O_WORDS, G_ADD = 2 * O_WORDS, G_ALPHA, G_SCALE, G_CONTRACT };

// [rows][k] codes and their scales as an operand; freed by the caller where the status is UFP4_OK.
static ufp4_status_t get_operand(const svBitVecVal *s, svBitVecVal scale, int rows, int k, svOpenArrayHandle codes,
                                 svOpenArrayHandle scales, ufp4_operand_t *out) {
  if (rows < 1 || k < 1 || !holds(codes, (int64_t)rows * k)) return UFP4_ERROR_ARGUMENT;
  if (s[O_ELEM] >= UFP4_ELEM_COUNT || scale >= UFP4_SCALE_COUNT) return UFP4_ERROR_ARGUMENT;
  ufp4_status_t status = ufp4_operand_create_scaled((ufp4_elem_t)s[O_ELEM], (ufp4_scale_t)scale, rows, k, out);
  if (status != UFP4_OK) return status;
  int64_t count = rows * out->scale_blocks;
  if (!holds(scales, count)) {
    ufp4_operand_free(out);
    return UFP4_ERROR_ARGUMENT;
  }
  for (int64_t i = 0; i < (int64_t)rows * k; i++) {
    int64_t column = i % k;
    unsigned code = *(const uint8_t *)at(codes, i) & 15u;
    out->codes[(i / k) * out->blocks * 8 + column / 2] |= (uint8_t)(column % 2 ? code << 4 : code);
  }
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits = *(const uint32_t *)at(scales, i);
    if (out->scales != NULL) {
      out->scales[i] = (uint8_t)bits;
    } else {
      out->scales_f32[i] = ufp4_f32_value(bits);
    }
  }
  if (scale == UFP4_SCALE_E4M3) out->exponent = (int)s[O_EXPONENT];
  if (scale == UFP4_SCALE_NVFP4) out->tensor_scale = ufp4_f32_value(s[O_TENSOR_SCALE]);
  return UFP4_OK;
}

// c and d hold elements of that size; c is read into memory of its own, which may be NULL where nothing is added.
static int multiply(int m, int n, int k, const svBitVecVal *s, ufp4_gemm_t *how, size_t element,
                    const svOpenArrayHandle operands[4], svOpenArrayHandle c, svOpenArrayHandle d) {
  ufp4_operand_t a, b;
  int64_t count = (int64_t)m * n;
  if (how->contract >= UFP4_CONTRACT_COUNT) return UFP4_ERROR_ARGUMENT;
  ufp4_status_t status = get_operand(s + G_A, s[G_SCALE], m, k, operands[0], operands[1], &a);
  if (status != UFP4_OK) return (int)status;
  status = get_operand(s + G_B, s[G_SCALE], n, k, operands[2], operands[3], &b);
  if (status != UFP4_OK) {
    ufp4_operand_free(&a);
    return (int)status;
  }
  int add = s[G_ADD] != 0;
  void *added = NULL, *result = NULL;
  status = UFP4_ERROR_ARGUMENT;
  if (holds(d, count) && (!add || holds(c, count))) {
    added = add ? copy_in(c, count, element) : NULL;
    result = calloc((size_t)count, element);
    status = result == NULL || (add && added == NULL) ? UFP4_ERROR_MEMORY : UFP4_OK;
  }
  if (how->d_dtype == UFP4_DTYPE_I64) {
    how->accumulate = added;
    how->accumulate_ld = n;
  } else {
    how->c = added;
    how->c_ld = n;
  }
  if (status == UFP4_OK) status = ufp4_gemm(&a, &b, how, result, n);
  if (status == UFP4_OK) copy_out(d, count, element, result);
  free(result);
  free(added);
  ufp4_operand_free(&b);
  ufp4_operand_free(&a);
  return (int)status;
}

int ufp4_dpi_gemm(int m, int n, int k, const svBitVecVal *how_words, const svOpenArrayHandle a_codes,
                  const svOpenArrayHandle a_scales, const svOpenArrayHandle b_codes, const svOpenArrayHandle b_scales,
                  const svOpenArrayHandle c, const svOpenArrayHandle d) {
  const svOpenArrayHandle operands[4] = {a_codes, a_scales, b_codes, b_scales};
  ufp4_gemm_t how = {.contract = (ufp4_contract_t)how_words[G_CONTRACT], .alpha = ufp4_f32_value(how_words[G_ALPHA])};
  return multiply(m, n, k, how_words, &how, sizeof(float), operands, c, d);
}

int ufp4_dpi_gemm_sums(int m, int n, int k, const svBitVecVal *how_words, const svOpenArrayHandle a_codes,
                       const svOpenArrayHandle a_scales, const svOpenArrayHandle b_codes,
                       const svOpenArrayHandle b_scales, const svOpenArrayHandle c, const svOpenArrayHandle d) {
  const svOpenArrayHandle operands[4] = {a_codes, a_scales, b_codes, b_scales};
  ufp4_gemm_t how = {.contract = UFP4_CONTRACT_EXACT, .d_dtype = UFP4_DTYPE_I64, .alpha = 1};
  return multiply(m, n, k, how_words, &how, sizeof(int64_t), operands, c, d);
}
