// SPDX-License-Identifier: Apache-2.0
// Tests plain tensors in .safetensors files.
#include <stdio.h>
#include <string.h>

#include "stand.h"

static const float six[] = {1.0f, -2.5f, 0.0f, 1e-40f, 3e38f, -0.0f};

static ufp4_status_t read_text(const char *json, const void *data, size_t size, const char *name,
                               ufp4_tensor_t *out, ufp4_message_t *message) {
  uint8_t bytes[2048];
  size_t length = strlen(json);
  char path[160];
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)length >> (8 * i));
  memcpy(bytes + 8, json, length);
  memcpy(bytes + 8 + length, data, size);
  snprintf(path, sizeof path, "%s%s%s", files_write("t.safetensors", bytes, 8 + length + size),
           name[0] != '\0' ? ":" : "", name);
  ufp4_status_t status = ufp4_file_read(path, 0, out, message);
  files_remove("t.safetensors");
  return status;
}

TEST(named_tensors_of_each_type) {
  static const char json[] =
      "{\"__metadata__\": {\"a\": \"b\"}, \"x.weight\": {\"dtype\": \"F32\", \"shape\": [2, 3], "
      "\"data_offsets\": [0, "
      "24]},"
      "\"h\": {\"dtype\": \"F16\", \"shape\": [1, 2], \"data_offsets\": [24, 28]},"
      "\"b\": {\"dtype\": \"BF16\", \"shape\": [2, 1], \"data_offsets\": [28, 32]}}   ";
  const uint16_t halves[] = {0x3C00, 0xC000, 0x3F80, 0xC040};
  uint8_t data[32];
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  memcpy(data, six, 24);
  memcpy(data + 24, halves, 8);
  files_check_status(0, read_text(json, data, 32, "x.weight", &tensor, &message), UFP4_OK,
                     &message);
  check_that(0, tensor.view.rows == 2 && tensor.view.cols == 3 && memcmp(tensor.data, six, 24) == 0,
             "x.weight");
  ufp4_tensor_free(&tensor);
  files_check_status(1, read_text(json, data, 32, "h", &tensor, &message), UFP4_OK, &message);
  check_bits(1, ufp4_f32_bits(((float *)tensor.data)[1]), ufp4_f32_bits(-2.0f), "h");
  ufp4_tensor_free(&tensor);
  files_check_status(2, read_text(json, data, 32, "b", &tensor, &message), UFP4_OK, &message);
  check_bits(2, ((uint16_t *)tensor.data)[1], 0xC040, "b");
  check_bits(2, tensor.view.dtype, UFP4_DTYPE_BF16, "dtype of b");
  ufp4_tensor_free(&tensor);
}

static void check_refused(int64_t index, const char *json, size_t size, const char *name,
                          const char *words) {
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  files_check_status(index, read_text(json, six, size, name, &tensor, &message), UFP4_ERROR_FORMAT,
                     &message);
  check_that(index, strstr(message.text, words) != NULL, "message '%s' does not say '%s'",
             message.text, words);
}

#define X(shape, from, to) \
  "{\"x\": {\"dtype\": \"F32\", \"shape\": " shape ", \"data_offsets\": [" from ", " to "]}}"

TEST(rejects_an_unknown_name) {
  check_refused(0, X("[2, 3]", "0", "24"), 24, "y", "it has x");
  check_refused(1, X("[2, 3]", "0", "24"), 24, "", "it has x");
  check_refused(2, X("[2, 3]", "0", "24"), 24, "__metadata__", "it has x");
}

TEST(rejects_truncated_data) {
  for (size_t size = 0; size < 24; size++)
    check_refused((int64_t)size, X("[2, 3]", "0", "24"), size, "x", "truncated");
}

TEST(rejects_bytes_of_no_tensor) {
  check_refused(0, X("[2, 2]", "0", "16"), 24, "x", "belong to no tensor");
}

TEST(rejects_overlapping_tensors) {
  check_refused(0,
                "{\"x\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [0, 24]},"
                "\"y\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [0, 24]}}",
                24, "x", "overlap");
  // The sizes add up to the size of the file, but eight of its bytes belong to no tensor.
  check_refused(1,
                "{\"x\": {\"dtype\": \"F32\", \"shape\": [2, 1], \"data_offsets\": [0, 8]},"
                "\"y\": {\"dtype\": \"F32\", \"shape\": [2, 1], \"data_offsets\": [0, 8]}}",
                16, "x", "overlap");
}

TEST(rejects_offsets_that_lie) {
  check_refused(0, X("[2, 3]", "0", "48"), 24, "x", "end at byte 48 of 24");
  check_refused(1, X("[2, 3]", "-24", "0"), 24, "x", "not two whole numbers, [begin, end]");
  check_refused(2, X("[2, 3]", "24", "0"), 24, "x", "not two whole numbers, [begin, end]");
  check_refused(3, X("[2, 3]", "0.0", "24"), 24, "x", "not two whole numbers, [begin, end]");
  check_refused(4, X("[2, 4]", "0", "24"), 24, "x",
                "2 x 4 elements of type F32 do not match 24 bytes");
  check_refused(5, X("[4611686018427387904, 4]", "0", "24"), 24, "x", "do not match");
}

