// SPDX-License-Identifier: Apache-2.0
// The training GEMMs of a linear layer: AMAX and QUANT for each tensor, which each read it once,
// then GEMM on the copies. The model, and other backends if no descriptor can express the recipe,
// process whole operands in host memory instead; a GPU keeps the operands on the device.
#include "linear.h"

#include <stdlib.h>
#include <string.h>

// --- Creation -----------------------------------------------------------------------------------

static int size_is_bad(int64_t size) {
  return size < 1 || size > UFP4_MAX_DIM;
}

static ufp4_status_t check_shape(ufp4_device_t *device, const ufp4_linear_shape_t *shape) {
  if (size_is_bad(shape->tokens) || size_is_bad(shape->cin) || size_is_bad(shape->cout)) {
    return device_fail(
        device, UFP4_ERROR_ARGUMENT,
        "the layer has tokens %lld, cin %lld and cout %lld; each must be from 1 to %d",
        (long long)shape->tokens, (long long)shape->cin, (long long)shape->cout, UFP4_MAX_DIM);
  }
  if (shape->layer > 4095 || shape->passes == 0 || shape->passes > UFP4_PASSES_ALL) {
    return device_fail(
        device, UFP4_ERROR_ARGUMENT,
        "layer is %u and passes is 0x%x; layer must be at most 4095, and passes from 1 to 7",
        shape->layer, shape->passes);
  }
  return UFP4_OK;
}

static ufp4_status_t check_recipe(ufp4_device_t *device, const ufp4_linear_shape_t *shape,
                                  const ufp4_recipe_t *recipe) {
  static const char *const along[UFP4_PASS_COUNT] = {"inputs", "outputs", "tokens"};
  const ufp4_bf16_layers_t none = {.matrices = 0};
  ufp4_message_t why;
  if (memcmp(&recipe->bf16_layers, &none, sizeof none) != 0) {
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "recipe %s: bf16_layers applies to a whole model, not to one layer",
                       recipe->name);
  }
  ufp4_status_t status = ufp4_recipe_check(recipe, shape->passes, device->backend->name, &why);
  for (int pass = 0; pass < UFP4_PASS_COUNT && status == UFP4_OK && recipe->rht_size > 16; pass++) {
    int64_t m, n, k;
    linear_pass_shape(shape, (ufp4_pass_t)pass, &m, &n, &k);
    if (!(shape->passes >> pass & 1) || recipe->rht[pass] == UFP4_RHT_NONE ||
        !ufp4_recipe_quantizes(recipe, (ufp4_pass_t)pass) || k % recipe->rht_size == 0)
      continue;
    ufp4_message_set(
        &why,
        "a transform of %d points does not divide %lld, the number of %s, which must be a multiple",
        recipe->rht_size, (long long)k, along[pass]);
    status = UFP4_ERROR_ARGUMENT;
  }
  if (status != UFP4_OK)
    return device_fail(device, status, "recipe %s: %s", recipe->name, why.text);
  return recipe->quantized ? device_check_core(device, recipe->contract, recipe->elem, recipe->elem)
                           : UFP4_OK;
}

// Finds the passes that are not quantized, and the copies that the others need.
static void plan_copies(ufp4_linear_t *linear) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (!(linear->shape.passes >> pass & 1)) continue;
    if (!ufp4_recipe_quantizes(&linear->recipe, (ufp4_pass_t)pass)) {
      linear->host_passes |= 1u << pass;
      continue;
    }
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2; i++) {
      copy_t *copy = &linear->copies[roles[i]][axes[i]];
      int64_t rows, cols;
      linear_role_shape(&linear->shape, roles[i], &rows, &cols);
      copy->wanted = 1;
      copy->rows = axes[i] == UFP4_AXIS_ROW ? rows : cols;
      copy->cols = axes[i] == UFP4_AXIS_ROW ? cols : rows;
      copy->stride_blocks = ufp4_panel_stride_blocks(copy->cols);
    }
  }
}

static int has_descriptors(const ufp4_linear_t *linear) {
  const ufp4_backend_t *backend = linear->device->backend;
  if (backend->in_host_memory || backend->keep != NULL) return 0;
  return ufp4_recipe_on_core(&linear->recipe, linear->shape.passes,
                             &linear->device->info.configuration, NULL) == UFP4_OK;
}

static ufp4_status_t allocate_copies(ufp4_linear_t *linear) {
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    copy_t *copy = &linear->copies[i / 2][i % 2];
    if (!copy->wanted) continue;
    uint64_t codes = (uint64_t)ufp4_panel_codes_bytes(copy->rows, copy->stride_blocks);
    uint64_t scales = (uint64_t)ufp4_panel_scales_bytes(copy->rows, copy->stride_blocks);
    ufp4_status_t status = ufp4_buffer_alloc(linear->device, codes, &copy->codes);
    if (status == UFP4_OK) status = ufp4_buffer_alloc(linear->device, scales, &copy->scales);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

static uint64_t source_bytes(const ufp4_linear_t *linear) {
  uint64_t source = 0;
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
    int64_t rows, cols;
    linear_role_shape(&linear->shape, (ufp4_role_t)role, &rows, &cols);
    uint64_t bytes = (uint64_t)rows * linear_stride_bytes(cols, sizeof(float));
    if (linear_role_is_in((ufp4_role_t)role, linear->shape.passes & ~linear->host_passes) &&
        bytes > source)
      source = bytes;
  }
  return source;
}

