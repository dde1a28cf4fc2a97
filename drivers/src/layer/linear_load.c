// SPDX-License-Identifier: Apache-2.0
// Makes the quantized copies of a tensor that a layer's passes read.
#include <stdlib.h>
#include <string.h>

#include "base/hot.h"
#include "linear.h"
#include "ufp4/array.h"

static ufp4_status_t check_tensor(ufp4_linear_t *linear, ufp4_role_t role,
                                  const ufp4_matrix_t *tensor) {
  static const char *const names[UFP4_ROLE_COUNT] = {"X", "W", "dY"};
  if ((unsigned)role >= UFP4_ROLE_COUNT || tensor == NULL || tensor->data == NULL) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                       "ufp4_linear_load: role is out of range, or tensor or its data is NULL");
  }
  int64_t rows, cols;
  linear_role_shape(&linear->shape, role, &rows, &cols);
  if (tensor->rows == rows && tensor->cols == cols && tensor->ld < cols) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                       "%s has a leading dimension of %lld; %lld or more is needed", names[role],
                       (long long)tensor->ld, (long long)cols);
  }
  if (tensor->rows != rows || tensor->cols != cols) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                       "%s is %lld x %lld; this layer's is %lld x %lld", names[role],
                       (long long)tensor->rows, (long long)tensor->cols, (long long)rows,
                       (long long)cols);
  }
  if (tensor->dtype != UFP4_DTYPE_F32 && tensor->dtype != UFP4_DTYPE_BF16) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "%s must be FP32 or BF16", names[role]);
  }
  if (!linear_role_is_in(role, linear->shape.passes)) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                       "%s is not an operand of any pass of this layer", names[role]);
  }
  return UFP4_OK;
}

// Rounds to BF16 as ufp4_bf16_cast does, and back to FP32, without branches, so that the compiler
// vectorizes it.
UFP4_HOT void linear_round_bf16(const float *from, int64_t count, float *target) {
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, from + i, sizeof bits);
    uint32_t rounded = (bits + 0x7FFFu + (bits >> 16 & 1)) & 0xFFFF0000u;
    if ((bits & 0x7FFFFFFFu) > 0x7F800000u) rounded = (uint32_t)UFP4_BF16_NAN << 16;
    memcpy(target + i, &rounded, sizeof rounded);
  }
}

// Rounds a row of a tensor as the recipe requires.
static void host_row(const ufp4_matrix_t *in, int64_t row, ufp4_dtype_t wanted, float *out) {
  if (in->dtype == UFP4_DTYPE_BF16) {
    const uint16_t *from = (const uint16_t *)in->data + row * in->ld;
    for (int64_t c = 0; c < in->cols; c++) out[c] = ufp4_bf16_value(from[c]);
    return;
  }
  const float *from = (const float *)in->data + row * in->ld;
  if (wanted == UFP4_DTYPE_BF16) {
    linear_round_bf16(from, in->cols, out);
  } else {
    memcpy(out, from, (size_t)in->cols * sizeof *out);
  }
}

static ufp4_status_t load_on_host(ufp4_linear_t *linear, ufp4_role_t role,
                                  const ufp4_matrix_t *tensor) {
  const ufp4_dtype_t dtype = linear->recipe.quantized ? UFP4_DTYPE_BF16 : linear->recipe.dtype;
  float *to = linear->host[role];
  if (to == NULL)
    to = linear->host[role] = malloc(ufp4_matrix_bytes(tensor->rows, tensor->cols, sizeof *to));
  if (to == NULL)
    return device_fail(linear->device, UFP4_ERROR_MEMORY, "the host is out of memory");
  for (int64_t r = 0; r < tensor->rows; r++) host_row(tensor, r, dtype, to + r * tensor->cols);
  linear->host_loaded[role] = 1;
  return UFP4_OK;
}

static ufp4_quantize_t copy_how(const ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis,
                                uint64_t step) {
  ufp4_quantize_t how = ufp4_recipe_quantize(&linear->recipe, role, axis);
  how.rht_mask = ufp4_recipe_mask(&linear->recipe, linear->shape.seed, step);
  how.seed = linear->shape.seed;
  how.tensor_id = ufp4_tensor_id(step, linear->shape.layer, role, (unsigned)axis);
  return how;
}

