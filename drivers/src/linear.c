// SPDX-License-Identifier: Apache-2.0
// The training GEMMs of a linear layer: AMAX and QUANT for each tensor, one read each, then GEMM on the copies. What no
// descriptor can express is done with whole operands in the host's memory instead, on backends that take them.
#include <stdlib.h>
#include <string.h>

#include "device.h"
#include "host_gemm.h"

// A quantized copy on the device.
typedef struct {
  int wanted, loaded;
  int64_t rows, cols, stride_blocks;
  uint64_t codes, scales;
  slot_use_t slot;  // holds the exponent until the slot is used anew
  int exponent;
  unsigned flags;         // as ufp4_operand_t has them
  ufp4_operand_t golden;  // instead of all of the above, where the layer is golden
} copy_t;

struct ufp4_linear {
  ufp4_device_t *device;
  ufp4_linear_shape_t shape;
  ufp4_recipe_t recipe;
  int golden;                         // no descriptors for this recipe
  copy_t copies[UFP4_ROLE_COUNT][2];  // by role and axis
  uint64_t source;                    // where a tensor is uploaded to be quantized
  uint64_t output;
  float *host[UFP4_ROLE_COUNT];  // bf16: the operands, rounded
  int host_loaded[UFP4_ROLE_COUNT];
  uint64_t quantize_cycles;  // since the last run
};

static void shape_of_role(const ufp4_linear_shape_t *shape, ufp4_role_t role, int64_t *rows, int64_t *cols) {
  *rows = role == UFP4_ROLE_W ? shape->cout : shape->tokens;
  *cols = role == UFP4_ROLE_DY ? shape->cout : shape->cin;
}

static void shape_of_pass(const ufp4_linear_shape_t *shape, ufp4_pass_t pass, int64_t *m, int64_t *n, int64_t *k) {
  *m = pass == UFP4_PASS_WGRAD ? shape->cout : shape->tokens;
  *n = pass == UFP4_PASS_FPROP ? shape->cout : shape->cin;
  *k = pass == UFP4_PASS_FPROP ? shape->cin : pass == UFP4_PASS_DGRAD ? shape->cout : shape->tokens;
}

static uint64_t stride_bytes(int64_t cols, uint64_t element_bytes) {
  uint64_t bytes = (uint64_t)cols * element_bytes;
  return (bytes + UFP4_ALIGN_BYTES - 1) / UFP4_ALIGN_BYTES * UFP4_ALIGN_BYTES;
}

// --- Creation ------------------------------------------------------------------------------------------

static int size_is_bad(int64_t size) {
  return size < 1 || size > UFP4_MAX_DIM;
}

static ufp4_status_t check_shape(ufp4_device_t *device, const ufp4_linear_shape_t *shape) {
  if (size_is_bad(shape->tokens) || size_is_bad(shape->cin) || size_is_bad(shape->cout)) {
    return device_fail(device, UFP4_ERROR_ARGUMENT, "a linear layer of %lld x %lld x %lld: sizes go from 1 to %d",
                       (long long)shape->tokens, (long long)shape->cin, (long long)shape->cout, UFP4_MAX_DIM);
  }
  if (shape->layer > 4095 || shape->passes == 0 || shape->passes > UFP4_PASSES_ALL) {
    return device_fail(device, UFP4_ERROR_ARGUMENT, "layer %u: at most 4095; passes 0x%x: 1 to 7", shape->layer,
                       shape->passes);
  }
  return UFP4_OK;
}

static int has_descriptors(const ufp4_device_t *device, const ufp4_recipe_t *recipe) {
  if (recipe->scale != UFP4_SCALE_E4M3 && recipe->scale != UFP4_SCALE_E8M0) return 0;
  const ufp4_configuration_t *core = &device->info.configuration;
  if (!core->quant) return 0;
  if (recipe->contract != core->contract || !configuration_multiplies(core, recipe->elem)) return 0;
  for (int i = 0; i < UFP4_ROLE_COUNT; i++) {
    if (recipe->layout[i] != UFP4_LAYOUT_1D || recipe->rht[i] == UFP4_RHT_BF16) return 0;
  }
  return 1;
}

static ufp4_status_t check_recipe(ufp4_device_t *device, const ufp4_linear_shape_t *shape,
                                  const ufp4_recipe_t *recipe) {
  ufp4_message_t why;
  ufp4_status_t status = ufp4_recipe_check(recipe, shape->passes, device->backend->name, &why);
  if (status != UFP4_OK) return device_fail(device, status, "recipe %s: %s", recipe->name, why.text);
  return recipe->quantized ? device_check_core(device, recipe->contract, recipe->elem, recipe->elem) : UFP4_OK;
}

