// SPDX-License-Identifier: Apache-2.0
// Quantizes a tensor in host memory on the core's engine: AMAX, if a tensor exponent has to be
// derived, and then QUANT, for one copy.
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "device.h"

enum { SOURCE, CODES, SCALES, BUFFERS };

typedef struct {
  ufp4_device_t *device;
  const ufp4_matrix_t *in;
  const ufp4_quantize_t *how;
  int64_t rows, cols, stride_blocks;  // shape of the copy
  uint64_t buffers[BUFFERS];
  ufp4_descriptor_t job;
} work_t;

// --- What an engine makes -----------------------------------------------------------------------

ufp4_status_t ufp4_quantize_on_core(const ufp4_quantize_t *how, const ufp4_configuration_t *core,
                                    ufp4_message_t *why) {
  ufp4_message_t own;
  if (how == NULL || core == NULL) return UFP4_ERROR_ARGUMENT;
  if (why == NULL) why = &own;
  const ufp4_status_t status = ufp4_combination_quantize(how, 0, "core", why);
  if (status != UFP4_OK) return status;
  if (!core->quant) {
    ufp4_message_set(why, "%s has no QUANT engine", core->name);
  } else if (how->scale != UFP4_SCALE_E4M3 && how->scale != UFP4_SCALE_E8M0) {
    ufp4_message_set(why, "QUANT does not make %s scales", scale_names[how->scale]);
  } else if (how->layout != UFP4_LAYOUT_1D) {
    ufp4_message_set(why, "QUANT does not make 2D scales (16 x 16 blocks)");
  } else if (how->elem == UFP4_ELEM_MIXED && !core->mixed) {
    ufp4_message_set(why,
                     "QUANT of %s does not make mixed elements; a core with %smixed=1, such as "
                     "small-mixed, does",
                     core->name, core->formats == UFP4_FORMATS_ALL ? "" : "formats=all and ");
  } else if (how->rht == UFP4_RHT_BF16) {
    ufp4_message_set(why, "QUANT has no transform that rounds to BF16");
  } else if (how->scale == UFP4_SCALE_E8M0 && how->rht != UFP4_RHT_NONE) {
    ufp4_message_set(why, "QUANT does not transform blocks of 32 with E8M0 scales");
  } else {
    return UFP4_OK;
  }
  return UFP4_ERROR_UNSUPPORTED;
}

// --- A copy in device memory --------------------------------------------------------------------

ufp4_status_t device_copy_read(ufp4_device_t *device, uint64_t codes, uint64_t scales,
                               ufp4_operand_t *out) {
  const int64_t stride = ufp4_panel_stride_blocks(out->cols);
  const uint64_t code_bytes = (uint64_t)ufp4_panel_codes_bytes(out->rows, stride);
  const uint64_t scale_bytes = (uint64_t)ufp4_panel_scales_bytes(out->rows, stride);
  uint8_t *memory = malloc(ufp4_matrix_bytes((int64_t)(code_bytes + scale_bytes), 1, 1));
  if (memory == NULL) return device_fail(device, UFP4_ERROR_MEMORY, "the host is out of memory");
  ufp4_status_t status = ufp4_buffer_read(device, codes, memory, code_bytes);
  if (status == UFP4_OK)
    status = ufp4_buffer_read(device, scales, memory + code_bytes, scale_bytes);
  if (status == UFP4_OK) ufp4_panel_unpack(memory, memory + code_bytes, stride, out);
  free(memory);
  return status;
}

unsigned device_copy_flags(unsigned job_flags, ufp4_axis_t axis) {
  const unsigned saturated =
      axis == UFP4_AXIS_ROW ? UFP4_FLAG_ROW_SATURATED : UFP4_FLAG_COL_SATURATED;
  return (job_flags & UFP4_FLAG_NAN) | (job_flags & saturated ? UFP4_FLAG_ROW_SATURATED : 0);
}

// --- One tensor ---------------------------------------------------------------------------------

static uint64_t element_bytes(const work_t *work) {
  return work->in->dtype == UFP4_DTYPE_BF16 ? sizeof(uint16_t) : sizeof(float);
}

