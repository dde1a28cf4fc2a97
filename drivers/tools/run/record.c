// SPDX-License-Identifier: Apache-2.0
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/names.h"
#include "train/model/weights.h"

static const char *const tensor_names[UFP4_ROLE_COUNT] = {"X", "W", "dY"};
static const char *const side_names[] = {"rows", "columns"};

// --- Recording ----------------------------------------------------------------------------------

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int reserve(record_t *record) {
  if (record->count < record->capacity) return 1;
  int capacity = record->capacity ? 2 * record->capacity : 64;
  record_gemm_t *gemms = realloc(record->gemms, (size_t)capacity * sizeof *gemms);
  if (!gemms) return 0;
  record->gemms = gemms;
  record->capacity = capacity;
  return 1;
}

static ufp4_status_t keep_result(const ufp4_matrix_t *d, record_gemm_t *gemm) {
  size_t bytes = ufp4_matrix_bytes(d->rows, d->cols, sizeof *gemm->d);
  gemm->d = malloc(bytes);
  if (!gemm->d) return UFP4_ERROR_MEMORY;
  memcpy(gemm->d, d->data, bytes);
  return UFP4_OK;
}

static ufp4_status_t keep(record_t *record, const ufp4_layer_event_t *event) {
  if (!reserve(record)) return UFP4_ERROR_MEMORY;
  record_gemm_t *gemm = &record->gemms[record->count++];
  *gemm = (record_gemm_t){.layer = event->layer, .pass = event->pass, .stats = event->stats};
  ufp4_role_t role[2];
  ufp4_axis_t axis[2];
  ufp4_pass_operands(event->pass, role, axis);
  gemm->quantized = ufp4_linear_quantizes(event->linear, event->pass);
  for (int i = 0; i < 2 && gemm->quantized; i++) {
    ufp4_status_t status = ufp4_linear_operand(event->linear, role[i], axis[i], &gemm->operand[i]);
    if (status) return status;
  }
  return keep_result(&event->d, gemm);
}

static ufp4_status_t on_gemm(void *context, const ufp4_layer_event_t *event) {
  record_t *record = context;
  double started = now();
  ufp4_status_t status = keep(record, event);
  if (record->progress) {
    char line[100];
    snprintf(line, sizeof line, "%s: GEMM %d done (layer %u, %s)", record->device, record->count,
             event->layer, pass_names[event->pass]);
    progress_say(record->progress, line);
  }
  record->seconds += now() - started;
  return status;
}

ufp4_layer_hook_t record_hook(record_t *record) {
  return (ufp4_layer_hook_t){on_gemm, record};
}

void record_free(record_t *record) {
  for (int i = 0; i < record->count; i++) {
    ufp4_operand_free(&record->gemms[i].operand[0]);
    ufp4_operand_free(&record->gemms[i].operand[1]);
    free(record->gemms[i].d);
  }
  free(record->gemms);
  record->gemms = NULL;
  record->count = record->capacity = 0;
}

// --- Comparing ----------------------------------------------------------------------------------

static void compare_operand(const record_gemm_t *gemm, int which, const ufp4_operand_t *want,
                            const ufp4_operand_t *got, record_difference_t *difference) {
  char what[16];
  ufp4_role_t role[2];
  ufp4_axis_t axis[2];
  ufp4_pass_operands(gemm->pass, role, axis);
  snprintf(what, sizeof what, "%s by %s", tensor_names[role[which]], side_names[axis[which]]);
  compare_operands(&difference->compare, what, got, want);
  difference->codes += 16 * want->rows * want->blocks;
  difference->scales += want->rows * want->scale_blocks;
}

int64_t record_compare(const record_gemm_t *want, const record_gemm_t *got,
                       record_difference_t *difference) {
  compare_t *compare = &difference->compare;
  int64_t before = compare->mismatches, count = want->stats.m * want->stats.n;
  char place[64];
  snprintf(place, sizeof place, "block %u, %s, %s: ", want->layer / UFP4_MATRIX_COUNT,
           ufp4_matrix_name(want->layer % UFP4_MATRIX_COUNT), pass_names[want->pass]);
  compare->place = place;
  for (int i = 0; i < 2 && want->quantized; i++)
    compare_operand(want, i, &want->operand[i], &got->operand[i], difference);
  compare_elements(compare, "output", got->d, want->d, sizeof *want->d, count);
  compare->place = NULL;
  difference->outputs += count;
  return compare->mismatches - before;
}