static void plan_copies(ufp4_linear_t *linear) {
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    if (!(linear->shape.passes >> pass & 1)) continue;
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    for (int i = 0; i < 2; i++) {
      copy_t *copy = &linear->copies[roles[i]][axes[i]];
      int64_t rows, cols;
      shape_of_role(&linear->shape, roles[i], &rows, &cols);
      copy->wanted = 1;
      copy->rows = axes[i] == UFP4_AXIS_ROW ? rows : cols;
      copy->cols = axes[i] == UFP4_AXIS_ROW ? cols : rows;
      copy->stride_blocks = ufp4_panel_stride_blocks(copy->cols);
    }
  }
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

// E8M0 has no tensor exponent: no AMAX, no slot.
static int has_exponents(const ufp4_linear_t *linear) {
  return linear->recipe.scale != UFP4_SCALE_E8M0;
}

static int role_is_wanted(const ufp4_linear_t *linear, ufp4_role_t role) {
  return linear->copies[role][UFP4_AXIS_ROW].wanted || linear->copies[role][UFP4_AXIS_COL].wanted;
}

static ufp4_status_t allocate_plain(ufp4_linear_t *linear) {
  uint64_t source = 0, output = 0;
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
    int64_t rows, cols;
    shape_of_role(&linear->shape, (ufp4_role_t)role, &rows, &cols);
    uint64_t bytes = (uint64_t)rows * stride_bytes(cols, sizeof(float));
    if (role_is_wanted(linear, (ufp4_role_t)role) && bytes > source) source = bytes;
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    int64_t m, n, k;
    shape_of_pass(&linear->shape, (ufp4_pass_t)pass, &m, &n, &k);
    uint64_t bytes = (uint64_t)m * stride_bytes(n, sizeof(float));
    if ((linear->shape.passes >> pass & 1) && bytes > output) output = bytes;
  }
  ufp4_status_t status = ufp4_buffer_alloc(linear->device, source, &linear->source);
  if (status == UFP4_OK) status = ufp4_buffer_alloc(linear->device, output, &linear->output);
  return status;
}

ufp4_status_t ufp4_linear_create(ufp4_device_t *device, const ufp4_linear_shape_t *shape, const ufp4_recipe_t *recipe,
                                 ufp4_linear_t **out) {
  if (out == NULL) return UFP4_ERROR_ARGUMENT;
  *out = NULL;
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (shape == NULL || recipe == NULL) return device_fail(device, UFP4_ERROR_ARGUMENT, "no shape or no recipe");
  status = check_shape(device, shape);
  if (status == UFP4_OK) status = check_recipe(device, shape, recipe);
  if (status != UFP4_OK) return status;
  ufp4_linear_t *linear = calloc(1, sizeof *linear);
  if (linear == NULL) return device_fail(device, UFP4_ERROR_MEMORY, "the host is out of memory");
  linear->device = device;
  linear->shape = *shape;
  linear->recipe = *recipe;
  linear->golden = recipe->quantized && !has_descriptors(device, recipe);
  plan_copies(linear);
  if (recipe->quantized && !linear->golden) status = allocate_copies(linear);
  if (recipe->quantized && !linear->golden && status == UFP4_OK) status = allocate_plain(linear);
  if (status != UFP4_OK) {
    ufp4_linear_free(linear);
    return status;
  }
  *out = linear;
  return UFP4_OK;
}

int ufp4_linear_quantizes_on_host(const ufp4_linear_t *linear) {
  if (linear == NULL || !linear->golden) return 0;
  const ufp4_backend_t *backend = linear->device->backend;
  return backend->quantize == NULL && strcmp(backend->name, "model") != 0;
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
  // What a job may still write must not become somebody else's; it then stays taken until the device is closed.
  if (jobs_drain(linear->device)) free_buffers(linear);
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) ufp4_operand_free(&linear->copies[i / 2][i % 2].golden);
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) free(linear->host[role]);
  free(linear);
}

// --- Loading -------------------------------------------------------------------------------------------