static ufp4_status_t load_golden(ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis,
                                 const ufp4_matrix_t *tensor, uint64_t step) {
  copy_t *copy = &linear->copies[role][axis];
  if (!copy->wanted) return UFP4_OK;
  const ufp4_quantize_t how = copy_how(linear, role, axis, step);
  ufp4_operand_free(&copy->golden);
  ufp4_status_t status = quantize_whole(linear->device, tensor, &how, &copy->golden);
  copy->loaded = status == UFP4_OK;
  return status;
}

// Makes the needed ones of the copies in @p axes, a bit each, which the backend keeps.
static ufp4_status_t load_kept(ufp4_linear_t *linear, ufp4_role_t role, unsigned axes,
                               const ufp4_matrix_t *tensor, uint64_t step) {
  copy_t *copies = linear->copies[role];
  ufp4_quantize_t how[2];
  ufp4_kept_t **out[2];
  int count = 0;
  for (int axis = 0; axis < 2; axis++) {
    if (!copies[axis].wanted || !(axes >> axis & 1)) continue;
    how[count] = copy_how(linear, role, (ufp4_axis_t)axis, step);
    out[count++] = &copies[axis].kept;
  }
  if (count == 0) return UFP4_OK;
  ufp4_device_t *device = linear->device;
  const ufp4_status_t status =
      device_note(device, device->backend->keep(device->state, tensor, how, count, out));
  for (int axis = 0; axis < 2 && status == UFP4_OK; axis++)
    copies[axis].loaded |= copies[axis].wanted && (axes >> axis & 1);
  return status;
}

// Returns the values of a tensor's row copy: *values must be freed, and @p kept is a view of it.
static ufp4_status_t dequantize_rows(ufp4_linear_t *linear, const ufp4_operand_t *copy,
                                     const ufp4_quantize_t *how, float **values,
                                     ufp4_matrix_t *kept) {
  const int64_t ld = copy->blocks * 16;
  *values = malloc(ufp4_matrix_bytes(copy->rows, ld, sizeof **values));
  if (*values == NULL)
    return device_fail(linear->device, UFP4_ERROR_MEMORY, "the host is out of memory");
  ufp4_status_t status = ufp4_dequantize(copy, ld, *values, ld);
  const int points = ufp4_how_points(how);
  if (how->rht != UFP4_RHT_NONE)
    ufp4_rht_undo_all(*values, copy->rows * ld / points, points, how->rht_mask);
  *kept = (ufp4_matrix_t){UFP4_DTYPE_F32, copy->rows, copy->cols, ld, *values};
  return status;
}

// Makes the tensor that backward passes use instead, by dequantizing FPROP's copy, which is made
// here if no pass needs it.
static ufp4_status_t keep_forward(ufp4_linear_t *linear, ufp4_role_t role,
                                  const ufp4_matrix_t *tensor, uint64_t step, float **values,
                                  ufp4_matrix_t *kept) {
  const copy_t *row = &linear->copies[role][UFP4_AXIS_ROW];
  const ufp4_quantize_t how = copy_how(linear, role, UFP4_AXIS_ROW, step);
  if (row->wanted && row->kept == NULL)
    return dequantize_rows(linear, &row->golden, &how, values, kept);
  ufp4_operand_t copy;
  ufp4_status_t status = row->wanted ? ufp4_linear_operand(linear, role, UFP4_AXIS_ROW, &copy)
                                     : quantize_whole(linear->device, tensor, &how, &copy);
  if (status != UFP4_OK) return status;
  status = dequantize_rows(linear, &copy, &how, values, kept);
  ufp4_operand_free(&copy);
  return status;
}

static ufp4_status_t upload(ufp4_linear_t *linear, const ufp4_matrix_t *tensor, uint64_t stride) {
  uint64_t element = tensor->dtype == UFP4_DTYPE_BF16 ? sizeof(uint16_t) : sizeof(float);
  return device_rows_write(linear->device,
                           (device_rows_t){.address = linear->source,
                                           .stride = stride,
                                           .ld_bytes = (uint64_t)tensor->ld * element,
                                           .row_bytes = (uint64_t)tensor->cols * element,
                                           .rows = (uint64_t)tensor->rows},
                           tensor->data);
}

