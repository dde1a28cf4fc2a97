// SPDX-License-Identifier: Apache-2.0
// Quantizes a tensor in parts, one per thread, with the caller's kernel. A block, or a tile of 16
// rows, depends only on its own numbers, its position and, with E4M3 scales, the tensor exponent.
// The parts therefore first agree on the exponent, and then each makes its rows.
#include "quantize/parts.h"

#include "base/integer.h"
#include "base/threads.h"
#include "quantize/portable.h"

#define PART_ROWS 128       // whole tiles of every kernel, and whole cache lines of columns
#define PART_NUMBERS 65536  // numbers for which a thread is worthwhile
#define MAX_PARTS 64

typedef struct {
  const quantize_kernel_t *kernel;
  quantize_rows_t *run;
  source_t source;
  ufp4_matrix_t in;
  ufp4_quantize_t how;
  ufp4_operand_t out;
  int exponent;
  ufp4_status_t status;
} part_t;

static void find_exponent(void *argument) {
  part_t *part = argument;
  part->exponent = part->kernel != NULL ? part->kernel->exponent(&part->source, &part->how)
                                        : ufp4_source_exponent(&part->source, &part->how);
}

static void make(void *argument) {
  part_t *part = argument;
  part->status = part->run(&part->source, &part->how, &part->out);
}

static ufp4_status_t run_portable(const source_t *source, const ufp4_quantize_t *how,
                                  ufp4_operand_t *out) {
  ufp4_quantize_tiles(source, how, out);
  return UFP4_OK;
}

static int64_t rows_of_part(const source_t *source, int threads) {
  const int64_t most = source->rows * source->cols / PART_NUMBERS;
  const int64_t count = min_i64(min_i64(threads, MAX_PARTS), most);
  if (count <= 1) return source->rows;
  const int64_t units = (source->rows - 1) / PART_ROWS + 1;
  return ((units - 1) / count + 1) * PART_ROWS;
}

// Makes the part's matrix and operand, which are the whole ones with another beginning.
static void cut(part_t *part, const source_t *whole, int64_t first, int64_t rows,
                const ufp4_operand_t *out) {
  const int by_columns = whole->axis == UFP4_AXIS_COL;
  const int64_t skipped = by_columns ? first : first * whole->in->ld;
  const size_t bytes = whole->in->dtype == UFP4_DTYPE_BF16 ? sizeof(uint16_t) : sizeof(float);
  part->in = *whole->in;
  part->in.data = (const uint8_t *)whole->in->data + (size_t)skipped * bytes;
  *(by_columns ? &part->in.cols : &part->in.rows) = rows;
  part->source = ufp4_source_of(&part->in, whole->axis);
  part->source.first_group = first * whole->blocks;
  part->out = *out;
  part->out.rows = rows;
  part->out.codes += first * out->blocks * CODE_BYTES;
  if (out->scales != NULL) part->out.scales += first * out->scale_blocks;
  if (out->scales_f32 != NULL) part->out.scales_f32 += first * out->scale_blocks;
}

static int cut_all(const source_t *source, const part_t *like, ufp4_operand_t *out,
                   part_t parts[MAX_PARTS], void *arguments[MAX_PARTS]) {
  const int64_t rows = rows_of_part(source, like->how.threads);
  int count = 0;
  for (int64_t first = 0; first < source->rows; first += rows, count++) {
    parts[count] = *like;
    cut(&parts[count], source, first, min_i64(rows, source->rows - first), out);
    arguments[count] = &parts[count];
  }
  return count;
}

static void agree_on_exponent(part_t parts[MAX_PARTS], void *arguments[MAX_PARTS], int count) {
  int exponent = INT32_MAX;
  threads_run(find_exponent, arguments, count);
  for (int i = 0; i < count; i++)
    exponent = parts[i].exponent < exponent ? parts[i].exponent : exponent;
  for (int i = 0; i < count; i++) {
    parts[i].how.exponent_given = 1;
    parts[i].how.exponent = some_exponent(exponent);
  }
}

static ufp4_status_t make_all(part_t parts[MAX_PARTS], void *arguments[MAX_PARTS], int count,
                              ufp4_operand_t *out) {
  threads_run(make, arguments, count);
  ufp4_status_t status = UFP4_OK;
  out->exponent = parts[0].out.exponent;
  for (int i = 0; i < count; i++) {
    out->flags |= parts[i].out.flags;
    if (parts[i].status != UFP4_OK) status = parts[i].status;
  }
  return status;
}

ufp4_status_t ufp4_quantize_parts(const source_t *source, const ufp4_quantize_t *how,
                                  const quantize_kernel_t *kernel, ufp4_operand_t *out) {
  part_t parts[MAX_PARTS];
  void *arguments[MAX_PARTS] = {NULL};
  const part_t like = {
      .kernel = kernel, .run = kernel != NULL ? kernel->quantize : run_portable, .how = *how};
  const int count = cut_all(source, &like, out, parts, arguments);
  if (!how->exponent_given && count > 1) agree_on_exponent(parts, arguments, count);
  return make_all(parts, arguments, count, out);
}

ufp4_status_t ufp4_quantize_rows(const source_t *source, const ufp4_quantize_t *how,
                                 quantize_rows_t *run, ufp4_operand_t *out) {
  part_t parts[MAX_PARTS];
  void *arguments[MAX_PARTS] = {NULL};
  const part_t like = {.run = run, .how = *how};
  return make_all(parts, arguments, cut_all(source, &like, out, parts, arguments), out);
}