TEST(rejects_shapes_that_are_none) {
  static const char *const shapes[] = {X("[2.0, 3.0]", "0", "24"), X("[-2, -3]", "0", "24"),
                                       X("\"2x3\"", "0", "24"), X("[2, null]", "0", "24"),
                                       X("{}", "0", "24")};
  for (int i = 0; i < 5; i++)
    check_refused(i, shapes[i], 24, "x", "its shape must hold whole numbers");
}

TEST(rejects_empty_tensors) {
  check_refused(0, X("[0, 3]", "0", "0"), 0, "x", "it is empty (0 x 3)");
  check_refused(1, X("[2, 0]", "0", "24"), 24, "x", "it is empty (2 x 0)");
}

TEST(rejects_wrong_shapes_and_types) {
  check_refused(0, X("[6]", "0", "24"), 24, "x", "; 2 are needed");
  check_refused(1, X("[1, 2, 3]", "0", "24"), 24, "x", "; 2 are needed");
  check_refused(2, X("[]", "0", "4"), 4, "x", "0 dimensions; 2 are needed");
  check_refused(3,
                "{\"x\": {\"dtype\": \"F8_E4M3\", \"shape\": [4, 6], \"data_offsets\": [0, 24]}}",
                24, "x", "F8_E4M3");
  check_refused(4, "{\"x\": {\"dtype\": 7, \"shape\": [2, 3], \"data_offsets\": [0, 24]}}", 24, "x",
                "missing");
  check_refused(5, "{\"x\": {\"dtype\": \"U8\", \"shape\": [4, 6], \"data_offsets\": [0, 24]}}", 24,
                "x", "U8");
}

TEST(rejects_headers_that_are_no_objects) {
  static const char *const texts[][2] = {
      {"", "not valid JSON: "},         {"[]", "a JSON array; it must be an object"},
      {"7", "not valid JSON: "},        {"{", "not valid JSON: "},
      {"{\"x\": 1}", "[begin, end]"},   {"{\"x\": {}, \"x\": {}}", "not valid JSON: duplicate"},
      {"nonsense", "not valid JSON: "}, {"{\"x\": {}}", "[begin, end]"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    check_refused((int64_t)i, texts[i][0], 24, "x", texts[i][1]);
  }
}

TEST(rejects_lengths_that_lie) {
  static const uint8_t lengths[][8] = {
      {255, 255, 255, 255, 255, 255, 255, 255}, {0, 0, 0, 16}, {200}};
  for (int i = 0; i < 3; i++) {
    uint8_t bytes[16] = {0};
    ufp4_tensor_t tensor;
    ufp4_message_t message = {0};
    char path[160];
    memcpy(bytes, lengths[i], 8);
    snprintf(path, sizeof path, "%s:x", files_write("t.safetensors", bytes, sizeof bytes));
    files_check_status(i, ufp4_file_read(path, 0, &tensor, &message), UFP4_ERROR_FORMAT, &message);
  }
  files_remove("t.safetensors");
}

TEST(rejects_files_under_8_bytes) {
  for (size_t size = 0; size < 8; size++) {
    static const uint8_t bytes[8] = {2, 0, 0, 0, 0, 0, 0, 0};
    ufp4_tensor_t tensor;
    ufp4_message_t message = {0};
    char path[160];
    snprintf(path, sizeof path, "%s:x", files_write("t.safetensors", bytes, size));
    files_check_status((int64_t)size, ufp4_file_read(path, 0, &tensor, &message), UFP4_ERROR_FORMAT,
                       &message);
    check_that((int64_t)size, strstr(message.text, "truncated") != NULL, "'%s'", message.text);
  }
  files_remove("t.safetensors");
}

TEST(rejects_unknown_names_among_many_and_none) {
  char json[2000] = "{\"__metadata__\": {}";
  check_refused(0, "{\"__metadata__\": {}}", 0, "x", "it has none");
  check_refused(1, "{\"__metadata__\": {}}", 0, "__metadata__", "it has none");
  for (int i = 0; i < 20; i++) {
    char entry[100];
    snprintf(entry, sizeof entry,
             ", \"layer.%d.weight.of.some.length\": {\"data_offsets\": [0, 0]}", i);
    strcat(json, entry);
  }
  strcat(json, "}");
  check_refused(2, json, 0, "x", "layer.0.weight.of.some.length, layer.1.");
  check_refused(3, json, 0, "layer.3.weight.of.some.length", "is missing");
}

TEST(rejects_a_missing_file) {
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  files_check_status(0, ufp4_file_read("files-none.safetensors:x", 0, &tensor, &message),
                     UFP4_ERROR_IO, &message);
}