static uint64_t output_bytes(const ufp4_linear_t *linear) {
  uint64_t output = 0;
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    int64_t m, n, k;
    linear_pass_shape(&linear->shape, (ufp4_pass_t)pass, &m, &n, &k);
    uint64_t bytes = (uint64_t)m * linear_stride_bytes(n, sizeof(float));
    if ((linear->shape.passes & ~linear->host_passes) >> pass & 1 && bytes > output) output = bytes;
  }
  return output;
}

static ufp4_status_t allocate_plain(ufp4_linear_t *linear) {
  ufp4_status_t status = ufp4_buffer_alloc(linear->device, source_bytes(linear), &linear->source);
  if (status == UFP4_OK)
    status = ufp4_buffer_alloc(linear->device, output_bytes(linear), &linear->output);
  return status;
}

// --- Memory -------------------------------------------------------------------------------------

static uint64_t buffer_bytes(uint64_t bytes) {
  return (bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
}

static uint64_t copy_bytes(const copy_t *copy) {
  return buffer_bytes((uint64_t)ufp4_panel_codes_bytes(copy->rows, copy->stride_blocks)) +
         buffer_bytes((uint64_t)ufp4_panel_scales_bytes(copy->rows, copy->stride_blocks));
}

// Returns the device memory for one GEMM of operands in host memory, on a device that takes
// descriptors.
static uint64_t pass_bytes(const ufp4_linear_t *linear, ufp4_pass_t pass) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  int64_t m, n, k;
  ufp4_pass_operands(pass, roles, axes);
  linear_pass_shape(&linear->shape, pass, &m, &n, &k);
  return copy_bytes(&linear->copies[roles[0]][axes[0]]) +
         copy_bytes(&linear->copies[roles[1]][axes[1]]) +
         (uint64_t)m * linear_stride_bytes(n, sizeof(float));
}

// Returns the device memory that the layer needs at the same time.
static uint64_t layer_bytes(const ufp4_linear_t *linear) {
  const unsigned quantized = linear->shape.passes & ~linear->host_passes;
  uint64_t bytes = 0;
  if (linear->golden) {
    for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
      const uint64_t own = quantized >> pass & 1 ? pass_bytes(linear, (ufp4_pass_t)pass) : 0;
      if (own > bytes) bytes = own;
    }
    return bytes;
  }
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    const copy_t *copy = &linear->copies[i / 2][i % 2];
    if (copy->wanted) bytes += copy_bytes(copy);
  }
  return bytes + buffer_bytes(source_bytes(linear)) + buffer_bytes(output_bytes(linear));
}

// The check comes before anything is loaded, rather than in the middle of the passes.
static ufp4_status_t check_memory(const ufp4_linear_t *linear) {
  ufp4_device_t *device = linear->device;
  const ufp4_linear_shape_t *shape = &linear->shape;
  if (!device_takes_descriptors(device)) return UFP4_OK;
  return device_check_room(device, "a layer", shape->tokens, shape->cin, shape->cout,
                           layer_bytes(linear));
}

ufp4_status_t ufp4_linear_create(ufp4_device_t *device, const ufp4_linear_shape_t *shape,
                                 const ufp4_recipe_t *recipe, ufp4_linear_t **out) {
  if (out == NULL) return UFP4_ERROR_ARGUMENT;
  *out = NULL;
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (shape == NULL || recipe == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_linear_create: shape or recipe is NULL");
  status = check_shape(device, shape);
  if (status == UFP4_OK) status = check_recipe(device, shape, recipe);
  if (status != UFP4_OK) return status;
  ufp4_linear_t *linear = calloc(1, sizeof *linear);
  if (linear == NULL) return device_fail(device, UFP4_ERROR_MEMORY, "the host is out of memory");
  linear->device = device;
  linear->shape = *shape;
  linear->recipe = *recipe;
  plan_copies(linear);
  const int quantized = linear->host_passes != shape->passes ||
                        linear_requantizes(linear, UFP4_ROLE_X) ||
                        linear_requantizes(linear, UFP4_ROLE_W);
  linear->golden = quantized && !has_descriptors(linear);
  if (quantized) status = check_memory(linear);
  if (quantized && !linear->golden && status == UFP4_OK) status = allocate_copies(linear);
  if (quantized && !linear->golden && status == UFP4_OK) status = allocate_plain(linear);
  if (status != UFP4_OK) {
    ufp4_linear_free(linear);
    return status;
  }
  *out = linear;
  return UFP4_OK;
}

int ufp4_linear_quantizes_on_host(const ufp4_linear_t *linear) {
  if (linear == NULL || !linear->golden) return 0;
  return linear->device->backend->quantize == NULL;
}

int ufp4_linear_quantizes(const ufp4_linear_t *linear, ufp4_pass_t pass) {
  return linear != NULL && (unsigned)pass < UFP4_PASS_COUNT &&
         (linear->shape.passes & ~linear->host_passes) >> pass & 1;
}

static void free_buffers(ufp4_linear_t *linear) {
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    ufp4_buffer_free(linear->device, linear->copies[i / 2][i % 2].codes);
    ufp4_buffer_free(linear->device, linear->copies[i / 2][i % 2].scales);
  }
  ufp4_buffer_free(linear->device, linear->source);
  ufp4_buffer_free(linear->device, linear->output);
}

