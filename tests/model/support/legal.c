// SPDX-License-Identifier: Apache-2.0
#include "legal.h"

ufp4_quantize_t legal_quantize_combination(int n) {
  const ufp4_quantize_t how = {.elem = (ufp4_elem_t)(n % 3),
                               .scale = (ufp4_scale_t)(n / 3 % 4),
                               .layout = (ufp4_layout_t)(n / 12 % 2),
                               .rht = (ufp4_rht_t)(n / 24 % 3),
                               .round = (ufp4_round_t)(n / 72 % 2),
                               .scale_round = (ufp4_scale_round_t)(n / 144 % 4),
                               .rht_mask = n % 5 ? UFP4_RHT_DEFAULT_MASK : 0x1234,
                               .seed = 0x0123456789ABCDEFu * (uint64_t)n,
                               .tensor_id = 0xFEDCBA9876543210u - (uint64_t)n};
  return how;
}

int legal_quantize(const ufp4_quantize_t *how) {
  switch (how->scale) {
    case UFP4_SCALE_NVFP4:
      return how->rht != UFP4_RHT_INTEGER &&
             (how->scale_round == UFP4_SCALE_ROUND_RNE ||
              (how->scale_round == UFP4_SCALE_ROUND_46 && how->elem == UFP4_ELEM_E2M1));
    case UFP4_SCALE_E8M0:
      return how->rht != UFP4_RHT_BF16 && how->layout == UFP4_LAYOUT_1D &&
             (how->scale_round == UFP4_SCALE_ROUND_UP || how->scale_round == UFP4_SCALE_ROUND_DOWN);
    case UFP4_SCALE_FP32:
      return how->rht != UFP4_RHT_BF16 && how->scale_round == UFP4_SCALE_ROUND_RNE;
    default:
      return how->scale_round == UFP4_SCALE_ROUND_RNE || how->scale_round == UFP4_SCALE_ROUND_UP;
  }
}

legal_gemm_t legal_gemm_combination(int n) {
  const legal_gemm_t out = {(ufp4_elem_t)(n % 3), (ufp4_elem_t)(n / 3 % 3),
                            (ufp4_scale_t)(n / 9 % 4), (ufp4_contract_t)(n / 36)};
  return out;
}

int legal_gemm(const legal_gemm_t *c) {
  switch (c->contract) {
    case UFP4_CONTRACT_EXACT:
      return c->scale == UFP4_SCALE_E4M3 || c->scale == UFP4_SCALE_NVFP4;
    case UFP4_CONTRACT_NV:
      return c->scale != UFP4_SCALE_FP32 && c->a != UFP4_ELEM_INT4 && c->b != UFP4_ELEM_INT4;
    default:
      return 1;
  }
}
