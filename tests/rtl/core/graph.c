// SPDX-License-Identifier: Apache-2.0
// Random jobs that overlap, each with its dependencies.
#include "graph.h"

#include "random_jobs.h"
#include "stand.h"

// The resources that jobs read and write; they determine the dependences.
enum { SLOT_X, SLOT_W, SLOT_D, TENSOR_X, TENSOR_W, OPERAND_X, OPERAND_W, RESULT, RESOURCES };

static int is_gemm(const ufp4_descriptor_t *job) {
  return job->header.opcode == UFP4_OPCODE_GEMM;
}

// The latest earlier job of the other engine that this one must not overtake; -1 if there is none.
// It cannot overtake jobs of its own engine.
static int latest_conflict(const graph_t *graph, int job, unsigned resources) {
  const access_t *mine = &graph->access[job];
  for (int i = job - 1; i >= 0; i--) {
    const access_t *other = &graph->access[i];
    if (is_gemm(&graph->jobs[i]) == is_gemm(&graph->jobs[job])) continue;
    if (((other->writes & (mine->reads | mine->writes)) | (other->reads & mine->writes)) &
        resources)
      return i;
  }
  return -1;
}

// A job more than 15 places earlier has ended by itself when this one starts.
static uint8_t distance(int from, int earlier) {
  return (uint8_t)(earlier < 0 || from - earlier > 15 ? 0 : from - earlier);
}

static void add_job(graph_t *graph, const ufp4_descriptor_t *job, unsigned reads, unsigned writes) {
  graph->jobs[graph->count] = *job;
  graph->access[graph->count++] = (access_t){reads, writes};
}

// Names the dependences of most jobs: operands of most GEMMs by `panels`, the rest by `after`.
static void name_dependences(pair_t *pair, graph_t *graph, int job) {
  ufp4_header_descriptor_t *header = &graph->jobs[job].header;
  if (header->opcode == UFP4_OPCODE_FENCE || below(pair, 12) == 0) return;
  unsigned rest = ~0u;
  header->flags |= 2;
  if (is_gemm(&graph->jobs[job]) && below(pair, 4) != 0) {
    const int x = latest_conflict(graph, job, 1u << OPERAND_X),
              w = latest_conflict(graph, job, 1u << OPERAND_W);
    header->panels = (uint8_t)(distance(job, x) | distance(job, w) << 4);
    rest = ~(1u << OPERAND_X | 1u << OPERAND_W);
  }
  header->after = distance(job, latest_conflict(graph, job, rest));
}

// AMAX and QUANT of X or W, GEMMs, AMAX and QUANT of a GEMM's result into X's place, fences.
void random_graph(pair_t *pair, graph_t *graph, uint32_t limit) {
  const uint32_t m = random_size(pair, limit), n = random_size(pair, limit),
                 k = random_size(pair, limit);
  ufp4_descriptor_t x = random_quant(pair, m, k, SOURCE_X, X_CODES, 0);
  ufp4_descriptor_t w = random_quant(pair, n, k, SOURCE_W, W_CODES, 2);
  x.quant.row_mode |= UFP4_MODE_ENABLE;
  w.quant.row_mode |= UFP4_MODE_ENABLE;
  ufp4_descriptor_t gemm = random_gemm(pair, &x.quant, &w.quant);
  gemm.gemm.a_mode = gemm.gemm.b_mode = UFP4_MODE_SLOT;
  gemm.gemm.a_exponent = 0;
  gemm.gemm.b_exponent = 2;
  // The result, as far as it fits, quantized in X's stead.
  ufp4_descriptor_t d = x;
  d.quant.src_addr = gemm.gemm.d_addr;
  d.quant.src_stride_bytes = gemm.gemm.d_stride_bytes;
  // Unrounded sums are taken for FP32 numbers, which are as good.
  d.quant.src_dtype = gemm.gemm.d_dtype == UFP4_DTYPE_BF16 ? UFP4_DTYPE_BF16 : UFP4_DTYPE_F32;
  d.quant.cols = n < k ? n : k;
  write_source(pair, &x.quant, FIXTURE_GAUSSIAN);
  write_source(pair, &w.quant, FIXTURE_GAUSSIAN);
  const ufp4_descriptor_t amax_x = amax_of(&x), amax_w = amax_of(&w), amax_d = amax_of(&d),
                          fence = stand_fence(0);
  // For the GEMM any scale byte will do.
  if (below(pair, 3) == 0) x = e8m0_of(pair, &x);
  if (below(pair, 3) == 0) d = e8m0_of(pair, &d);
  graph->count = 0;
  add_job(graph, &amax_x, 1u << TENSOR_X, 1u << SLOT_X);
  add_job(graph, &amax_w, 1u << TENSOR_W, 1u << SLOT_W);
  while (graph->count < MAX_GRAPH - 2) {
    switch (below(pair, 10)) {
      case 0:
        add_job(graph, &fence, 0, 0);
        break;
      case 1:
        add_job(graph, &amax_w, 1u << TENSOR_W, 1u << SLOT_W);
        break;
      case 2:
        add_job(graph, &amax_d, 1u << RESULT, 1u << SLOT_X);
        add_job(graph, &d, 1u << RESULT | 1u << SLOT_X, 1u << OPERAND_X);
        break;
      case 3:
        add_job(graph, &amax_x, 1u << TENSOR_X, 1u << SLOT_X);
        break;
      case 4:
      case 5:
        add_job(graph, &x, 1u << TENSOR_X | 1u << SLOT_X, 1u << OPERAND_X);
        break;
      case 6:
        add_job(graph, &w, 1u << TENSOR_W | 1u << SLOT_W, 1u << OPERAND_W);
        break;
      default:
        add_job(graph, &gemm, 1u << OPERAND_X | 1u << OPERAND_W | 1u << SLOT_X | 1u << SLOT_W,
                1u << RESULT);
    }
  }
  for (int i = 0; i < graph->count; i++) name_dependences(pair, graph, i);
}

void run_graph(pair_t *pair, const graph_t *graph) {
  uint32_t numbers[2][MAX_GRAPH];
  for (int device = 0; device < 2; device++) {
    for (int i = 0; i < graph->count; i++) {
      pair_must(pair->device[device],
                ufp4_submit(pair->device[device], &graph->jobs[i], &numbers[device][i]));
    }
  }
  for (int i = 0; i < graph->count; i++) {
    ufp4_completion_t done[2];
    for (int device = 0; device < 2; device++) {
      pair_must(pair->device[device],
                ufp4_wait(pair->device[device], numbers[device][i], 0, &done[device]));
    }
    pair->jobs++;
    check_bits(pair->jobs, done[0].status, done[1].status, "status of job %d, opcode %u", i,
               graph->jobs[i].header.opcode);
    check_bits(pair->jobs, done[0].flags, done[1].flags, "flags of job %d, opcode %u", i,
               graph->jobs[i].header.opcode);
  }
  pair_compare(pair, "jobs side by side");
}
