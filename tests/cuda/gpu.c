// SPDX-License-Identifier: Apache-2.0
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const emulated_weather_t weathers[WEATHERS] = {
    {.capability = 90},
    {.capability = 80,
     .early_copies = 1,
     .backwards = 1,
     .fraction_bits = 24,
     .group = 8,
     .multiprocessors = 1000,
     .reciprocal_places = 1},
    {.capability = 90, .backwards = 1, .fraction_bits = 23, .group = 16, .reciprocal_places = -1},
    {.capability = 80, .fraction_bits = 25, .group = 16, .reciprocal_places = -1},
    {.capability = 90,
     .early_copies = 1,
     .fraction_bits = 25,
     .group = 16,
     .multiprocessors = 1000},
    {.capability = 90,
     .early_copies = 1,
     .backwards = 1,
     .apart = 1,
     .fraction_bits = 24,
     .group = 8,
     .multiprocessors = 2,
     .reciprocal_places = 1},
    {.capability = 80, .early_copies = 1, .apart = 1, .fraction_bits = 23, .group = 8},
};
static void *symbol(const char *name) {
  const char *path = getenv("UFP4_CUDA_LIBRARY");
  void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  void *found = library != NULL ? dlsym(library, name) : NULL;
  if (found != NULL) return found;
  fprintf(stderr, "UFP4_CUDA_LIBRARY is not the emulated GPU: %s\n",
          path != NULL ? path : "(not set)");
  abort();
}

void set_weather(const emulated_weather_t *weather) {
  emulated_set_weather_t set;
  void *found = symbol(EMULATED_WEATHER_SYMBOL);
  memcpy(&set, &found, sizeof set);
  set(weather);
}

uint64_t products_taken(void) {
  emulated_products_t take;
  void *found = symbol(EMULATED_PRODUCTS_SYMBOL);
  memcpy(&take, &found, sizeof take);
  return take();
}

emulated_counts_t counts_taken(void) {
  emulated_counts_taken_t take;
  emulated_counts_t counts;
  void *found = symbol(EMULATED_COUNTS_SYMBOL);
  memcpy(&take, &found, sizeof take);
  take(&counts);
  return counts;
}

void transform_bf16(uint32_t bits[16], uint16_t mask) {
  emulated_transform_t transform;
  void *found = symbol(EMULATED_TRANSFORM_SYMBOL);
  memcpy(&transform, &found, sizeof transform);
  transform(bits, mask);
}

const emulated_quick_t *quick_parts(void) {
  return symbol(EMULATED_QUICK_SYMBOL);
}

ufp4_device_t *open_device(const emulated_weather_t *weather) {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_message_t message = {0};
  ufp4_device_t *device;
  options.message = &message;
  options.memory_bytes = 1u << 20;
  set_weather(weather);
  if (ufp4_device_open("cuda", &options, &device) == UFP4_OK) return device;
  fprintf(stderr, "%s\n", message.text);
  abort();
}

static size_t dtype_bytes(ufp4_dtype_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 2 : dtype == UFP4_DTYPE_I64 ? 8 : 4;
}

int64_t differences(ufp4_device_t *device, const pair_t *p, const ufp4_gemm_t *how) {
  const int64_t ld = p->b.rows + 3, count = p->a.rows * ld;
  const size_t size = dtype_bytes(how->d_dtype);
  uint8_t *got = malloc((size_t)count * size), *want = malloc((size_t)count * size);
  int64_t differ = 0;
  if (got == NULL || want == NULL) abort();
  memset(got, 0xA5, (size_t)count * size);
  memset(want, 0xA5, (size_t)count * size);
  check_bits(0, ufp4_gemm(&p->a, &p->b, how, want, ld), UFP4_OK, "golden");
  check_bits(0, ufp4_device_gemm(device, &p->a, &p->b, how, got, ld, NULL), UFP4_OK, "%s",
             ufp4_device_message(device));
  for (int64_t i = 0; i < count; i++) {
    if (memcmp(got + (size_t)i * size, want + (size_t)i * size, size) == 0) continue;
    uint64_t bits[2] = {0, 0};
    memcpy(&bits[0], got + (size_t)i * size, size);
    memcpy(&bits[1], want + (size_t)i * size, size);
    if (differ++ == 0) {
      fprintf(stderr, "D[%lld][%lld]: got %llx, want %llx\n", (long long)(i / ld),
              (long long)(i % ld), (unsigned long long)bits[0], (unsigned long long)bits[1]);
    }
  }
  free(got);
  free(want);
  return differ;
}

void check_pair(int64_t index, ufp4_device_t *device, const pair_t *p, const ufp4_gemm_t *how) {
  check_bits(
      index, (uint64_t)differences(device, p, how), 0,
      "outputs that differ: %lld x %lld x %lld, elems %u and %u, scale %u, contract %u, dtype %u",
      (long long)p->a.rows, (long long)p->b.rows, (long long)p->a.cols, p->a.elem, p->b.elem,
      p->a.scale, how->contract, how->d_dtype);
}

const ufp4_cuda_table_t *table(void) {
  const ufp4_cuda_table_t *(*get)(void);
  void *found = symbol(UFP4_CUDA_TABLE_SYMBOL);
  memcpy(&get, &found, sizeof get);
  return get();
}

ufp4_cuda_operand_t operand_of(const ufp4_operand_t *in) {
  return (ufp4_cuda_operand_t){
      .elem = in->elem,
      .scale = in->scale,
      .rows = in->rows,
      .cols = in->cols,
      .codes = in->codes,
      .scales = in->scales_f32 != NULL ? (void *)in->scales_f32 : in->scales,
      .exponent_value = in->exponent};
}
