// SPDX-License-Identifier: Apache-2.0
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *memory(int64_t bytes) {
  void *out = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
  if (out == NULL) abort();
  memset(out, 0xA5, (size_t)bytes);
  return out;
}

enum { WORKSPACE_BYTES = 32 << 20, GUARD = 64, ODD = 7 };

engine_t engine_open(int capability, uintptr_t stream) {
  const emulated_weather_t weather = {.capability = capability, .early_copies = capability == 80};
  engine_t engine = {.stream = (struct CUstream_st *)stream};
  emulated_counts_t ignored;
  emulated_set_weather(&weather);
  if (ufp4_cuda_open(-1, &engine.cuda, &engine.message) != UFP4_OK) {
    fprintf(stderr, "%s\n", engine.message.text);
    abort();
  }
  emulated_counts_taken(&ignored);
  engine.workspace = memory(WORKSPACE_BYTES);
  return engine;
}

void engine_close(engine_t *engine) {
  ufp4_cuda_close(engine->cuda);
  free(engine->workspace);
}

void engine_check_quiet(const char *what) {
  emulated_counts_t counts;
  emulated_counts_taken(&counts);
  check_bits(0, counts.allocations, 0, "%s: allocations", what);
  check_bits(0, counts.synchronizations, 0, "%s: waits", what);
  check_bits(0, counts.bytes_to_device + counts.bytes_to_host, 0, "%s: bytes copied", what);
  check_bits(0, counts.works_on_default, 0, "%s: work on the default stream", what);
  check_that(0, counts.works > 0, "%s: no work at all", what);
}

// --- Copies -------------------------------------------------------------------------------------

static int64_t blocks_of(const ufp4_cuda_operand_t *x) {
  return (x->cols + 15) / 16;
}

static size_t scale_bytes(const ufp4_cuda_operand_t *x) {
  return x->scale == UFP4_SCALE_FP32 ? 4 : 1;
}

void placed_create(const ufp4_matrix_t *in, const ufp4_quantize_t *how, placed_t *out) {
  const int turned = how->axis == UFP4_AXIS_COL;
  *out = (placed_t){.how = *how,
                    .x = {.elem = how->elem,
                          .scale = how->scale,
                          .rows = turned ? in->cols : in->rows,
                          .cols = turned ? in->rows : in->cols},
                    .exponent = -12345,
                    .tensor_scale = 1e9f};
  const int64_t entries = out->x.rows * blocks_of(&out->x);
  out->x.codes = memory(entries * 8);
  out->x.scales = memory(entries * (int64_t)scale_bytes(&out->x));
  out->x.exponent = &out->exponent;
  out->x.tensor_scale = &out->tensor_scale;
  out->x.exponent_value = 77;  // never read
}

void placed_free(placed_t *placed) {
  free(placed->x.codes);
  free(placed->x.scales);
}

void placed_check(const placed_t *got, const ufp4_operand_t *want, const char *what) {
  const int64_t per = want->block / 16;
  for (int64_t i = 0; i < want->rows * want->blocks; i++) {
    const int64_t scale = i / want->blocks * want->scale_blocks + i % want->blocks / per;
    const void *from =
        want->scales_f32 != NULL ? (const void *)&want->scales_f32[scale] : &want->scales[scale];
    const size_t size = scale_bytes(&got->x);
    uint64_t words[4] = {0, 0, 0, 0};
    memcpy(&words[0], got->x.codes + 8 * i, 8);
    memcpy(&words[1], want->codes + 8 * i, 8);
    memcpy(&words[2], (const uint8_t *)got->x.scales + (size_t)i * size, size);
    memcpy(&words[3], from, size);
    if (!check_bits(i, words[0], words[1], "%s: codes", what) ||
        !check_bits(i, words[2], words[3], "%s: scale", what))
      return;
  }
  if (want->scale != UFP4_SCALE_NVFP4)
    check_bits(0, (uint64_t)got->exponent, (uint64_t)want->exponent, "%s: exponent", what);
  check_bits(0, ufp4_f32_bits(got->tensor_scale), ufp4_f32_bits(want->tensor_scale),
             "%s: tensor scale", what);
}

// --- Calls --------------------------------------------------------------------------------------

// Returns a call with the workspace that all calls share; the bytes after it must stay unwritten.
static ufp4_cuda_call_t call_of(engine_t *engine, size_t bytes) {
  if (bytes + ODD + GUARD > WORKSPACE_BYTES) abort();
  memset(engine->workspace, 0xA5, ODD + bytes + GUARD);
  return (ufp4_cuda_call_t){.stream = engine->stream,
                            .workspace = engine->workspace + ODD,
                            .workspace_bytes = bytes,
                            .message = &engine->message,
                            .random = engine->random,
                            .signs = engine->signs};
}

static void check_guard(const ufp4_cuda_call_t *call) {
  const uint8_t *end = (const uint8_t *)call->workspace + call->workspace_bytes;
  for (int i = 0; i < GUARD; i++) check_bits(i, end[i], 0xA5, "behind the workspace");
}

typedef ufp4_status_t quantize_call_t(const ufp4_cuda_t *, const ufp4_matrix_t *,
                                      const ufp4_quantize_t *, const ufp4_cuda_operand_t *, int,
                                      uint32_t *, const ufp4_cuda_call_t *);

static ufp4_status_t quantize(quantize_call_t *function, engine_t *engine, const ufp4_matrix_t *in,
                              const placed_t *copies, int count, uint32_t *flags) {
  ufp4_quantize_t how[2];
  ufp4_cuda_operand_t out[2];
  const ufp4_cuda_call_t call = call_of(engine, ufp4_cuda_quantize_workspace(engine->cuda, in));
  for (int i = 0; i < count; i++) {
    how[i] = copies[i].how;
    out[i] = copies[i].x;
  }
  const ufp4_status_t status = function(engine->cuda, in, how, out, count, flags, &call);
  // The caller may change its arguments as soon as the call returns.
  memset(how, 0xEE, sizeof how);
  memset(out, 0xEE, sizeof out);
  check_guard(&call);
  return status;
}

ufp4_status_t engine_quantize(engine_t *engine, const ufp4_matrix_t *in, placed_t *copies,
                              int count, uint32_t *flags) {
  return quantize(ufp4_cuda_quantize, engine, in, copies, count, flags);
}

ufp4_status_t engine_amax(engine_t *engine, const ufp4_matrix_t *in, placed_t *copies, int count,
                          uint32_t *flags) {
  return quantize(ufp4_cuda_amax, engine, in, copies, count, flags);
}

ufp4_status_t engine_gemm(engine_t *engine, const placed_t *a, const placed_t *b,
                          const ufp4_gemm_t *how, void *d, int64_t d_ld) {
  const ufp4_cuda_call_t call =
      call_of(engine, ufp4_cuda_gemm_workspace(engine->cuda, &a->x, &b->x, how));
  const ufp4_status_t status = ufp4_cuda_gemm(engine->cuda, &a->x, &b->x, how, d, d_ld, &call);
  check_guard(&call);
  return status;
}