static ufp4_status_t check_tensor(ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor) {
  static const char *const names[UFP4_ROLE_COUNT] = {"X", "W", "dY"};
  if ((unsigned)role >= UFP4_ROLE_COUNT || tensor == NULL || tensor->data == NULL) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "load: no such role, or no tensor");
  }
  int64_t rows, cols;
  shape_of_role(&linear->shape, role, &rows, &cols);
  if (tensor->rows != rows || tensor->cols != cols || tensor->ld < cols) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "%s is %lld x %lld; this layer's is %lld x %lld",
                       names[role], (long long)tensor->rows, (long long)tensor->cols, (long long)rows, (long long)cols);
  }
  if (tensor->dtype != UFP4_DTYPE_F32 && tensor->dtype != UFP4_DTYPE_BF16) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "%s must be FP32 or BF16", names[role]);
  }
  if (!role_is_wanted(linear, role)) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "%s enters no pass of this layer", names[role]);
  }
  return UFP4_OK;
}

static ufp4_status_t load_on_host(ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor) {
  float *to = linear->host[role];
  if (to == NULL) to = linear->host[role] = malloc((size_t)(tensor->rows * tensor->cols) * sizeof *to);
  if (to == NULL) return device_fail(linear->device, UFP4_ERROR_MEMORY, "the host is out of memory");
  for (int64_t r = 0; r < tensor->rows; r++) {
    const float *f32 = (const float *)tensor->data + r * tensor->ld;
    const uint16_t *bf16 = (const uint16_t *)tensor->data + r * tensor->ld;
    for (int64_t c = 0; c < tensor->cols; c++) {
      uint16_t bits = tensor->dtype == UFP4_DTYPE_BF16 ? bf16[c] : ufp4_bf16_cast(f32[c]);
      to[r * tensor->cols + c] = ufp4_bf16_value(bits);
    }
  }
  linear->host_loaded[role] = 1;
  return UFP4_OK;
}

static ufp4_status_t load_golden(ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor, uint64_t step) {
  for (int axis = 0; axis < 2; axis++) {
    copy_t *copy = &linear->copies[role][axis];
    if (!copy->wanted) continue;
    ufp4_quantize_t how = ufp4_recipe_quantize(&linear->recipe, role, (ufp4_axis_t)axis);
    how.seed = linear->shape.seed;
    how.tensor_id = ufp4_tensor_id(step, linear->shape.layer, role, (unsigned)axis);
    ufp4_operand_free(&copy->golden);
    copy->loaded = 0;
    ufp4_status_t status = ufp4_device_quantize(linear->device, tensor, &how, &copy->golden);
    if (status != UFP4_OK) return status;
    copy->loaded = 1;
  }
  return UFP4_OK;
}

