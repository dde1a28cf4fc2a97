// SPDX-License-Identifier: Apache-2.0
#include "one.h"
#include "ufp4/combination.h"
#include "ufp4/random.h"

// cases.c has fixed sizes; here every kind of size, element, scale, output and kernel is drawn.

/** The bytes that draw case @p n of a seed, one after another. */
typedef struct {
  uint64_t seed, n;
  unsigned used;
} draw_t;

static uint64_t below(draw_t *draw, uint64_t limit) {
  uint8_t bytes[16];
  uint64_t word = 0;
  ufp4_random_block(draw->seed, draw->n, draw->used++, bytes);
  for (int i = 0; i < 8; i++) word = word << 8 | bytes[i];
  return word % limit;
}

/** Returns a size that is mostly small; whole numbers of blocks and tiles are as frequent as sizes
 * one larger. */
static int64_t size(draw_t *draw, uint64_t most) {
  static const int64_t steps[] = {16, 32, 64, 128, 192};
  const int64_t any = 1 + (int64_t)below(draw, below(draw, 4) == 0 ? most : 1 + most / 8);
  const int64_t step = steps[below(draw, 5)], whole = (any + step - 1) / step * step;
  switch (below(draw, 4)) {
    case 0:
      return whole;
    case 1:
      return whole + 1;
    default:
      return any;
  }
}

static ufp4_status_t fuzz_quantize(draw_t *draw, const engine_t *engine, char name[64],
                                   uint64_t *hash) {
  quantize_case_t c = {.id = draw->n << 16 ^ draw->seed};
  do {
    c.how = (ufp4_quantize_t){.elem = (ufp4_elem_t)below(draw, UFP4_ELEM_COUNT),
                              .scale = (ufp4_scale_t)below(draw, UFP4_SCALE_COUNT),
                              .layout = (ufp4_layout_t)below(draw, 2),
                              .rht = (ufp4_rht_t)below(draw, 3),
                              .round = (ufp4_round_t)below(draw, 2),
                              .scale_round = (ufp4_scale_round_t)below(draw, 4),
                              .rht_mask = (uint32_t)below(draw, 0x10000),
                              .axis = (ufp4_axis_t)below(draw, 2),
                              .seed = below(draw, UINT64_MAX),
                              .tensor_id = below(draw, UINT32_MAX)};
    c.how.rht_mask = c.how.rht == UFP4_RHT_NONE ? 0 : c.how.rht_mask;
  } while (ufp4_combination_quantize(&c.how, 0, "cuda", NULL) != UFP4_OK);
  c.dtype = below(draw, 2) ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
  c.rows = size(draw, 600);
  c.cols = size(draw, 600);
  c.data = (int)below(draw, DATA_COUNT);
  return one_quantize(&c, engine, name, hash);
}

static ufp4_status_t fuzz_gemm(draw_t *draw, const engine_t *engine, char name[64],
                               uint64_t *hash) {
  static const int tiles[] = {0, 64, 128, 192};
  gemm_case_t c;
  do {
    c.contract = (ufp4_contract_t)below(draw, UFP4_CONTRACT_COUNT);
    c.scale = (ufp4_scale_t)below(draw, UFP4_SCALE_COUNT);
    c.a = (ufp4_elem_t)below(draw, UFP4_ELEM_COUNT);
    c.b = (ufp4_elem_t)below(draw, UFP4_ELEM_COUNT);
  } while ((c.contract == UFP4_CONTRACT_NV && !engine->has_nv) ||
           ufp4_combination_gemm(c.a, c.b, c.scale, c.contract, "cuda", NULL) != UFP4_OK);
  const int any = c.scale == UFP4_SCALE_E4M3 || c.scale == UFP4_SCALE_E8M0;
  const int is_long = below(draw, 32) == 0;
  c.scales = (int)below(draw, any ? SCALES_COUNT : 1);
  // Contract nv takes no C together with alpha.
  c.d = (int)below(draw, c.contract == UFP4_CONTRACT_EXACT  ? D_COUNT
                         : c.contract == UFP4_CONTRACT_FP32 ? D_I64
                                                            : D_F32_ALPHA_C);
  c.m = size(draw, is_long ? 60 : 430);
  c.n = size(draw, is_long ? 60 : 430);
  c.k = size(draw, is_long ? 40000 : 1757);
  const ufp4_cuda_choice_t choice = {tiles[below(draw, 4)], (ufp4_cuda_product_t)below(draw, 2)};
  const uint64_t id = draw->n << 16 ^ draw->seed;
  const gemm_ids_t ids = {id, id + 1 + below(draw, 2), id + 3};
  return one_gemm(&c, &ids, &choice, engine, name, hash);
}

ufp4_status_t fuzz_run(uint64_t seed, uint64_t n, const engine_t *engine, char name[64],
                       uint64_t *hash) {
  draw_t draw = {seed ^ 0x66757A7A, n, 0};
  return below(&draw, 4) == 0 ? fuzz_quantize(&draw, engine, name, hash)
                              : fuzz_gemm(&draw, engine, name, hash);
}
