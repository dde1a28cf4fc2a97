// SPDX-License-Identifier: Apache-2.0
// Tests .npy files: every element type, order and version, and the files that must be refused.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "files.h"
#include "ufp4/format.h"
#include "ufp4/tensor.h"

/** The bytes of a .npy file made by hand. */
typedef struct {
  uint8_t bytes[4096];
  size_t size;
} npy_t;

static npy_t make(int version, const char *dictionary, const void *data, size_t size) {
  npy_t npy = {0};
  size_t length = strlen(dictionary), start = version == 1 ? 10 : 12;
  memcpy(npy.bytes, "\x93NUMPY", 6);
  npy.bytes[6] = (uint8_t)version;
  npy.bytes[8] = (uint8_t)(length & 255);
  npy.bytes[9] = (uint8_t)(length >> 8);
  memcpy(npy.bytes + start, dictionary, length);
  memcpy(npy.bytes + start + length, data, size);
  npy.size = start + length + size;
  return npy;
}

static npy_t make_typed(const char *descr, const char *order, const char *shape, const void *data,
                        size_t size) {
  char dictionary[256];
  snprintf(dictionary, sizeof dictionary, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n",
           descr, order, shape);
  return make(1, dictionary, data, size);
}

static ufp4_status_t read_back(const npy_t *npy, int uint16_is_bf16, ufp4_tensor_t *out,
                               ufp4_message_t *message) {
  const char *path = files_write("t.npy", npy->bytes, npy->size);
  ufp4_status_t status = ufp4_tensor_read(path, uint16_is_bf16, out, message);
  files_remove("t.npy");
  return status;
}

static void check_values(int64_t index, const npy_t *npy, const float *want, int64_t rows,
                         int64_t cols) {
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  files_check_status(index, read_back(npy, 0, &tensor, &message), UFP4_OK, &message);
  if (tensor.data == NULL) return;
  check_bits(index, (uint64_t)tensor.view.rows, (uint64_t)rows, "rows");
  check_bits(index, (uint64_t)tensor.view.cols, (uint64_t)cols, "cols");
  check_bits(index, tensor.view.dtype, UFP4_DTYPE_F32, "dtype");
  for (int64_t i = 0; i < rows * cols; i++) {
    check_bits(i, ufp4_f32_bits(((const float *)tensor.data)[i]), ufp4_f32_bits(want[i]),
               "element of file %d", (int)index);
  }
  ufp4_tensor_free(&tensor);
}

static const float six[] = {1.0f, -2.5f, 0.0f, 1e-40f, 3e38f, -0.0f};

TEST(float32_in_c_and_fortran_order) {
  static const float columns[] = {1.0f, 1e-40f, -2.5f, 3e38f, 0.0f, -0.0f};
  npy_t c = make_typed("<f4", "False", "(2, 3)", six, sizeof six);
  npy_t fortran = make_typed("<f4", "True", "(2, 3)", columns, sizeof columns);
  check_values(0, &c, six, 2, 3);
  check_values(1, &fortran, six, 2, 3);
}

TEST(headers_of_all_versions_and_spellings) {
  static const char *const texts[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }            \n",
      "{'shape':(2,3),'fortran_order':False,'descr':'<f4'}",
      "{\"descr\": \"<f4\",\n \"fortran_order\": False, \"shape\": (2, 3,)}\n",
  };
  for (int version = 1; version <= 3; version++) {
    for (int i = 0; i < 3; i++) {
      npy_t npy = make(version, texts[i], six, sizeof six);
      check_values(3 * version + i, &npy, six, 2, 3);
    }
  }
}

TEST(float64_rounds_to_nearest_even) {
  const double in[] = {1.0 + 0x1p-24, 1.0 + 0x3p-24, 1e300, -1e-300, 0x1p-149 * 1.5, NAN};
  npy_t npy = make_typed("<f8", "False", "(1, 6)", in, sizeof in);
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  files_check_status(0, read_back(&npy, 0, &tensor, &message), UFP4_OK, &message);
  const uint32_t want[] = {0x3F800000, 0x3F800002, 0x7F800000, 0x80000000, 0x00000002, 0x7FC00000};
  for (int i = 0; i < 6; i++)
    check_bits(i, ufp4_f32_bits(((float *)tensor.data)[i]), want[i], "%a", in[i]);
  ufp4_tensor_free(&tensor);
}