static ufp4_status_t upload(ufp4_linear_t *linear, const ufp4_matrix_t *tensor, uint64_t stride) {
  uint64_t element = tensor->dtype == UFP4_DTYPE_BF16 ? sizeof(uint16_t) : sizeof(float);
  const uint8_t *from = tensor->data;
  for (int64_t r = 0; r < tensor->rows; r++) {
    ufp4_status_t status =
        ufp4_buffer_write(linear->device, linear->source + (uint64_t)r * stride,
                          from + (uint64_t)(r * tensor->ld) * element, (uint64_t)tensor->cols * element);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

static void describe_source(const ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor,
                            ufp4_quant_descriptor_t *quant) {
  uint64_t element = tensor->dtype == UFP4_DTYPE_BF16 ? sizeof(uint16_t) : sizeof(float);
  quant->rows = (uint32_t)tensor->rows;
  quant->cols = (uint32_t)tensor->cols;
  quant->src_addr = linear->source;
  quant->src_stride_bytes = (uint32_t)stride_bytes(tensor->cols, element);
  quant->src_dtype = (uint8_t)tensor->dtype;
  quant->elem = (uint8_t)linear->recipe.elem;
  quant->scale = (uint8_t)linear->recipe.scale;
  quant->round = (uint8_t)linear->recipe.round[role];
  quant->scale_round = (uint8_t)linear->recipe.scale_round[role];
  quant->rht_mask = linear->recipe.rht_mask;
  quant->seed = linear->shape.seed;
}

static uint8_t copy_mode(const ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis) {
  if (!linear->copies[role][axis].wanted) return 0;
  ufp4_quantize_t how = ufp4_recipe_quantize(&linear->recipe, role, axis);
  const unsigned slot = has_exponents(linear) ? UFP4_MODE_SLOT : 0;
  return (uint8_t)(UFP4_MODE_ENABLE | slot | (how.rht ? UFP4_MODE_RHT : 0));
}

static void describe_copies(ufp4_linear_t *linear, ufp4_role_t role, uint64_t step, ufp4_quant_descriptor_t *quant) {
  copy_t *row = &linear->copies[role][UFP4_AXIS_ROW], *col = &linear->copies[role][UFP4_AXIS_COL];
  quant->row_mode = copy_mode(linear, role, UFP4_AXIS_ROW);
  quant->col_mode = copy_mode(linear, role, UFP4_AXIS_COL);
  if (row->wanted && has_exponents(linear)) quant->row_exponent = (uint16_t)row->slot.slot;
  if (col->wanted && has_exponents(linear)) quant->col_exponent = (uint16_t)col->slot.slot;
  quant->row_codes_addr = row->codes;
  quant->row_scales_addr = row->scales;
  quant->row_stride_blocks = (uint32_t)row->stride_blocks;
  quant->row_tensor_id = ufp4_tensor_id(step, linear->shape.layer, role, UFP4_AXIS_ROW);
  quant->col_codes_addr = col->codes;
  quant->col_scales_addr = col->scales;
  quant->col_stride_blocks = (uint32_t)col->stride_blocks;
  quant->col_tensor_id = ufp4_tensor_id(step, linear->shape.layer, role, UFP4_AXIS_COL);
}

// Queues AMAX, where there are exponents, and QUANT together, so that nothing waits for the host between them. Gives
// the flags of QUANT.
static ufp4_status_t quantize(ufp4_linear_t *linear, const ufp4_quant_descriptor_t *quant, unsigned *flags) {
  ufp4_descriptor_t amax = {.quant = *quant}, emit = {.quant = *quant};
  amax.quant.opcode = UFP4_OPCODE_AMAX;
  emit.quant.opcode = UFP4_OPCODE_QUANT;
  uint32_t jobs[2];
  ufp4_status_t status = UFP4_OK;
  const int first = has_exponents(linear) ? 0 : 1;
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

static unsigned copy_flags(unsigned job_flags, ufp4_axis_t axis) {
  unsigned saturated = axis == UFP4_AXIS_ROW ? UFP4_FLAG_ROW_SATURATED : UFP4_FLAG_COL_SATURATED;
  return (job_flags & UFP4_FLAG_NAN) | (job_flags & saturated ? UFP4_FLAG_ROW_SATURATED : 0);
}

ufp4_status_t ufp4_linear_load(ufp4_linear_t *linear, ufp4_role_t role, const ufp4_matrix_t *tensor, uint64_t step) {
  if (linear == NULL) return UFP4_ERROR_ARGUMENT;
  ufp4_status_t status = check_tensor(linear, role, tensor);
  if (status != UFP4_OK) return status;
  if (!linear->recipe.quantized) return load_on_host(linear, role, tensor);
  if (linear->golden) return load_golden(linear, role, tensor, step);
  copy_t *copies = linear->copies[role];
  for (int axis = 0; axis < 2; axis++) {
    copies[axis].loaded = 0;
    copies[axis].exponent = 0;
    if (copies[axis].wanted && has_exponents(linear)) copies[axis].slot = slot_take(linear->device);
  }
  ufp4_quant_descriptor_t quant = {0};
  describe_source(linear, role, tensor, &quant);
  describe_copies(linear, role, step, &quant);
  status = upload(linear, tensor, quant.src_stride_bytes);
  unsigned flags = 0;
  if (status == UFP4_OK) status = quantize(linear, &quant, &flags);
  for (int axis = 0; axis < 2 && status == UFP4_OK; axis++) {
    if (!copies[axis].wanted) continue;
    copies[axis].flags = copy_flags(flags, (ufp4_axis_t)axis);
    if (has_exponents(linear)) {
      status = ufp4_slot_read(linear->device, copies[axis].slot.slot, &copies[axis].exponent);
    }
    copies[axis].loaded = status == UFP4_OK;
  }
  return status;
}

// --- Running -------------------------------------------------------------------------------------------

static ufp4_status_t run_on_host(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  host_operand_t operands[2];
  ufp4_pass_operands(pass, roles, axes);
  for (int i = 0; i < 2; i++) {
    if (!linear->host_loaded[roles[i]]) {
      return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "run: an operand was not loaded");
    }
    int64_t rows, cols;
    shape_of_role(&linear->shape, roles[i], &rows, &cols);
    int transposed = axes[i] == UFP4_AXIS_COL;
    operands[i] = (host_operand_t){linear->host[roles[i]], transposed ? 1 : cols, transposed ? cols : 1};
  }
  int64_t m, n, k;
  shape_of_pass(&linear->shape, pass, &m, &n, &k);
  ufp4_status_t status = host_gemm(&operands[0], &operands[1], m, n, k, d, d_ld);
  return status == UFP4_OK ? status : device_fail(linear->device, status, "the host is out of memory");
}

static ufp4_status_t run_golden(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld,
                                ufp4_gemm_stats_t *stats) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  const copy_t *a = &linear->copies[roles[0]][axes[0]], *b = &linear->copies[roles[1]][axes[1]];
  if (!a->loaded || !b->loaded)
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "run: an operand was not loaded");
  const ufp4_gemm_t how = {.contract = linear->recipe.contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1.0f};
  return ufp4_device_gemm(linear->device, &a->golden, &b->golden, &how, d, d_ld, stats);
}

