// SPDX-License-Identifier: Apache-2.0
#include "measure_run.h"

#include <math.h>
#include <stdlib.h>

#define REPEATS 11

// --- Memory -------------------------------------------------------------------------------------

void ufp4_measure_release(measure_t *m) {
  void *const all[] = {m->source, m->codes[0], m->codes[1], m->scales[0], m->scales[1],
                       m->words,  m->d,        m->yard[0],  m->yard[1],   m->workspace};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) m->table->release(m->cuda, all[i]);
}

ufp4_status_t ufp4_measure_allocate(measure_t *m) {
  const size_t elements = (size_t)(m->size * m->size);
  ufp4_status_t status = m->table->allocate(m->cuda, elements * sizeof(float), &m->source);
  for (int i = 0; i < 2 && status == UFP4_OK; i++) {
    status = m->table->allocate(m->cuda, elements / 2, &m->codes[i]);
    if (status == UFP4_OK) status = m->table->allocate(m->cuda, elements / 16, &m->scales[i]);
    if (status == UFP4_OK)
      status = m->table->allocate(m->cuda, elements * sizeof(double), &m->yard[i]);
  }
  if (status == UFP4_OK) status = m->table->allocate(m->cuda, 8 * sizeof(int32_t), &m->words);
  return status == UFP4_OK ? m->table->allocate(m->cuda, elements * sizeof(double), &m->d) : status;
}

ufp4_status_t ufp4_measure_fill_source(measure_t *m) {
  const size_t row = (size_t)m->size * sizeof(float);
  float *values = malloc(row);
  ufp4_status_t status = values != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
  uint64_t state = 1;
  for (int64_t r = 0; r < m->size && status == UFP4_OK; r++) {
    for (int64_t c = 0; c < m->size; c++) {
      int sum = -1020;
      state = state * 6364136223846793005u + 1442695040888963407u;
      for (int i = 0; i < 8; i++) sum += (int)(state >> 8 * i & 255);
      values[c] = (float)sum / 256.0f;
    }
    status = m->table->write(m->cuda, (char *)m->source + (size_t)r * row, values, row);
  }
  free(values);
  return status;
}

ufp4_status_t ufp4_measure_fill_yard(measure_t *m, ufp4_cuda_vendor_t vendor) {
  const int wide = vendor == UFP4_CUDA_VENDOR_FP64;
  const size_t row = (size_t)m->size * (wide ? sizeof(double) : sizeof(uint16_t));
  void *values = malloc(row);
  ufp4_status_t status = values != NULL ? UFP4_OK : UFP4_ERROR_MEMORY;
  uint64_t state = 2;
  for (int64_t r = 0; r < 2 * m->size && status == UFP4_OK; r++) {
    for (int64_t c = 0; c < m->size; c++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      // Numbers between -2 and 2 with random significands.
      if (wide) ((double *)values)[c] = (double)(int64_t)state * 0x1p-62;
      if (!wide)
        ((uint16_t *)values)[c] =
            (uint16_t)(0x3F80 | (state >> 32 & 0x7F) | (state >> 40 & 0x8000));
    }
    status = m->table->write(m->cuda, (char *)m->yard[r / m->size] + (size_t)(r % m->size) * row,
                             values, row);
  }
  free(values);
  return status;
}

// The memory grows before anything is timed, because the first run does not count.
ufp4_status_t ufp4_measure_call(measure_t *m, size_t bytes, ufp4_cuda_call_t *out) {
  ufp4_status_t status = UFP4_OK;
  if (bytes > m->workspace_bytes) {
    m->table->release(m->cuda, m->workspace);
    m->workspace = NULL;
    status = m->table->allocate(m->cuda, bytes, &m->workspace);
    m->workspace_bytes = status == UFP4_OK ? bytes : 0;
  }
  *out = (ufp4_cuda_call_t){
      .workspace = m->workspace, .workspace_bytes = m->workspace_bytes, .message = m->message};
  return status;
}

// --- Timing -------------------------------------------------------------------------------------

static int compare_reals(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

ufp4_status_t ufp4_measure_turns(measure_t *m, run_t run, const void *what, run_t yard,
                                 const void *yard_what, double milliseconds[2]) {
  double times[2][REPEATS];
  for (int i = -1; i < REPEATS; i++) {
    for (int side = 0; side < (yard != NULL ? 2 : 1); side++) {
      double elapsed;
      ufp4_status_t status = m->table->timer_start(m->cuda);
      if (status == UFP4_OK) status = side == 0 ? run(m, what) : yard(m, yard_what);
      if (status == UFP4_OK) status = m->table->timer_stop(m->cuda, &elapsed);
      if (status != UFP4_OK) return status;
      if (i >= 0) times[side][i] = elapsed;
    }
  }
  for (int side = 0; side < (yard != NULL ? 2 : 1); side++) {
    qsort(times[side], REPEATS, sizeof times[side][0], compare_reals);
    milliseconds[side] = times[side][REPEATS / 2];
  }
  return UFP4_OK;
}

void ufp4_measure_give(measure_t *m, ufp4_cuda_figure_t figure) {
  figure.ratio =
      figure.against != NULL && figure.against_rate > 0 ? figure.rate / figure.against_rate : NAN;
  m->take(m->argument, &figure);
}

ufp4_status_t ufp4_measure_copy(measure_t *m, const void *what) {
  (void)what;
  return m->table->vendor(m->cuda, UFP4_CUDA_VENDOR_COPY, m->size, m->size, 0, m->source, NULL,
                          m->d);
}

ufp4_status_t ufp4_measure_vendor(measure_t *m, const void *what) {
  const ufp4_cuda_vendor_t vendor = *(const ufp4_cuda_vendor_t *)what;
  return m->table->vendor(m->cuda, vendor, m->size, m->size, m->size, m->yard[0], m->yard[1], m->d);
}