static double f16_by_formula(unsigned bits) {
  int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
  double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

TEST(float16_every_pattern) {
  uint16_t *all = malloc(65536 * sizeof *all);
  char header[128] = "\x93NUMPY\x01";
  const char *dictionary = "{'descr': '<f2', 'fortran_order': False, 'shape': (256, 256), }\n";
  for (unsigned i = 0; i < 65536; i++) all[i] = (uint16_t)i;
  header[8] = (char)strlen(dictionary);
  memcpy(header + 10, dictionary, strlen(dictionary));
  size_t start = 10 + strlen(dictionary), size = start + 131072;
  uint8_t *bytes = malloc(size);
  memcpy(bytes, header, start);
  memcpy(bytes + start, all, 131072);
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  files_check_status(0, ufp4_tensor_read(files_write("t.npy", bytes, size), 0, &tensor, &message),
                     UFP4_OK, &message);
  for (unsigned i = 0; i < 65536; i++) {
    float got = ((float *)tensor.data)[i];
    int special = (i & 0x7C00) == 0x7C00, nan = special && (i & 1023) != 0;
    if (nan) {
      check_that(i, isnan(got), "a NaN pattern");
    } else {
      float want = special ? (i & 0x8000 ? -INFINITY : INFINITY) : (float)f16_by_formula(i);
      check_bits(i, ufp4_f32_bits(got), ufp4_f32_bits(want), "pattern 0x%x", i);
    }
  }
  ufp4_tensor_free(&tensor);
  files_remove("t.npy");
  free(bytes);
  free(all);
}

TEST(bf16_as_ml_dtypes_and_as_uint16) {
  const uint16_t bits[] = {0x3F80, 0xC020, 0x0000, 0x7FC0};
  static const char *const descrs[] = {"<V2", "|V2", "<u2"};
  for (int i = 0; i < 3; i++) {
    npy_t npy = make_typed(descrs[i], "False", "(2, 2)", bits, sizeof bits);
    ufp4_tensor_t tensor;
    ufp4_message_t message = {0};
    files_check_status(i, read_back(&npy, i == 2, &tensor, &message), UFP4_OK, &message);
    check_bits(i, tensor.view.dtype, UFP4_DTYPE_BF16, "dtype of %s", descrs[i]);
    check_that(i, memcmp(tensor.data, bits, sizeof bits) == 0, "patterns of %s", descrs[i]);
    ufp4_tensor_free(&tensor);
  }
}

TEST(written_files_read_back) {
  const int64_t sums[] = {1, INT64_MIN, -7, 0, INT64_MAX, 9};
  const uint16_t bf16[] = {1, 2, 3, 4, 5, 0xFFC0};
  const ufp4_matrix_t matrices[] = {{UFP4_DTYPE_F32, 2, 3, 3, six},
                                    {UFP4_DTYPE_BF16, 2, 3, 3, bf16},
                                    {UFP4_DTYPE_I64, 3, 2, 2, sums}};
  const size_t bytes[] = {24, 12, 48};
  for (int i = 0; i < 3; i++) {
    ufp4_tensor_t tensor = {0};
    ufp4_message_t message = {0};
    const char *path = files_path("t.npy");
    files_check_status(i, ufp4_tensor_write(path, &matrices[i], &message), UFP4_OK, &message);
    files_check_status(i, ufp4_tensor_read(path, 1, &tensor, &message), UFP4_OK, &message);
    check_bits(i, tensor.view.dtype, matrices[i].dtype, "dtype");
    check_bits(i, (uint64_t)tensor.view.rows, (uint64_t)matrices[i].rows, "rows");
    check_that(i, memcmp(tensor.data, matrices[i].data, bytes[i]) == 0, "data");
    ufp4_tensor_free(&tensor);
  }
  files_remove("t.npy");
}

TEST(writes_rows_of_a_wider_matrix) {
  const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, 2, 2, 3, six};
  ufp4_tensor_t tensor = {0};
  ufp4_message_t message = {0};
  ufp4_tensor_write(files_path("t.npy"), &matrix, &message);
  files_check_status(0, ufp4_tensor_read(files_path("t.npy"), 0, &tensor, &message), UFP4_OK,
                     &message);
  check_bits(0, ufp4_f32_bits(((float *)tensor.data)[2]), ufp4_f32_bits(1e-40f), "element (1, 0)");
  ufp4_tensor_free(&tensor);
  files_remove("t.npy");
}