static uint16_t exponent_field(const ufp4_linear_t *linear, const copy_t *copy, uint8_t *mode) {
  int live = has_exponents(linear) && slot_is_live(linear->device, copy->slot);
  *mode = live ? UFP4_MODE_SLOT : 0;
  return live ? (uint16_t)copy->slot.slot : (uint16_t)(int16_t)copy->exponent;
}

static ufp4_descriptor_t describe_gemm(const ufp4_linear_t *linear, ufp4_pass_t pass, const copy_t *a,
                                       const copy_t *b) {
  ufp4_descriptor_t descriptor = {.gemm = {.opcode = UFP4_OPCODE_GEMM}};
  ufp4_gemm_descriptor_t *gemm = &descriptor.gemm;
  int64_t m, n, k;
  shape_of_pass(&linear->shape, pass, &m, &n, &k);
  gemm->m = (uint32_t)m;
  gemm->n = (uint32_t)n;
  gemm->k = (uint32_t)k;
  gemm->contract = (uint8_t)linear->recipe.contract;
  gemm->a_elem = gemm->b_elem = (uint8_t)linear->recipe.elem;
  gemm->scale = (uint8_t)linear->recipe.scale;
  gemm->d_dtype = UFP4_DTYPE_F32;
  gemm->a_exponent = exponent_field(linear, a, &gemm->a_mode);
  gemm->b_exponent = exponent_field(linear, b, &gemm->b_mode);
  gemm->a_codes_addr = a->codes;
  gemm->a_scales_addr = a->scales;
  gemm->b_codes_addr = b->codes;
  gemm->b_scales_addr = b->scales;
  gemm->a_stride_blocks = (uint32_t)a->stride_blocks;
  gemm->b_stride_blocks = (uint32_t)b->stride_blocks;
  gemm->d_addr = linear->output;
  gemm->d_stride_bytes = (uint32_t)stride_bytes(n, sizeof(float));
  return descriptor;
}

static ufp4_status_t read_output(ufp4_linear_t *linear, int64_t m, int64_t n, float *d, int64_t d_ld) {
  uint64_t stride = stride_bytes(n, sizeof(float));
  for (int64_t r = 0; r < m; r++) {
    ufp4_status_t status = ufp4_buffer_read(linear->device, linear->output + (uint64_t)r * stride, d + r * d_ld,
                                            (uint64_t)n * sizeof(float));
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

static ufp4_status_t run_on_device(ufp4_linear_t *linear, ufp4_pass_t pass, float *d, int64_t d_ld,
                                   ufp4_gemm_stats_t *stats) {
  ufp4_role_t roles[2];
  ufp4_axis_t axes[2];
  ufp4_pass_operands(pass, roles, axes);
  const copy_t *a = &linear->copies[roles[0]][axes[0]], *b = &linear->copies[roles[1]][axes[1]];
  if (!a->loaded || !b->loaded)
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "run: an operand was not loaded");
  ufp4_descriptor_t descriptor = describe_gemm(linear, pass, a, b);
  ufp4_status_t status = job_measure(linear->device, &descriptor, stats);
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
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "run: pass %d is not among this layer's passes", (int)pass);
  }
  ufp4_gemm_stats_t own = {0};
  shape_of_pass(&linear->shape, pass, &own.m, &own.n, &own.k);
  if (d == NULL || d_ld < own.n) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "run: D needs rows of %lld or more", (long long)own.n);
  }
  if (!linear->recipe.quantized) {
    status = run_on_host(linear, pass, d, d_ld);
  } else if (linear->golden) {
    status = run_golden(linear, pass, d, d_ld, &own);
  } else {
    status = run_on_device(linear, pass, d, d_ld, &own);
  }
  if (status == UFP4_OK && stats != NULL) *stats = own;
  return status;
}