static uint64_t source_stride(const work_t *work) {
  const uint64_t bytes = (uint64_t)work->in->cols * element_bytes(work);
  return (bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
}

static ufp4_status_t allocate(work_t *work) {
  const uint64_t bytes[BUFFERS] = {
      [SOURCE] = (uint64_t)work->in->rows * source_stride(work),
      [CODES] = (uint64_t)ufp4_panel_codes_bytes(work->rows, work->stride_blocks),
      [SCALES] = (uint64_t)ufp4_panel_scales_bytes(work->rows, work->stride_blocks)};
  ufp4_status_t status = UFP4_OK;
  for (int i = 0; i < BUFFERS && status == UFP4_OK; i++)
    status = ufp4_buffer_alloc(work->device, bytes[i], &work->buffers[i]);
  return status;
}

static ufp4_status_t upload(const work_t *work) {
  const uint64_t element = element_bytes(work);
  return device_rows_write(work->device,
                           (device_rows_t){.address = work->buffers[SOURCE],
                                           .stride = source_stride(work),
                                           .ld_bytes = (uint64_t)work->in->ld * element,
                                           .row_bytes = (uint64_t)work->in->cols * element,
                                           .rows = (uint64_t)work->in->rows},
                           work->in->data);
}

static int has_exponent(const work_t *work) {
  return work->how->scale == UFP4_SCALE_E4M3;
}

// The exponent is that of a layer's slot, or the given one.
static void describe(work_t *work) {
  const ufp4_quantize_t *how = work->how;
  ufp4_quant_descriptor_t *quant = &work->job.quant;
  const int slot = has_exponent(work) && !how->exponent_given;
  const uint8_t mode = (uint8_t)(UFP4_MODE_ENABLE | (slot ? UFP4_MODE_SLOT : 0) |
                                 (how->rht != UFP4_RHT_NONE ? UFP4_MODE_RHT : 0));
  const uint16_t exponent = slot                 ? UFP4_LAYER_SLOTS
                            : has_exponent(work) ? (uint16_t)(int16_t)how->exponent
                                                 : 0;
  quant->rows = (uint32_t)work->in->rows;
  quant->cols = (uint32_t)work->in->cols;
  quant->src_addr = work->buffers[SOURCE];
  quant->src_stride_bytes = (uint32_t)source_stride(work);
  quant->src_dtype = (uint8_t)work->in->dtype;
  quant->elem = (uint8_t)how->elem;
  quant->scale = (uint8_t)how->scale;
  quant->round = (uint8_t)how->round;
  quant->scale_round = (uint8_t)how->scale_round;
  quant->rht_mask = (uint16_t)how->rht_mask;
  quant->seed = how->seed;
  if (how->axis == UFP4_AXIS_ROW) {
    quant->row_mode = mode, quant->row_exponent = exponent;
    quant->row_codes_addr = work->buffers[CODES];
    quant->row_scales_addr = work->buffers[SCALES];
    quant->row_stride_blocks = (uint32_t)work->stride_blocks;
    quant->row_tensor_id = how->tensor_id;
  } else {
    quant->col_mode = mode, quant->col_exponent = exponent;
    quant->col_codes_addr = work->buffers[CODES];
    quant->col_scales_addr = work->buffers[SCALES];
    quant->col_stride_blocks = (uint32_t)work->stride_blocks;
    quant->col_tensor_id = how->tensor_id;
  }
}

// Runs one of the two jobs and returns its cycles and its flags.
static ufp4_status_t run_job(work_t *work, uint8_t opcode, uint64_t *cycles, unsigned *flags,
                             ufp4_quantize_stats_t *stats) {
  ufp4_gemm_stats_t one = {0};
  work->job.header.opcode = opcode;
  const ufp4_status_t status = job_measure(work->device, &work->job, &one, flags);
  *cycles = one.cycles;
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) stats->counters[i] += one.counters[i];
  return status;
}

static ufp4_status_t run(work_t *work, ufp4_operand_t *out, ufp4_quantize_stats_t *stats) {
  const ufp4_quantize_t *how = work->how;
  const int finds = has_exponent(work) && !how->exponent_given;
  unsigned flags = 0;
  ufp4_status_t status = UFP4_OK;
  if (finds) status = run_job(work, UFP4_OPCODE_AMAX, &stats->amax_cycles, &flags, stats);
  if (status == UFP4_OK)
    status = run_job(work, UFP4_OPCODE_QUANT, &stats->quant_cycles, &flags, stats);
  if (status == UFP4_OK && finds)
    status = ufp4_slot_read(work->device, UFP4_LAYER_SLOTS, &out->exponent);
  if (status == UFP4_OK && has_exponent(work) && !finds) out->exponent = how->exponent;
  out->flags = device_copy_flags(flags, how->axis);
  return status;
}

static ufp4_status_t make_copy(work_t *work, ufp4_operand_t *out, ufp4_quantize_stats_t *stats) {
  ufp4_status_t status = upload(work);
  if (status != UFP4_OK) return status;
  status =
      ufp4_operand_create_scaled(work->how->elem, work->how->scale, work->rows, work->cols, out);
  if (status != UFP4_OK)
    return device_fail(work->device, status, "quantize: %s", ufp4_status_string(status));
  describe(work);
  status = run(work, out, stats);
  if (status == UFP4_OK)
    status = device_copy_read(work->device, work->buffers[CODES], work->buffers[SCALES], out);
  if (status != UFP4_OK) ufp4_operand_free(out);
  return status;
}

ufp4_status_t quantize_by_descriptor(ufp4_device_t *device, const ufp4_matrix_t *in,
                                     const ufp4_quantize_t *how, ufp4_operand_t *out,
                                     ufp4_quantize_stats_t *stats) {
  const int transposed = how->axis == UFP4_AXIS_COL;
  work_t work = {.device = device,
                 .in = in,
                 .how = how,
                 .rows = transposed ? in->cols : in->rows,
                 .cols = transposed ? in->rows : in->cols};
  work.stride_blocks = ufp4_panel_stride_blocks(work.cols);
  ufp4_status_t status = allocate(&work);
  stats->on_core = status == UFP4_OK;
  if (status == UFP4_OK) status = make_copy(&work, out, stats);
  // Memory that a job may still write must not be allocated to others.
  if (jobs_drain(device)) {
    for (int i = 0; i < BUFFERS; i++) ufp4_buffer_free(device, work.buffers[i]);
  }
  return status;
}
