// SPDX-License-Identifier: Apache-2.0
// The C side of ufp4_dpi_pkg.sv, which documents each function: unpacks the arguments and calls the
// golden model. Packed vectors and packed structs arrive as 32-bit words, the lowest first; of a
// struct that is the last member. Simulators compile this file as C or as C++ (Verilator, on its
// command line), so it is valid as both, without warnings as C11 and as C++11.
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <svdpi.h>
#include <ufp4/combination.h>
#include <ufp4/format.h>
#include <ufp4/gemm.h>
#include <ufp4/quantize.h>
#include <ufp4/random.h>
#include <ufp4/rht.h>

#ifdef __cplusplus
extern "C" {
#define THREAD_LOCAL thread_local
#else
#define THREAD_LOCAL _Thread_local
#endif

// --- Why a call failed --------------------------------------------------------------------------

// The one exception to "no global state", because a DPI function has no other way to return a text.
// Each thread has its own, so that a multithreaded simulator reports the reason of its own call.
static THREAD_LOCAL ufp4_message_t last;

const char *ufp4_dpi_message(void) {
  return last.text;
}

static int fail(ufp4_status_t status) {
  ufp4_message_set(&last, "%s", ufp4_status_string(status));
  return (int)status;
}

static int in_range(const char *what, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return 1;
  ufp4_message_set(&last, "%s is %lld; it must be from %lld to %lld", what, (long long)value,
                   (long long)low, (long long)high);
  return 0;
}

static int is_elem(const char *what, int64_t elem) {
  return in_range(what, elem, 0, UFP4_ELEM_COUNT - 1);
}

// --- Elements and scales ------------------------------------------------------------------------

int ufp4_dpi_elem_quanta(int elem, unsigned char code) {
  return is_elem("elem", elem) ? ufp4_elem_quanta((ufp4_elem_t)elem, code) : 0;
}

unsigned ufp4_dpi_elem_value(int elem, unsigned char code) {
  return is_elem("elem", elem) ? ufp4_f32_bits(ufp4_elem_value((ufp4_elem_t)elem, code))
                               : UFP4_F32_NAN;
}

unsigned char ufp4_dpi_elem_cast(int elem, unsigned f32) {
  return is_elem("elem", elem) ? ufp4_elem_cast((ufp4_elem_t)elem, ufp4_f32_value(f32)) : 0;
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

// --- Random numbers -----------------------------------------------------------------------------

static uint64_t join(const svBitVecVal *words) {
  return (uint64_t)words[1] << 32 | words[0];
}

void ufp4_dpi_random_block(unsigned long long seed, unsigned long long tensor_id,
                           unsigned long long group, svBitVecVal *random) {
  uint8_t bytes[16];
  ufp4_random_block(seed, tensor_id, group, bytes);
  memset(random, 0, 16);
  for (int i = 0; i < 16; i++) random[i / 4] |= (svBitVecVal)bytes[i] << 8 * (i % 4);
}

int ufp4_dpi_threefry4x32(int rounds, const svBitVecVal *key, const svBitVecVal *counter,
                          svBitVecVal *words) {
  if (!in_range("rounds", rounds, 0, 72)) return UFP4_ERROR_ARGUMENT;
  ufp4_threefry4x32(rounds, key, counter, words);
  return UFP4_OK;
}

// --- Blocks -------------------------------------------------------------------------------------

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

int ufp4_dpi_quantize_block(const svBitVecVal *words, int elem, int rht, unsigned short mask,
                            int round, int scale_round, int exponent, const svBitVecVal *random,
                            svBitVecVal *codes, unsigned char *scale) {
  memset(codes, 0, 8);
  *scale = 0;
  if (!is_elem("elem", elem) || !in_range("rht", rht, UFP4_RHT_NONE, UFP4_RHT_INTEGER) ||
      !in_range("round", round, 0, UFP4_ROUND_COUNT - 1) ||
      !in_range("scale_round", scale_round, UFP4_SCALE_ROUND_RNE, UFP4_SCALE_ROUND_UP) ||
      !in_range("exponent", exponent, INT16_MIN, INT16_MAX)) {
    return -1;
  }
  ufp4_quantize_t how;
  memset(&how, 0, sizeof how);
  how.elem = (ufp4_elem_t)elem;
  how.rht = (ufp4_rht_t)rht;
  how.rht_mask = mask;
  how.round = (ufp4_round_t)round;
  how.scale_round = (ufp4_scale_round_t)scale_round;
  uint8_t bytes[16], unpacked[16];
  for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)(random[i / 4] >> 8 * (i % 4));
  unsigned flags = ufp4_quantize_block(words, &how, exponent, bytes, unpacked, scale);
  for (int i = 0; i < 16; i++) codes[i / 8] |= (svBitVecVal)unpacked[i] << 4 * (i % 8);
  return (int)flags;
}

static int quanta_at(int elem, const svBitVecVal *codes, int i) {
  return ufp4_elem_quanta((ufp4_elem_t)elem, codes[i / 8] >> 4 * (i % 8) & 15);
}

int ufp4_dpi_block_dot(int a_elem, int b_elem, const svBitVecVal *a_codes,
                       const svBitVecVal *b_codes) {
  int sum = 0;
  if (!is_elem("a_elem", a_elem) || !is_elem("b_elem", b_elem)) return 0;
  for (int i = 0; i < 16; i++) sum += quanta_at(a_elem, a_codes, i) * quanta_at(b_elem, b_codes, i);
  return sum;
}

// Makes an operand of one row from a block, packed as in the golden model, two codes to a byte, low
// nibble first.
static ufp4_operand_t block_operand(int elem, const svBitVecVal *words, uint8_t packed[8],
                                    uint8_t *scale) {
  for (int i = 0; i < 8; i++) packed[i] = (uint8_t)(words[i / 4] >> 8 * (i % 4));
  ufp4_operand_t operand;
  memset(&operand, 0, sizeof operand);
  operand.elem = (ufp4_elem_t)elem;
  operand.rows = operand.blocks = operand.scale_blocks = 1;
  operand.cols = operand.block = 16;
  operand.codes = packed;
  operand.scales = scale;
  operand.tensor_scale = 1;
  return operand;
}

static ufp4_gemm_t gemm_of(ufp4_contract_t contract, ufp4_dtype_t d_dtype, float alpha) {
  ufp4_gemm_t how;
  memset(&how, 0, sizeof how);
  how.contract = contract;
  how.d_dtype = d_dtype;
  how.alpha = alpha;
  return how;
}

long long ufp4_dpi_block_product(int a_elem, int b_elem, const svBitVecVal *a_codes,
                                 const svBitVecVal *b_codes, unsigned char a_scale,
                                 unsigned char b_scale) {
  uint8_t a_packed[8], b_packed[8];
  int64_t product = UFP4_I64_NAN;
  if (!is_elem("a_elem", a_elem) || !is_elem("b_elem", b_elem)) return product;
  ufp4_operand_t a = block_operand(a_elem, a_codes, a_packed, &a_scale);
  ufp4_operand_t b = block_operand(b_elem, b_codes, b_packed, &b_scale);
  ufp4_gemm_t how = gemm_of(UFP4_CONTRACT_EXACT, UFP4_DTYPE_I64, 1);
  return ufp4_gemm(&a, &b, &how, &product, 1) == UFP4_OK ? product : UFP4_I64_NAN;
}

unsigned ufp4_dpi_f32_from_scaled(long long sum, int exponent) {
  return ufp4_f32_from_scaled(sum, exponent);
}

// --- Matrices -----------------------------------------------------------------------------------

// An open array, and its name in the package.
typedef struct {
  svOpenArrayHandle handle;
  const char *name;
} array_t;

static array_t named(svOpenArrayHandle handle, const char *name) {
  array_t array = {handle, name};
  return array;
}

static int holds(array_t array, int64_t rows, int64_t cols) {
  int dimensions = svDimensions(array.handle), size = dimensions == 1 ? svSize(array.handle, 1) : 0;
  if (dimensions == 1 && size >= rows * cols) return 1;
  if (dimensions != 1) {
    ufp4_message_set(&last, "%s has %d dimensions; it must have 1", array.name, dimensions);
  } else {
    ufp4_message_set(&last, "%s has %d elements; %lld x %lld are needed", array.name, size,
                     (long long)rows, (long long)cols);
  }
  return 0;
}

// Returns the element at the index-th lowest index; an int holds any index for which holds() is
// true.
static void *at(array_t array, int64_t index) {
  return svGetArrElemPtr1(array.handle, svLow(array.handle, 1) + (int)index);
}

static uint8_t *byte_at(array_t array, int64_t index) {
  return (uint8_t *)at(array, index);
}

static uint32_t *word_at(array_t array, int64_t index) {
  return (uint32_t *)at(array, index);
}

static void *copy_in(array_t array, int64_t count, size_t element) {
  uint8_t *data = (uint8_t *)malloc((size_t)count * element);
  for (int64_t i = 0; data != NULL && i < count; i++)
    memcpy(data + (size_t)i * element, at(array, i), element);
  return data;
}

static void copy_out(array_t array, int64_t count, size_t element, const void *data) {
  for (int64_t i = 0; i < count; i++)
    memcpy(at(array, i), (const uint8_t *)data + (size_t)i * element, element);
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
  return is_elem("how.elem", s[Q_ELEM]) &&
         in_range("how.scale", s[Q_SCALE], 0, UFP4_SCALE_COUNT - 1) &&
         in_range("how.layout", s[Q_LAYOUT], 0, UFP4_LAYOUT_COUNT - 1) &&
         in_range("how.rht", s[Q_RHT], 0, UFP4_RHT_COUNT - 1) &&
         in_range("how.rht_mask", s[Q_MASK], 0, UINT16_MAX) &&
         in_range("how.round", s[Q_ROUND], 0, UFP4_ROUND_COUNT - 1) &&
         in_range("how.scale_round", s[Q_SCALE_ROUND], 0, UFP4_SCALE_ROUND_COUNT - 1) &&
         (s[Q_GIVEN] == 0 || in_range("how.exponent", (int)s[Q_EXPONENT], INT16_MIN, INT16_MAX));
}

static ufp4_quantize_t unpack_quantize(const svBitVecVal *s) {
  ufp4_quantize_t how;
  memset(&how, 0, sizeof how);
  how.elem = (ufp4_elem_t)s[Q_ELEM];
  how.scale = (ufp4_scale_t)s[Q_SCALE];
  how.layout = (ufp4_layout_t)s[Q_LAYOUT];
  how.rht = (ufp4_rht_t)s[Q_RHT];
  how.rht_mask = (uint16_t)s[Q_MASK];
  how.round = (ufp4_round_t)s[Q_ROUND];
  how.scale_round = (ufp4_scale_round_t)s[Q_SCALE_ROUND];
  how.seed = join(s + Q_SEED);
  how.tensor_id = join(s + Q_ID);
  how.exponent_given = s[Q_GIVEN] != 0;
  how.exponent = (int)s[Q_EXPONENT];
  return how;
}

static void put_codes(const ufp4_operand_t *operand, int64_t width, array_t codes) {
  for (int64_t i = 0; i < operand->rows * width; i++) {
    int64_t k = i % width;
    uint8_t pair = operand->codes[(i / width) * operand->blocks * 8 + k / 2];
    *byte_at(codes, i) = k % 2 ? pair >> 4 : pair & 15;
  }
}

static uint32_t scale_bits(const ufp4_operand_t *operand, int64_t i) {
  return operand->scales != NULL ? operand->scales[i] : ufp4_f32_bits(operand->scales_f32[i]);
}

int ufp4_dpi_quantize(int rows, int cols, const svBitVecVal *how_words, const svOpenArrayHandle x,
                      const svOpenArrayHandle codes, const svOpenArrayHandle scales, int *exponent,
                      unsigned *tensor_scale, int *flags) {
  array_t in = named(x, "x"), code_array = named(codes, "codes"),
          scale_array = named(scales, "scales");
  *exponent = *flags = 0;
  *tensor_scale = 0;
  if (!in_range("rows", rows, 1, UFP4_MAX_DIM) || !in_range("cols", cols, 1, UFP4_MAX_DIM))
    return UFP4_ERROR_ARGUMENT;
  if (!holds(in, rows, cols) || !is_quantize(how_words)) return UFP4_ERROR_ARGUMENT;
  ufp4_quantize_t how = unpack_quantize(how_words);
  ufp4_status_t status = ufp4_combination_quantize(&how, 0, NULL, &last);
  if (status != UFP4_OK) return (int)status;
  ufp4_operand_t operand;
  void *data = copy_in(in, (int64_t)rows * cols, sizeof(float));
  if (data == NULL) return fail(UFP4_ERROR_MEMORY);
  ufp4_matrix_t matrix = {UFP4_DTYPE_F32, rows, cols, cols, data};
  status = ufp4_quantize(&matrix, &how, &operand);
  free(data);
  if (status != UFP4_OK) return fail(status);
  int64_t width = how.rht == UFP4_RHT_NONE ? cols : operand.blocks * 16,
          count = rows * operand.scale_blocks;
  if (holds(code_array, rows, width) && holds(scale_array, rows, operand.scale_blocks)) {
    put_codes(&operand, width, code_array);
    for (int64_t i = 0; i < count; i++) *word_at(scale_array, i) = scale_bits(&operand, i);
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

// An operand argument of a GEMM, with names for error messages.
typedef struct {
  const svBitVecVal *words;
  array_t codes, scales;
  const char *elem, *exponent, *tensor_scale;
} side_t;

static side_t side_of(int b, const svBitVecVal *words, svOpenArrayHandle codes,
                      svOpenArrayHandle scales) {
  static const char *const names[2][5] = {
      {"a_codes", "a_scales", "how.a.elem", "how.a.exponent", "how.a.tensor_scale"},
      {"b_codes", "b_scales", "how.b.elem", "how.b.exponent", "how.b.tensor_scale"}};
  side_t side = {
      words,      named(codes, names[b][0]), named(scales, names[b][1]), names[b][2], names[b][3],
      names[b][4]};
  return side;
}

static int is_positive(const char *what, float value) {
  if (value > 0.0f && value <= FLT_MAX) return 1;
  ufp4_message_set(&last, "%s is %g; a finite number above 0 is needed", what, (double)value);
  return 0;
}

static int check_side(const side_t *side, svBitVecVal scale, int rows, int k) {
  const svBitVecVal *s = side->words;
  return is_elem(side->elem, s[O_ELEM]) && holds(side->codes, rows, k) &&
         holds(side->scales, rows, (k - 1) / ufp4_scale_block((ufp4_scale_t)scale) + 1) &&
         (scale != UFP4_SCALE_E4M3 ||
          in_range(side->exponent, (int)s[O_EXPONENT], INT16_MIN, INT16_MAX)) &&
         (scale != UFP4_SCALE_NVFP4 ||
          is_positive(side->tensor_scale, ufp4_f32_value(s[O_TENSOR_SCALE])));
}

static int get_scales(array_t scales, ufp4_operand_t *out) {
  for (int64_t i = 0; i < out->rows * out->scale_blocks; i++) {
    uint32_t bits = *word_at(scales, i);
    float value = ufp4_f32_value(bits);
    if (out->scales != NULL) {
      out->scales[i] = (uint8_t)bits;
    } else if (value < 0.0f || value > FLT_MAX) {
      ufp4_message_set(&last, "%s holds %g; FP32 scales are finite and not negative", scales.name,
                       (double)value);
      return 0;
    } else {
      out->scales_f32[i] = value;
    }
  }
  return 1;
}

// Makes an operand from [rows][k] codes and their scales; the caller frees it if the status is
// UFP4_OK.
static int get_operand(const side_t *side, svBitVecVal scale, int rows, int k,
                       ufp4_operand_t *out) {
  if (!check_side(side, scale, rows, k)) return UFP4_ERROR_ARGUMENT;
  ufp4_status_t status = ufp4_operand_create_scaled((ufp4_elem_t)side->words[O_ELEM],
                                                    (ufp4_scale_t)scale, rows, k, out);
  if (status != UFP4_OK) return fail(status);
  for (int64_t i = 0; i < (int64_t)rows * k; i++) {
    int64_t column = i % k;
    unsigned code = *byte_at(side->codes, i) & 15u;
    out->codes[(i / k) * out->blocks * 8 + column / 2] |= (uint8_t)(column % 2 ? code << 4 : code);
  }
  if (scale == UFP4_SCALE_E4M3) out->exponent = (int)side->words[O_EXPONENT];
  if (scale == UFP4_SCALE_NVFP4) out->tensor_scale = ufp4_f32_value(side->words[O_TENSOR_SCALE]);
  if (get_scales(side->scales, out)) return UFP4_OK;
  ufp4_operand_free(out);
  return UFP4_ERROR_ARGUMENT;
}

// The arrays of the addend c and of the result d, with their bytes per element; c is read only if
// add is set.
typedef struct {
  array_t c, d;
  size_t element;
  int add;
} result_t;

static int multiply_operands(const ufp4_operand_t *a, const ufp4_operand_t *b, ufp4_gemm_t *how,
                             const result_t *target) {
  int64_t count = a->rows * b->rows;
  if (!holds(target->d, a->rows, b->rows) || (target->add && !holds(target->c, a->rows, b->rows)))
    return UFP4_ERROR_ARGUMENT;
  void *added = target->add ? copy_in(target->c, count, target->element) : NULL,
       *result = calloc((size_t)count, target->element);
  if (how->d_dtype == UFP4_DTYPE_I64) {
    how->accumulate = (const int64_t *)added;
    how->accumulate_ld = b->rows;
  } else {
    how->c = (const float *)added;
    how->c_ld = b->rows;
  }
  ufp4_status_t status = ufp4_gemm_check(a, b, how, &last);
  if (status == UFP4_OK) {
    status = result == NULL || (target->add && added == NULL)
                 ? UFP4_ERROR_MEMORY
                 : ufp4_gemm(a, b, how, result, b->rows);
    if (status != UFP4_OK) fail(status);
  }
  if (status == UFP4_OK) copy_out(target->d, count, target->element, result);
  free(result);
  free(added);
  return (int)status;
}

// Runs either GEMM; the arrays are in the order of the package's arguments.
static int multiply(int m, int n, int k, const svBitVecVal *s, ufp4_gemm_t *how,
                    const svOpenArrayHandle arrays[6]) {
  const side_t sides[2] = {side_of(0, s + G_A, arrays[0], arrays[1]),
                           side_of(1, s + G_B, arrays[2], arrays[3])};
  const result_t to = {named(arrays[4], "c"), named(arrays[5], "d"),
                       how->d_dtype == UFP4_DTYPE_I64 ? sizeof(int64_t) : sizeof(float),
                       s[G_ADD] != 0};
  ufp4_operand_t a, b;
  if (!in_range("m", m, 1, UFP4_MAX_DIM) || !in_range("n", n, 1, UFP4_MAX_DIM) ||
      !in_range("k", k, 1, UFP4_MAX_DIM) ||
      !in_range("how.scale", s[G_SCALE], 0, UFP4_SCALE_COUNT - 1)) {
    return UFP4_ERROR_ARGUMENT;
  }
  int status = get_operand(&sides[0], s[G_SCALE], m, k, &a);
  if (status != UFP4_OK) return status;
  status = get_operand(&sides[1], s[G_SCALE], n, k, &b);
  if (status == UFP4_OK) {
    status = multiply_operands(&a, &b, how, &to);
    ufp4_operand_free(&b);
  }
  ufp4_operand_free(&a);
  return status;
}

int ufp4_dpi_gemm(int m, int n, int k, const svBitVecVal *how_words,
                  const svOpenArrayHandle a_codes, const svOpenArrayHandle a_scales,
                  const svOpenArrayHandle b_codes, const svOpenArrayHandle b_scales,
                  const svOpenArrayHandle c, const svOpenArrayHandle d) {
  const svOpenArrayHandle arrays[] = {a_codes, a_scales, b_codes, b_scales, c, d};
  if (!in_range("how.contract", how_words[G_CONTRACT], 0, UFP4_CONTRACT_COUNT - 1))
    return UFP4_ERROR_ARGUMENT;
  ufp4_gemm_t how = gemm_of((ufp4_contract_t)how_words[G_CONTRACT], UFP4_DTYPE_F32,
                            ufp4_f32_value(how_words[G_ALPHA]));
  return multiply(m, n, k, how_words, &how, arrays);
}

int ufp4_dpi_gemm_sums(int m, int n, int k, const svBitVecVal *how_words,
                       const svOpenArrayHandle a_codes, const svOpenArrayHandle a_scales,
                       const svOpenArrayHandle b_codes, const svOpenArrayHandle b_scales,
                       const svOpenArrayHandle c, const svOpenArrayHandle d) {
  const svOpenArrayHandle arrays[] = {a_codes, a_scales, b_codes, b_scales, c, d};
  ufp4_gemm_t how = gemm_of(UFP4_CONTRACT_EXACT, UFP4_DTYPE_I64, 1);
  return multiply(m, n, k, how_words, &how, arrays);
}

#ifdef __cplusplus
}
#endif