// --- Reading copies back -------------------------------------------------------------------------------

static ufp4_status_t read_copy(ufp4_linear_t *linear, const copy_t *copy, ufp4_operand_t *out) {
  uint64_t code_bytes = (uint64_t)ufp4_panel_codes_bytes(copy->rows, copy->stride_blocks);
  uint64_t scale_bytes = (uint64_t)ufp4_panel_scales_bytes(copy->rows, copy->stride_blocks);
  uint8_t *memory = malloc(code_bytes + scale_bytes);
  if (memory == NULL) return device_fail(linear->device, UFP4_ERROR_MEMORY, "the host is out of memory");
  ufp4_status_t status = ufp4_buffer_read(linear->device, copy->codes, memory, code_bytes);
  if (status == UFP4_OK) status = ufp4_buffer_read(linear->device, copy->scales, memory + code_bytes, scale_bytes);
  if (status == UFP4_OK) {
    status = ufp4_operand_create_scaled(linear->recipe.elem, linear->recipe.scale, copy->rows, copy->cols, out);
  }
  if (status == UFP4_OK) {
    ufp4_panel_unpack(memory, memory + code_bytes, copy->stride_blocks, out);
    out->exponent = copy->exponent;
    out->flags = copy->flags;
  }
  free(memory);
  return status;
}

static ufp4_status_t copy_golden(ufp4_linear_t *linear, const ufp4_operand_t *from, ufp4_operand_t *out) {
  ufp4_status_t status = ufp4_operand_create_scaled(from->elem, from->scale, from->rows, from->cols, out);
  if (status != UFP4_OK) return device_fail(linear->device, status, "the host is out of memory");
  size_t scales = (size_t)(from->rows * from->scale_blocks);
  memcpy(out->codes, from->codes, (size_t)(from->rows * from->blocks) * 8);
  if (from->scales != NULL) memcpy(out->scales, from->scales, scales);
  if (from->scales_f32 != NULL) memcpy(out->scales_f32, from->scales_f32, scales * sizeof *from->scales_f32);
  out->exponent = from->exponent;
  out->tensor_scale = from->tensor_scale;
  out->flags = from->flags;
  return UFP4_OK;
}

ufp4_status_t ufp4_linear_operand(ufp4_linear_t *linear, ufp4_role_t role, ufp4_axis_t axis, ufp4_operand_t *out) {
  if (linear == NULL || out == NULL) return UFP4_ERROR_ARGUMENT;
  memset(out, 0, sizeof *out);
  if ((unsigned)role >= UFP4_ROLE_COUNT || (unsigned)axis > 1 || !linear->copies[role][axis].loaded) {
    return device_fail(linear->device, UFP4_ERROR_ARGUMENT, "operand: that copy was not loaded");
  }
  const copy_t *copy = &linear->copies[role][axis];
  return linear->golden ? copy_golden(linear, &copy->golden, out) : read_copy(linear, copy, out);
}

// --- One call per pass -----------------------------------------------------------------------------------

ufp4_status_t ufp4_linear_fprop(ufp4_linear_t *linear, const ufp4_matrix_t *x, const ufp4_matrix_t *w, uint64_t step,
                                float *y, ufp4_gemm_stats_t *stats) {
  ufp4_status_t status = ufp4_linear_load(linear, UFP4_ROLE_X, x, step);
  if (status == UFP4_OK) status = ufp4_linear_load(linear, UFP4_ROLE_W, w, step);
  return status == UFP4_OK ? ufp4_linear_run(linear, UFP4_PASS_FPROP, y, linear->shape.cout, stats) : status;
}

ufp4_status_t ufp4_linear_dgrad(ufp4_linear_t *linear, const ufp4_matrix_t *dy, uint64_t step, float *dx,
                                ufp4_gemm_stats_t *stats) {
  ufp4_status_t status = ufp4_linear_load(linear, UFP4_ROLE_DY, dy, step);
  return status == UFP4_OK ? ufp4_linear_run(linear, UFP4_PASS_DGRAD, dx, linear->shape.cin, stats) : status;
}

ufp4_status_t ufp4_linear_wgrad(ufp4_linear_t *linear, float *dw, ufp4_gemm_stats_t *stats) {
  if (linear == NULL) return UFP4_ERROR_ARGUMENT;
  return ufp4_linear_run(linear, UFP4_PASS_WGRAD, dw, linear->shape.cin, stats);
}