TEST(codes_are_written_as_uint8) {
  const uint8_t codes[] = {0, 7, 8, 15, 1, 2};
  uint8_t bytes[200];
  ufp4_message_t message = {0};
  const char *path = files_path("t.npy");
  files_check_status(0, ufp4_tensor_write_u8(path, codes, 3, 2, &message), UFP4_OK, &message);
  FILE *file = fopen(path, "rb");
  check_bits(0, fread(bytes, 1, sizeof bytes, file), 128 + 6, "bytes of the file");
  fclose(file);
  check_that(
      0,
      memcmp(bytes,
             "\x93NUMPY\x01\x00\x76\x00{'descr': '|u1', 'fortran_order': False, 'shape': (3, 2), }",
             69) == 0,
      "header");
  check_that(0, memcmp(bytes + 128, codes, 6) == 0, "codes");
  files_remove("t.npy");
}

// --- What must be refused -----------------------------------------------------------------------

static void check_refused(int64_t index, const npy_t *npy, const char *words) {
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  files_check_status(index, read_back(npy, 0, &tensor, &message), UFP4_ERROR_FORMAT, &message);
  check_that(index, strstr(message.text, words) != NULL, "message '%s' does not say '%s'",
             message.text, words);
  check_that(index, tensor.data == NULL, "a tensor was made");
}

TEST(rejects_every_truncation) {
  npy_t whole = make_typed("<f4", "False", "(2, 3)", six, sizeof six);
  for (size_t size = 0; size < whole.size; size++) {
    npy_t cut = whole;
    cut.size = size;
    check_refused((int64_t)size, &cut, size < 12 ? "not a .npy file" : "truncated");
  }
}

TEST(rejects_types_shapes_and_sizes) {
  static const struct {
    const char *descr, *shape;
    size_t size;
    const char *words;
  } files[] = {
      {"<f4", "(2, 3)", 25, "extra bytes after the data"},
      {"<i4", "(2, 3)", 24, "<i4"},
      {"|u1", "(2, 3)", 24, "type is '|u1'; float32, float16, float64 or bfloat16 is needed"},
      {"<c8", "(2, 3)", 24, "<c8"},
      {"|b1", "(2, 3)", 24, "|b1"},
      {"=f4", "(2, 3)", 24, "=f4"},
      {"", "(2, 3)", 24, "type is ''; float32"},
      {"<f4,<f4", "(2, 3)", 24, "<f4,<f4"},
      {">f4", "(2, 3)", 24, "big-endian"},
      {"<u2", "(2, 3)", 12, "--bf16"},
      {"<f4", "()", 24, "has 0 dimensions; 2 are needed"},
      {"<f4", "(6,)", 24, "has 1 dimension; 2 are needed"},
      {"<f4", "(1, 2, 3)", 24, "has 3 dimensions; 2 are needed"},
      {"<f4", "(1, 1, 1, 1, 6)", 24, "has 5 dimensions; 2 are needed"},
      {"<f4", "(0, 3)", 0, "empty"},
      {"<f4", "(3, 0)", 0, "empty"},
      {"<f4", "(0, 0)", 0, "empty"},
      {"<f4", "(4611686018427387904, 4)", 24, "too large"},
      {"<f4", "(4294967296, 4294967296)", 24, "too large"},
      {"<f4", "(4611686018427387904, 1)", 24, "too large"},
      {"<f4", "(3037000500, 3037000500)", 24, "too large"},
      {"<f4", "(1, 70368744177664)", 24, "too large"},
  };
  static const uint8_t data[25];
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    npy_t npy = make_typed(files[i].descr, "False", files[i].shape, data, files[i].size);
    check_refused((int64_t)i, &npy, files[i].words);
  }
}

