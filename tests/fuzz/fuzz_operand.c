// SPDX-License-Identifier: Apache-2.0
// Reads quantized operands from .safetensors files: an operand that is read can be written, read
// again, decoded and multiplied.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ufp4/gemm.h"
#include "ufp4_file.h"

#define MAX_ELEMENTS 20000  // of operands that are multiplied

static void demand_equal(const ufp4_operand_t *got, const ufp4_operand_t *want) {
  int64_t bytes, want_bytes;
  const uint8_t *scales = ufp4_operand_scale_bytes(got, &bytes);
  const uint8_t *want_scales = ufp4_operand_scale_bytes(want, &want_bytes);
  fuzz_demand(got->elem == want->elem && got->scale == want->scale, "formats stay");
  fuzz_demand(got->rows == want->rows && got->cols == want->cols && bytes == want_bytes,
              "the shape stays");
  fuzz_demand(memcmp(got->codes, want->codes, (size_t)(want->rows * want->blocks * 8)) == 0,
              "codes stay");
  fuzz_demand(memcmp(scales, want_scales, (size_t)bytes) == 0, "scales stay");
  fuzz_demand(got->exponent == want->exponent && got->flags == want->flags,
              "exponent and flags stay");
  fuzz_demand(memcmp(&got->tensor_scale, &want->tensor_scale, sizeof want->tensor_scale) == 0,
              "tensor scale stays");
}

static void check_again(const ufp4_operand_t *operand, const ufp4_quantize_t *how, int packed) {
  ufp4_message_t message = {0};
  ufp4_operand_t again;
  ufp4_quantize_t how_again;
  const char *path = fuzz_path("again.safetensors");
  fuzz_demand(ufp4_operand_write(path, operand, how, packed, &message) == UFP4_OK,
              "what was read can be written");
  fuzz_demand(ufp4_operand_read(path, &again, &how_again, &message) == UFP4_OK,
              "what was written can be read");
  demand_equal(&again, operand);
  fuzz_demand(how_again.seed == how->seed && how_again.tensor_id == how->tensor_id &&
                  how_again.rht == how->rht && how_again.rht_mask == how->rht_mask &&
                  how_again.axis == how->axis && how_again.round == how->round &&
                  how_again.scale_round == how->scale_round,
              "metadata stay");
  ufp4_operand_free(&again);
}

static void check_use(const ufp4_operand_t *operand) {
  const ufp4_gemm_t how = {.contract = ufp4_gemm_default_contract(operand->scale), .alpha = 1};
  int64_t values = operand->rows * operand->blocks * 16, outputs = operand->rows * operand->rows;
  if (values > MAX_ELEMENTS || outputs > MAX_ELEMENTS) return;
  float *out = malloc((size_t)(values > outputs ? values : outputs) * sizeof *out);
  fuzz_demand(out != NULL, "there is memory");
  fuzz_demand(ufp4_dequantize(operand, operand->cols, out, operand->cols) == UFP4_OK,
              "it can be decoded");
  fuzz_demand(ufp4_gemm(operand, operand, &how, out, operand->rows) == UFP4_OK,
              "it can be multiplied");
  free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ufp4_message_t message = {0};
  ufp4_operand_t operand;
  ufp4_quantize_t how;
  // The third bit selects a layer of a checkpoint, the fourth an expert of that layer.
  char path[400];
  const int layer = size != 0 ? data[0] >> 2 & 3 : 0;
  snprintf(path, sizeof path, "%s%s%s", fuzz_safetensors("q.safetensors", data, size),
           layer & 1 ? ":a" : "", layer == 3 ? ":1" : "");
  ufp4_status_t status = ufp4_operand_read(path, &operand, &how, &message);
  fuzz_demand_message(status, &message);
  fuzz_demand(status == UFP4_OK || status == UFP4_ERROR_FORMAT || status == UFP4_ERROR_ARGUMENT,
              "FORMAT or ARGUMENT");
  fuzz_demand((status == UFP4_OK) == (operand.codes != NULL),
              "an operand if and only if it is read");
  if (status != UFP4_OK) return 0;
  check_again(&operand, &how, data[0] >> 1 & 1);
  check_use(&operand);
  ufp4_operand_free(&operand);
  return 0;
}
