// SPDX-License-Identifier: Apache-2.0
// Tests the driver's file functions when allocations fail (tests/model/support/heap.h).
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "heap.h"
#include "stand.h"
#include "ufp4/format.h"

static ufp4_matrix_t small_matrix(void) {
  static float values[20 * 40];
  check_random_t random = check_random();
  for (int i = 0; i < 20 * 40; i++)
    values[i] = ufp4_f32_value(fixture_number(&random, FIXTURE_OUTLIERS));
  return (ufp4_matrix_t){UFP4_DTYPE_F32, 20, 40, 40, values};
}

static ufp4_status_t call_file_read(const void *input, uint64_t *result) {
  ufp4_message_t message = {0};
  ufp4_tensor_t made;
  ufp4_status_t status = ufp4_file_read(input, 0, &made, &message);
  check_that(0, status == UFP4_OK || (made.data == NULL && message.text[0] != '\0'),
             "a tensor, or no message");
  if (status != UFP4_OK) return status;
  *result = digest(3, made.data, (size_t)(made.view.rows * made.view.cols) * sizeof(float));
  ufp4_tensor_free(&made);
  return status;
}

// Writes a file with that header and a few bytes of data.
static void write_file(const char *path, const char *header, size_t bytes) {
  static const uint8_t data[64] = {0, 0, 0xC0, 0x3F, 0, 0, 0x40, 0xC0};
  const uint8_t length[8] = {(uint8_t)strlen(header), (uint8_t)(strlen(header) >> 8)};
  FILE *file = fopen(path, "wb");
  if (file == NULL) abort();
  fwrite(length, 1, 8, file);
  fwrite(header, 1, strlen(header), file);
  fwrite(data, 1, bytes, file);
  fclose(file);
}

static void write_safetensors(const char *path) {
  write_file(path, "{\"x\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}", 8);
}

// jansson's allocations do not fail here: without memory its parser may drop characters of a token
// and accept the rest.
TEST(named_tensors) {
  char named[160];
  snprintf(named, sizeof named, "%s:x", heap_path("t.safetensors"));
  write_safetensors(heap_path("t.safetensors"));
  const scenario_t read = {"file_read", call_file_read, named};
  heap_check(&read);
  unlink(heap_path("t.safetensors"));
}

typedef struct {
  ufp4_operand_t operand;
  ufp4_quantize_t how;
  char path[128];
} file_input_t;

static ufp4_status_t call_operand_write(const void *input, uint64_t *result) {
  const file_input_t *in = input;
  ufp4_message_t message = {0};
  unlink(in->path);
  ufp4_status_t status = ufp4_operand_write(in->path, &in->operand, &in->how, 1, &message);
  check_that(0, status == UFP4_OK || message.text[0] != '\0', "no message");
  *result = digest_file(in->path);
  check_that(0, (status == UFP4_OK) == (*result != 0),
             "a file is there if and only if the call succeeds");
  return status;
}

static ufp4_status_t call_operand_read(const void *input, uint64_t *result) {
  const file_input_t *in = input;
  ufp4_message_t message = {0};
  ufp4_operand_t made;
  ufp4_quantize_t how;
  ufp4_status_t status = ufp4_operand_read(in->path, &made, &how, &message);
  check_that(0, status == UFP4_OK || (made.codes == NULL && message.text[0] != '\0'),
             "an operand, or no message");
  if (status != UFP4_OK) return status;
  *result = digest_operand(&made);
  ufp4_operand_free(&made);
  return status;
}

static void *malloc_for_json(size_t size) {
  return __real_malloc(size);
}

static void free_for_json(void *memory) {
  __real_free(memory);
}

static void *no_memory_for_json(size_t size) {
  (void)size;
  return NULL;
}

TEST(rejects_a_header_without_memory_for_it) {
  char named[160];
  snprintf(named, sizeof named, "%s:x", heap_path("t.safetensors"));
  write_safetensors(heap_path("t.safetensors"));
  json_set_alloc_funcs(no_memory_for_json, free_for_json);
  uint64_t ignored;
  check_bits(0, call_file_read(named, &ignored), UFP4_ERROR_MEMORY, "status");
  json_set_alloc_funcs(malloc_for_json, free_for_json);
  check_bits(1, call_file_read(named, &ignored), UFP4_OK, "status, with memory again");
  unlink(heap_path("t.safetensors"));
}

TEST(operand_files) {
  const ufp4_matrix_t in = small_matrix();
  for (int scale = 0; scale < UFP4_SCALE_COUNT; scale++) {
    file_input_t input = {.how = {.scale = (ufp4_scale_t)scale}};
    if (scale == UFP4_SCALE_E8M0) input.how.scale_round = UFP4_SCALE_ROUND_DOWN;
    snprintf(input.path, sizeof input.path, "%s", heap_path("q.safetensors"));
    check_bits(scale, ufp4_quantize(&in, &input.how, &input.operand), UFP4_OK, "quantize");
    const scenario_t write = {"operand_write", call_operand_write, &input};
    const scenario_t read = {"operand_read", call_operand_read, &input};
    json_set_alloc_funcs(__wrap_malloc, __wrap_free);
    heap_check(&write);
    json_set_alloc_funcs(malloc_for_json, free_for_json);
    ufp4_message_t message;
    check_bits(scale, ufp4_operand_write(input.path, &input.operand, &input.how, 0, &message),
               UFP4_OK, "write");
    heap_check(&read);
    unlink(input.path);
    ufp4_operand_free(&input.operand);
  }
}

TEST(layers_of_checkpoints) {
  file_input_t input = {0};
  write_file(heap_path("c.safetensors"),
             "{\"a.weight\":{\"dtype\":\"U8\",\"shape\":[2,16],\"data_offsets\":[0,32]},"
             "\"a.weight_scale\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offsets\":[32,34]}}",
             34);
  snprintf(input.path, sizeof input.path, "%s:a", heap_path("c.safetensors"));
  const scenario_t read = {"operand_read of a layer", call_operand_read, &input};
  heap_check(&read);
  unlink(heap_path("c.safetensors"));
}