TEST(rejects_damaged_headers) {
  static const char *const texts[][2] = {
      {"", "not a Python dictionary"},
      {"{", "not 'key': value"},
      {"{}", "'descr' is missing"},
      {"descr", "not a Python dictionary"},
      {"{'descr': '<f4', 'fortran_order': False}", "'shape' is missing"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)", "'shape' is not followed by"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x",
       "more text after the dictionary"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}", "'shape' is not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3)}", "'shape' is not a tuple"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999, 3)}",
       "'shape' is not a tuple"},
      {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}",
       "'fortran_order' is not True or False"},
      {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
       "'descr' is unknown or given twice"},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 3)}",
       "'descr' is not a short string"},
      {"{'descr': '<f4\\x', 'fortran_order': False, 'shape': (2, 3)}",
       "'descr' is not a short string"},
      {"{'descr': 'a very long name of a type', 'fortran_order': False, 'shape': (2, 3)}",
       "'descr' is not a short string"},
      {"{'descr': '<f4', 'fortran_order': False, 'fortran_order': False, 'shape': (2, 3)}",
       "'fortran_order' is unknown or given twice"},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'shape': (2, 3)}",
       "'shape' is unknown or given twice"},
      {"{'descr': '<f4', 'shape': (2, 3)}", "'fortran_order' is missing"},
      {"{'fortran_order': False, 'shape': (2, 3)}", "'descr' is missing"},
      {"{'colour': 'red', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
       "'colour' is unknown"},
  };
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    npy_t npy = make(1, texts[i][0], six, sizeof six);
    check_refused((int64_t)i, &npy, texts[i][1]);
  }
}

TEST(rejects_unknown_versions) {
  for (int version = 0; version < 256; version += version == 0 ? 4 : 1) {
    npy_t npy =
        make(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}", six, sizeof six);
    check_refused(version, &npy, "version");
  }
}

TEST(rejects_random_damage_without_harm) {
  check_random_t random = check_random();
  npy_t whole = make_typed("<f4", "False", "(2, 3)", six, sizeof six);
  for (int i = 0; i < 5000; i++) {
    npy_t damaged = whole;
    for (uint32_t j = 1 + check_below(&random, 3); j > 0; j--) {
      damaged.bytes[check_below(&random, (uint32_t)whole.size - 24)] = (uint8_t)check_next(&random);
    }
    ufp4_tensor_t tensor;
    ufp4_message_t message = {0};
    ufp4_status_t status = read_back(&damaged, 0, &tensor, &message);
    check_that(i, status == UFP4_OK || (status == UFP4_ERROR_FORMAT && tensor.data == NULL),
               "status %d", (int)status);
    ufp4_tensor_free(&tensor);
  }
}

TEST(rejects_a_missing_file) {
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  files_check_status(0, ufp4_tensor_read("files-none.npy", 0, &tensor, &message), UFP4_ERROR_IO,
                     &message);
}

TEST(rejects_a_folder_to_read) {
  ufp4_tensor_t tensor;
  ufp4_message_t message = {0};
  mkdir("files-folder", 0777);
  files_check_status(0, ufp4_tensor_read("files-folder", 0, &tensor, &message), UFP4_ERROR_IO,
                     &message);
}

TEST(rejects_targets_that_are_no_files) {
  static const char *const paths[] = {"files-folder", "files-no-such-folder/t.npy", "/dev/null"};
  const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, 2, 3, 3, six};
  mkdir("files-folder", 0777);
  for (int i = 0; i < 3; i++) {
    ufp4_message_t message = {0};
    check_bits(i, ufp4_tensor_write(paths[i], &matrix, &message), UFP4_ERROR_IO, "%s", paths[i]);
    check_that(i, strstr(message.text, paths[i]) != NULL, "message '%s'", message.text);
  }
}