void ufp4_linear_free(ufp4_linear_t *linear) {
  if (linear == NULL) return;
  // Memory that a job may still write must not be allocated to others; it stays allocated until the
  // device is closed.
  if (jobs_drain(linear->device)) free_buffers(linear);
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    copy_t *copy = &linear->copies[i / 2][i % 2];
    ufp4_operand_free(&copy->golden);
    if (copy->kept != NULL) linear->device->backend->kept_free(linear->device->state, copy->kept);
  }
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) free(linear->host[role]);
  free(linear);
}

// --- Reading copies back ------------------------------------------------------------------------

static ufp4_status_t read_copy(ufp4_linear_t *linear, const copy_t *copy, ufp4_operand_t *out) {
  ufp4_status_t status = ufp4_operand_create_scaled(linear->recipe.elem, linear->recipe.scale,
                                                    copy->rows, copy->cols, out);
  if (status != UFP4_OK) return device_fail(linear->device, status, "the host is out of memory");
  status = device_copy_read(linear->device, copy->codes, copy->scales, out);
  if (status != UFP4_OK) ufp4_operand_free(out);
  out->exponent = copy->exponent;
  out->flags = copy->flags;
  return status;
}

static ufp4_status_t copy_golden(ufp4_linear_t *linear, const ufp4_operand_t *from,
                                 ufp4_operand_t *out) {
  ufp4_status_t status =
      ufp4_operand_create_blocks(from->elem, from->scale, from->block, from->rows, from->cols, out);
  if (status != UFP4_OK) return device_fail(linear->device, status, "the host is out of memory");
  size_t scales = (size_t)(from->rows * from->scale_blocks);
  memcpy(out->codes, from->codes, (size_t)(from->rows * from->blocks) * 8);
  if (from->scales != NULL) memcpy(out->scales, from->scales, scales);
  if (from->scales_f32 != NULL)
    memcpy(out->scales_f32, from->scales_f32, scales * sizeof *from->scales_f32);
  out->exponent = from->exponent;
  out->tensor_scale = from->tensor_scale;
  out->flags = from->flags;
  out->half = from->half;
  return UFP4_OK;
}

ufp4_status_t ufp4_linear_operand(ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis,
                                  ufp4_operand_t *out) {
  if (linear == NULL || out == NULL) return UFP4_ERROR_ARGUMENT;
  memset(out, 0, sizeof *out);
  if ((unsigned)role >= UFP4_ROLE_COUNT || (unsigned)axis > 1 ||
      !linear->copies[role][axis].loaded) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT,
                       "ufp4_linear_operand: this role is not loaded along this axis");
  }
  const copy_t *copy = &linear->copies[role][axis];
  if (copy->kept != NULL)
    return device_note(linear->device,
                       linear->device->backend->kept_read(linear->device->state, copy->kept, out));
  return linear->golden ? copy_golden(linear, &copy->golden, out) : read_copy(linear, copy, out);
}

// --- One call per pass --------------------------------------------------------------------------

ufp4_status_t ufp4_linear_fprop(ufp4_linear_t *linear, const ufp4_matrix_t *x,
                                const ufp4_matrix_t *w, uint64_t step, float *y,
                                ufp4_gemm_stats_t *stats) {
  ufp4_status_t status = ufp4_linear_load(linear, UFP4_ROLE_X, x, step);
  if (status == UFP4_OK) status = ufp4_linear_load(linear, UFP4_ROLE_W, w, step);
  return status == UFP4_OK ? ufp4_linear_run(linear, UFP4_PASS_FPROP, y, linear->shape.cout, stats)
                           : status;
}

ufp4_status_t ufp4_linear_dgrad(ufp4_linear_t *linear, const ufp4_matrix_t *dy, uint64_t step,
                                float *dx, ufp4_gemm_stats_t *stats) {
  ufp4_status_t status = ufp4_linear_load(linear, UFP4_ROLE_DY, dy, step);
  return status == UFP4_OK ? ufp4_linear_run(linear, UFP4_PASS_DGRAD, dx, linear->shape.cin, stats)
                           : status;
}

ufp4_status_t ufp4_linear_wgrad(ufp4_linear_t *linear, float *dw, ufp4_gemm_stats_t *stats) {
  if (linear == NULL) return UFP4_ERROR_ARGUMENT;
  return ufp4_linear_run(linear, UFP4_PASS_WGRAD, dw, linear->shape.cin, stats);
}