static void describe_source(const ufp4_linear_t *linear, ufp4_role_t role,
                            const ufp4_matrix_t *tensor, uint64_t step,
                            ufp4_quant_descriptor_t *quant) {
  const uint64_t element = tensor->dtype == UFP4_DTYPE_BF16 ? sizeof(uint16_t) : sizeof(float);
  const int copy = linear->copies[role][UFP4_AXIS_ROW].wanted ? UFP4_AXIS_ROW : UFP4_AXIS_COL;
  quant->rows = (uint32_t)tensor->rows;
  quant->cols = (uint32_t)tensor->cols;
  quant->src_addr = linear->source;
  quant->src_stride_bytes = (uint32_t)linear_stride_bytes(tensor->cols, element);
  quant->src_dtype = (uint8_t)tensor->dtype;
  quant->elem = (uint8_t)linear->recipe.elem;
  quant->scale = (uint8_t)linear->recipe.scale;
  quant->round = (uint8_t)linear->recipe.round[role][copy];
  quant->scale_round = (uint8_t)linear->recipe.scale_round[role][copy];
  quant->rht_mask = (uint16_t)ufp4_recipe_mask(&linear->recipe, linear->shape.seed, step);
  quant->seed = linear->shape.seed;
}

static uint8_t copy_mode(const ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis) {
  if (!linear->copies[role][axis].wanted) return 0;
  ufp4_quantize_t how = ufp4_recipe_quantize(&linear->recipe, role, axis);
  const unsigned slot = linear_has_exponents(linear) ? UFP4_MODE_SLOT : 0;
  return (uint8_t)(UFP4_MODE_ENABLE | slot | (how.rht ? UFP4_MODE_RHT : 0));
}

static void describe_copies(ufp4_linear_t *linear, ufp4_role_t role, uint64_t step,
                            ufp4_quant_descriptor_t *quant) {
  copy_t *row = &linear->copies[role][UFP4_AXIS_ROW], *col = &linear->copies[role][UFP4_AXIS_COL];
  quant->row_mode = copy_mode(linear, role, UFP4_AXIS_ROW);
  quant->col_mode = copy_mode(linear, role, UFP4_AXIS_COL);
  if (row->wanted && linear_has_exponents(linear)) quant->row_exponent = UFP4_LAYER_SLOTS;
  if (col->wanted && linear_has_exponents(linear)) quant->col_exponent = UFP4_LAYER_SLOTS + 1;
  quant->row_codes_addr = row->codes;
  quant->row_scales_addr = row->scales;
  quant->row_stride_blocks = (uint32_t)row->stride_blocks;
  quant->row_tensor_id = ufp4_tensor_id(step, linear->shape.layer, role, UFP4_AXIS_ROW);
  quant->col_codes_addr = col->codes;
  quant->col_scales_addr = col->scales;
  quant->col_stride_blocks = (uint32_t)col->stride_blocks;
  quant->col_tensor_id = ufp4_tensor_id(step, linear->shape.layer, role, UFP4_AXIS_COL);
}

// Queues AMAX, if there are exponents, and QUANT together, so that nothing waits for the host
// between them. Returns the flags of QUANT.
static ufp4_status_t quantize(ufp4_linear_t *linear, const ufp4_quant_descriptor_t *quant,
                              unsigned *flags) {
  ufp4_descriptor_t amax = {.quant = *quant}, emit = {.quant = *quant};
  amax.quant.opcode = UFP4_OPCODE_AMAX;
  emit.quant.opcode = UFP4_OPCODE_QUANT;
  uint32_t jobs[2];
  ufp4_status_t status = UFP4_OK;
  const int first = linear_has_exponents(linear) ? 0 : 1;
  if (first == 0) status = ufp4_submit(linear->device, &amax, &jobs[0]);
  if (status == UFP4_OK) status = ufp4_submit(linear->device, &emit, &jobs[1]);
  for (int i = first; i < 2 && status == UFP4_OK; i++) {
    ufp4_completion_t done;
    status = ufp4_wait(linear->device, jobs[i], 0, &done);
    if (status != UFP4_OK) break;
    linear->quantize_cycles += done.cycles;
    *flags = done.flags;
  }
  return status;
}

