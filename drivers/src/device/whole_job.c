// SPDX-License-Identifier: Apache-2.0
// Runs a GEMM of operands in host memory as one descriptor: the inputs go into buffers, and D is
// read back.
#include <stdlib.h>
#include <string.h>

#include "device.h"

enum { A_CODES, A_SCALES, B_CODES, B_SCALES, D, C, SUMS, BUFFERS };

typedef struct {
  ufp4_device_t *device;
  uint64_t buffers[BUFFERS];
  ufp4_descriptor_t descriptor;
} work_t;

static uint64_t row_stride(int64_t cols, uint64_t element_bytes) {
  uint64_t bytes = (uint64_t)cols * element_bytes;
  return (bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
}

static uint64_t element_bytes(ufp4_dtype_t dtype) {
  return dtype == UFP4_DTYPE_BF16  ? sizeof(uint16_t)
         : dtype == UFP4_DTYPE_I64 ? sizeof(int64_t)
                                   : sizeof(float);
}

static ufp4_status_t upload_operand(work_t *work, const ufp4_operand_t *operand, int codes) {
  const int64_t stride = ufp4_panel_stride_blocks(operand->cols);
  const uint64_t code_bytes = (uint64_t)ufp4_panel_codes_bytes(operand->rows, stride);
  const uint64_t scale_bytes = (uint64_t)ufp4_panel_scales_bytes(operand->rows, stride);
  uint64_t *to = work->buffers + codes;
  uint8_t *memory = calloc(ufp4_matrix_bytes((int64_t)(code_bytes + scale_bytes), 1, 1), 1);
  if (memory == NULL)
    return device_fail(work->device, UFP4_ERROR_MEMORY, "the host is out of memory");
  ufp4_panel_pack(operand, stride, memory, memory + code_bytes);
  ufp4_status_t status = ufp4_buffer_alloc(work->device, code_bytes, &to[0]);
  if (status == UFP4_OK) status = ufp4_buffer_alloc(work->device, scale_bytes, &to[1]);
  if (status == UFP4_OK) status = ufp4_buffer_write(work->device, to[0], memory, code_bytes);
  if (status == UFP4_OK)
    status = ufp4_buffer_write(work->device, to[1], memory + code_bytes, scale_bytes);
  free(memory);
  return status;
}

// Allocates and writes a plain tensor of the shape of D, if @p data is not NULL, and returns its
// stride.
static ufp4_status_t upload_plain(work_t *work, const void *data, int64_t ld, uint64_t element,
                                  int buffer, uint32_t *stride_bytes) {
  const ufp4_gemm_descriptor_t *gemm = &work->descriptor.gemm;
  const uint64_t stride = row_stride(gemm->n, element);
  *stride_bytes = (uint32_t)stride;
  if (data == NULL) return UFP4_OK;
  ufp4_status_t status = ufp4_buffer_alloc(work->device, gemm->m * stride, &work->buffers[buffer]);
  return status != UFP4_OK ? status
                           : device_rows_write(work->device,
                                               (device_rows_t){.address = work->buffers[buffer],
                                                               .stride = stride,
                                                               .ld_bytes = (uint64_t)ld * element,
                                                               .row_bytes = gemm->n * element,
                                                               .rows = gemm->m},
                                               data);
}

static void describe_operands(work_t *work, const ufp4_operand_t *a, const ufp4_operand_t *b) {
  ufp4_gemm_descriptor_t *gemm = &work->descriptor.gemm;
  gemm->m = (uint32_t)a->rows;
  gemm->n = (uint32_t)b->rows;
  gemm->k = (uint32_t)a->cols;
  gemm->a_elem = (uint8_t)a->elem;
  gemm->b_elem = (uint8_t)b->elem;
  gemm->scale = (uint8_t)a->scale;
  gemm->a_exponent = (uint16_t)(int16_t)a->exponent;
  gemm->b_exponent = (uint16_t)(int16_t)b->exponent;
  gemm->a_stride_blocks = (uint32_t)ufp4_panel_stride_blocks(a->cols);
  gemm->b_stride_blocks = (uint32_t)ufp4_panel_stride_blocks(b->cols);
  if (a->scale == UFP4_SCALE_NVFP4)
    gemm->tensor_scale = ufp4_f32_bits(a->tensor_scale * b->tensor_scale);
}

static void describe_result(work_t *work, const ufp4_gemm_t *how) {
  ufp4_gemm_descriptor_t *gemm = &work->descriptor.gemm;
  gemm->opcode = UFP4_OPCODE_GEMM;
  gemm->contract = (uint8_t)how->contract;
  gemm->d_dtype = (uint8_t)how->d_dtype;
  gemm->alpha = ufp4_f32_bits(how->alpha);
  if (how->accumulate != NULL) gemm->d_mode |= UFP4_D_MODE_SUMS;
  if (how->alpha != 1.0f) gemm->d_mode |= UFP4_D_MODE_ALPHA;
  if (how->c != NULL) gemm->d_mode |= UFP4_D_MODE_C;
}

static void describe_addresses(work_t *work) {
  ufp4_gemm_descriptor_t *gemm = &work->descriptor.gemm;
  gemm->a_codes_addr = work->buffers[A_CODES];
  gemm->a_scales_addr = work->buffers[A_SCALES];
  gemm->b_codes_addr = work->buffers[B_CODES];
  gemm->b_scales_addr = work->buffers[B_SCALES];
  gemm->d_addr = work->buffers[D];
  gemm->c_addr = work->buffers[C];
  gemm->sums_addr = work->buffers[SUMS];
}

static ufp4_status_t upload_all(work_t *work, const ufp4_operand_t *a, const ufp4_operand_t *b,
                                const ufp4_gemm_t *how) {
  ufp4_gemm_descriptor_t *gemm = &work->descriptor.gemm;
  ufp4_status_t status = upload_operand(work, a, A_CODES);
  if (status == UFP4_OK) status = upload_operand(work, b, B_CODES);
  if (status == UFP4_OK)
    status = upload_plain(work, how->c, how->c_ld, sizeof(float), C, &gemm->c_stride_bytes);
  if (status == UFP4_OK) {
    status = upload_plain(work, how->accumulate, how->accumulate_ld, sizeof(int64_t), SUMS,
                          &gemm->sums_stride_bytes);
  }
  if (status != UFP4_OK) return status;
  gemm->d_stride_bytes = (uint32_t)row_stride(gemm->n, element_bytes(how->d_dtype));
  return ufp4_buffer_alloc(work->device, (uint64_t)gemm->m * gemm->d_stride_bytes,
                           &work->buffers[D]);
}

static ufp4_status_t download(const work_t *work, uint64_t element, void *d, int64_t d_ld) {
  const ufp4_gemm_descriptor_t *gemm = &work->descriptor.gemm;
  return device_rows_read(work->device,
                          (device_rows_t){.address = gemm->d_addr,
                                          .stride = gemm->d_stride_bytes,
                                          .ld_bytes = (uint64_t)d_ld * element,
                                          .row_bytes = gemm->n * element,
                                          .rows = gemm->m},
                          d);
}

static uint64_t buffer_bytes(int64_t bytes) {
  return row_stride(bytes, 1);
}

static uint64_t operand_bytes(const ufp4_operand_t *operand) {
  const int64_t stride = ufp4_panel_stride_blocks(operand->cols);
  return buffer_bytes(ufp4_panel_codes_bytes(operand->rows, stride)) +
         buffer_bytes(ufp4_panel_scales_bytes(operand->rows, stride));
}

// The check precedes all packing and transfers.
static ufp4_status_t check_room(ufp4_device_t *device, const ufp4_operand_t *a,
                                const ufp4_operand_t *b, const ufp4_gemm_t *how) {
  uint64_t row = row_stride(b->rows, element_bytes(how->d_dtype));
  if (how->c != NULL) row += row_stride(b->rows, sizeof(float));
  if (how->accumulate != NULL) row += row_stride(b->rows, sizeof(int64_t));
  return device_check_room(device, "a GEMM", a->rows, b->rows, a->cols,
                           operand_bytes(a) + operand_bytes(b) + (uint64_t)a->rows * row);
}

ufp4_status_t gemm_by_descriptor(ufp4_device_t *device, const ufp4_operand_t *a,
                                 const ufp4_operand_t *b, const ufp4_gemm_t *how, void *d,
                                 int64_t d_ld, ufp4_gemm_stats_t *stats) {
  work_t work = {.device = device};
  ufp4_status_t status = check_room(device, a, b, how);
  if (status != UFP4_OK) return status;
  describe_operands(&work, a, b);
  describe_result(&work, how);
  status = upload_all(&work, a, b, how);
  describe_addresses(&work);
  if (status == UFP4_OK) status = job_measure(device, &work.descriptor, stats, NULL);
  if (status == UFP4_OK) status = download(&work, element_bytes(how->d_dtype), d, d_ld);
  // Memory that a job may still write must not be allocated to others.
  if (jobs_drain(device)) {
    for (int i = 0; i < BUFFERS; i++) ufp4_buffer_free(device, work.buffers[i]);
  }
  return status;
}
