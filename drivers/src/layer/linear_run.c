// SPDX-License-Identifier: Apache-2.0
// One training GEMM of a layer, on the copies that were loaded.
#include "linear.h"
#include "sgemm.h"

static ufp4_status_t run_on_host(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_sgemm_view_t views[2];  // [rows][k]
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    if (!linear->host_loaded[roles[i]]) {
      return device_fail(
          linear->device, UFP4_ERROR_ARGUMENT,
          "ufp4_linear_run: an operand of this pass is not loaded; call ufp4_linear_load first");
    }
    int64_t rows, cols;
    linear_role_shape(&linear->shape, roles[i], &rows, &cols);
    int transposed = axes[i] == UFP4_AXIS_COL;
    views[i] =
        (ufp4_sgemm_view_t){linear->host[roles[i]], transposed ? 1 : cols, transposed ? cols : 1};
  }
  int64_t m, n, k;
  linear_pass_shape(&linear->shape, pass, &m, &n, &k);
  ufp4_sgemm(m, n, k, views[0], (ufp4_sgemm_view_t){views[1].data, views[1].col, views[1].row}, d,
             d_ld, 0);
  return UFP4_OK;
}

// Finds the copies that a pass reads: A, B.
static ufp4_status_t pass_copies(ufp4_linear_t *linear, ufp4_pass_t pass, const copy_t *copies[2]) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2; i++) copies[i] = &linear->copies[roles[i]][axes[i]];
  if (!copies[0]->loaded || !copies[1]->loaded)
    return device_fail(
        linear->device, UFP4_ERROR_ARGUMENT,
        "ufp4_linear_run: an operand of this pass is not loaded; call ufp4_linear_load first");
  if (linear->recipe.signs == UFP4_SIGNS_FIXED || copies[0]->step == copies[1]->step)
    return UFP4_OK;
  return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                     "ufp4_linear_run: the operands were loaded for steps %llu and %llu, whose "
                     "transforms have different signs; load both for the same step",
                     (unsigned long long)copies[0]->step, (unsigned long long)copies[1]->step);
}

static ufp4_status_t run_golden(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld,
                                ufp4_gemm_stats_t *stats) {
  const copy_t *copies[2];
  ufp4_status_t status = pass_copies(linear, pass, copies);
  if (status != UFP4_OK) return status;
  const ufp4_gemm_t how = {
      .contract = linear->recipe.contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1.0f};
  ufp4_device_t *device = linear->device;
  if (copies[0]->kept != NULL)
    return device_note(device, device->backend->kept_gemm(device->state, copies[0]->kept,
                                                          copies[1]->kept, &how, d, d_ld));
  return ufp4_device_gemm(linear->device, &copies[0]->golden, &copies[1]->golden, &how, d, d_ld,
                          stats);
}

static ufp4_descriptor_t describe_gemm(const ufp4_linear_t *linear, ufp4_pass_t pass,
                                       const copy_t *a, const copy_t *b) {
  ufp4_descriptor_t descriptor = {.gemm = {.opcode = UFP4_OPCODE_GEMM}};
  ufp4_gemm_descriptor_t *gemm = &descriptor.gemm;
  int64_t m, n, k;
  linear_pass_shape(&linear->shape, pass, &m, &n, &k);
  gemm->m = (uint32_t)m;
  gemm->n = (uint32_t)n;
  gemm->k = (uint32_t)k;
  gemm->contract = (uint8_t)linear->recipe.contract;
  gemm->a_elem = gemm->b_elem = (uint8_t)linear->recipe.elem;
  gemm->scale = (uint8_t)linear->recipe.scale;
  gemm->d_dtype = UFP4_DTYPE_F32;
  gemm->a_exponent = (uint16_t)(int16_t)a->exponent;
  gemm->b_exponent = (uint16_t)(int16_t)b->exponent;
  gemm->a_codes_addr = a->codes;
  gemm->a_scales_addr = a->scales;
  gemm->b_codes_addr = b->codes;
  gemm->b_scales_addr = b->scales;
  gemm->a_stride_blocks = (uint32_t)a->stride_blocks;
  gemm->b_stride_blocks = (uint32_t)b->stride_blocks;
  gemm->d_addr = linear->output;
  gemm->d_stride_bytes = (uint32_t)linear_stride_bytes(n, sizeof(float));
  return descriptor;
}

static ufp4_status_t read_output(ufp4_linear_t *linear, int64_t m, int64_t n, float *d,
                                 int64_t d_ld) {
  return device_rows_read(linear->device,
                          (device_rows_t){.address = linear->output,
                                          .stride = linear_stride_bytes(n, sizeof(float)),
                                          .ld_bytes = (uint64_t)d_ld * sizeof(float),
                                          .row_bytes = (uint64_t)n * sizeof(float),
                                          .rows = (uint64_t)m},
                          d);
}

static ufp4_status_t run_on_device(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld,
                                   ufp4_gemm_stats_t *stats) {
  const copy_t *copies[2];
  ufp4_status_t status = pass_copies(linear, pass, copies);
  if (status != UFP4_OK) return status;
  ufp4_descriptor_t descriptor = describe_gemm(linear, pass, copies[0], copies[1]);
  status = job_measure(linear->device, &descriptor, stats, NULL);
  if (status != UFP4_OK) return status;
  stats->quantize_cycles = linear->quantize_cycles;
  linear->quantize_cycles = 0;
  return read_output(linear, stats->m, stats->n, d, d_ld);
}

ufp4_status_t ufp4_linear_run(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld,
                              ufp4_gemm_stats_t *stats) {
  if (linear == NULL) return UFP4_ERROR_ARGUMENT;
  ufp4_status_t status = device_check(linear->device);
  if (status != UFP4_OK) return status;
  if ((unsigned)pass >= UFP4_PASS_COUNT || !(linear->shape.passes >> pass & 1)) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                       "ufp4_linear_run: pass %d is not one of this layer's passes", (int)pass);
  }
  ufp4_gemm_stats_t own = {0};
  linear_pass_shape(&linear->shape, pass, &own.m, &own.n, &own.k);
  if (d == NULL)
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "ufp4_linear_run: d is NULL");
  if (d_ld < own.n) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                       "ufp4_linear_run: d_ld is %lld; it must be at least %lld", (long long)d_ld,
                       (long long)own.n);
  }
  if (linear->host_passes >> pass & 1) {
    status = run_on_host(linear, pass, d, d_ld);
  } else if (linear->golden) {
    status = run_golden(linear, pass, d, d_ld, &own);
  } else {
    status = run_on_device(linear, pass, d, d_ld, &own);
  }
  if (status == UFP4_OK && stats != NULL) *stats = own;
  return status;
}