// Makes the copies by QUANT.
static ufp4_status_t load_on_device(ufp4_linear_t *linear, ufp4_role_t role,
                                    const ufp4_matrix_t *tensor, uint64_t step) {
  copy_t *copies = linear->copies[role];
  ufp4_quant_descriptor_t quant = {0};
  describe_source(linear, role, tensor, step, &quant);
  describe_copies(linear, role, step, &quant);
  ufp4_status_t status = upload(linear, tensor, quant.src_stride_bytes);
  unsigned flags = 0;
  if (status == UFP4_OK) status = quantize(linear, &quant, &flags);
  for (int axis = 0; axis < 2 && status == UFP4_OK; axis++) {
    if (!copies[axis].wanted) continue;
    copies[axis].flags = device_copy_flags(flags, (ufp4_axis_t)axis);
    if (linear_has_exponents(linear)) {
      status =
          ufp4_slot_read(linear->device, UFP4_LAYER_SLOTS + (unsigned)axis, &copies[axis].exponent);
    }
    copies[axis].loaded = status == UFP4_OK;
  }
  return status;
}

// Makes whole operands, on the host or kept by the backend, in a single read unless the second is
// made from the first.
static ufp4_status_t load_copies(ufp4_linear_t *linear, ufp4_role_t role, unsigned axes,
                                 const ufp4_matrix_t *tensor, uint64_t step) {
  if (linear->device->backend->keep != NULL) return load_kept(linear, role, axes, tensor, step);
  ufp4_status_t status = UFP4_OK;
  for (int axis = 0; axis < 2 && status == UFP4_OK; axis++) {
    if (axes >> axis & 1) status = load_golden(linear, role, (ufp4_axis_t)axis, tensor, step);
  }
  return status;
}

// Makes the copies as whole operands, and the operands of passes on the host.
static ufp4_status_t load_both(ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor,
                               uint64_t step) {
  enum { ROW = 1u << UFP4_AXIS_ROW, COL = 1u << UFP4_AXIS_COL };
  const int again = linear_requantizes(linear, role);
  float *values = NULL;
  ufp4_matrix_t kept = *tensor;
  ufp4_status_t status = load_copies(linear, role, again ? ROW : ROW | COL, tensor, step);
  if (status == UFP4_OK && again) {
    status = keep_forward(linear, role, tensor, step, &values, &kept);
    if (status == UFP4_OK) status = load_copies(linear, role, COL, &kept, step);
  }
  if (status == UFP4_OK && linear_role_is_in(role, linear->host_passes))
    status = load_on_host(linear, role, &kept);
  free(values);
  return status;
}

ufp4_status_t ufp4_linear_load(ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor,
                               uint64_t step) {
  if (linear == NULL) return UFP4_ERROR_ARGUMENT;
  if (step >> 48 != 0) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                       "step is %llu; it must be at most 2^48 - 1", (unsigned long long)step);
  }
  ufp4_status_t status = check_tensor(linear, role, tensor);
  if (status != UFP4_OK) return status;
  copy_t *copies = linear->copies[role];
  // All copies become valid together, because a pass must not combine a copy of this tensor with
  // one of the previous tensor.
  linear->host_loaded[role] = 0;
  for (int axis = 0; axis < 2; axis++) {
    copies[axis].loaded = 0;
    copies[axis].step = step;
    copies[axis].exponent = 0;
  }
  const int quantized = copies[UFP4_AXIS_ROW].wanted || copies[UFP4_AXIS_COL].wanted;
  if (!linear->golden) {
    if (linear_role_is_in(role, linear->host_passes)) status = load_on_host(linear, role, tensor);
    return status == UFP4_OK && quantized ? load_on_device(linear, role, tensor, step) : status;
  }
  return load_both(linear, role, tensor, step);
}
