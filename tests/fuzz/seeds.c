// SPDX-License-Identifier: Apache-2.0
// seeds FOLDER: writes the inputs from which fuzzing starts, FOLDER/<target>/<number>: valid files,
// one of each kind, and some bytes for the targets that read bytes as choices.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "fuzz.h"
#include "legal.h"
#include "ufp4_file.h"

typedef struct {
  char folder[400];
  int count;
} corpus_t;

static corpus_t corpus_open(const char *root, const char *target) {
  corpus_t corpus = {.count = 0};
  snprintf(corpus.folder, sizeof corpus.folder, "%s/%s", root, target);
  fuzz_demand(mkdir(corpus.folder, 0777) == 0, "a new folder");
  return corpus;
}

// Adds a seed that consists of a head and data.
static void add(corpus_t *corpus, const void *head, size_t head_size, const void *data,
                size_t size) {
  char path[440];
  snprintf(path, sizeof path, "%s/%d", corpus->folder, corpus->count++);
  FILE *file = fopen(path, "wb");
  fuzz_demand(file != NULL && fwrite(head, 1, head_size, file) == head_size &&
                  fwrite(data, 1, size, file) == size && fclose(file) == 0,
              "a seed is written");
}

static size_t read_file(const char *path, uint8_t *out, size_t size) {
  FILE *file = fopen(path, "rb");
  fuzz_demand(file != NULL, "a file is there");
  size_t got = fread(out, 1, size, file);
  fclose(file);
  return got;
}

static const float numbers[2 * 20] = {0.5f, -1.25f, 3,  0.75f, -0.125f, 2.5f,  -6, 1,
                                      0,    4.5f,   -2, 0.25f, 1.5f,    -3.5f, 5};

static void seed_npy(const char *root) {
  corpus_t corpus = corpus_open(root, "npy");
  static const int64_t sums[4] = {1, INT64_MIN, -3, 0};
  const ufp4_matrix_t in[] = {{UFP4_DTYPE_F32, 2, 3, 3, numbers},
                              {UFP4_DTYPE_BF16, 2, 5, 5, numbers},
                              {UFP4_DTYPE_I64, 1, 4, 4, sums}};
  static const char *const headers[] = {
      "{'descr': '<f8', 'fortran_order': True, 'shape': (2, 1), }\n",
      "{'descr': '<f2', 'fortran_order': False, 'shape': (4,2)}\n",
      "{\"shape\": (8, 1), 'descr': 'bfloat16', 'fortran_order': True}\n"};
  uint8_t bytes[4096];
  for (int i = 0; i < 3; i++) {
    ufp4_message_t message;
    const char *path = fuzz_path("seed.npy");
    fuzz_demand(ufp4_tensor_write(path, &in[i], &message) == UFP4_OK, "a tensor is written");
    add(&corpus, "\1", 1, bytes, read_file(path, bytes, sizeof bytes));
  }
  for (int i = 0; i < 3; i++) {
    size_t length = strlen(headers[i]);
    memcpy(bytes, "\x93NUMPY\2\0", 8);
    memcpy(bytes + 8, (uint8_t[4]){(uint8_t)length}, 4);
    memcpy(bytes + 12, headers[i], length);
    memcpy(bytes + 12 + length, numbers, 16);
    add(&corpus, "\0", 1, bytes, 12 + length + 16);
  }
}

static void seed_safetensors(const char *root) {
  corpus_t corpus = corpus_open(root, "safetensors");
  static const char *const entries[] = {"\"F32\",\"shape\":[2,1]", "\"F64\",\"shape\":[1,1]",
                                        "\"F16\",\"shape\":[2,2]", "\"BF16\",\"shape\":[1,4]",
                                        "\"I64\",\"shape\":[1,1]"};
  for (int i = 0; i < 5; i++) {
    char text[300];
    int length = snprintf(
        text, sizeof text,
        "\1x%c{\"__metadata__\":{\"a\":\"b\"},\"x\":{\"dtype\":%s,\"data_offsets\":[0,8]}}", 0,
        entries[i]);
    memcpy(text + length, numbers, 8);
    add(&corpus, "", 0, text, (size_t)length + 8);
  }
}

// Adds layers of checkpoints: names and shapes of every maker's tensors, with all bytes 1.
static void seed_layers(corpus_t *corpus) {
  static const char *const headers[][2] = {
      {"\6",
       "{\"a.weight_packed\":{\"dtype\":\"U8\",\"shape\":[2,8],\"data_offsets\":[0,16]},"
       "\"a.weight_scale\":{\"dtype\":\"F8_E4M3\",\"shape\":[2,1],\"data_offsets\":[16,18]},"
       "\"a.weight_global_scale\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[18,22]}}"},
      {"\6",
       "{\"a.weight\":{\"dtype\":\"F4\",\"shape\":[1,32],\"data_offsets\":[0,16]},"
       "\"a.weight_scale\":{\"dtype\":\"U8\",\"shape\":[1,1],\"data_offsets\":[16,17]},"
       "\"a.input_scale\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[17,21]}}"},
      {"\6",
       "{\"a._weight_qdata\":{\"dtype\":\"U8\",\"shape\":[1,8],\"data_offsets\":[0,8]},"
       "\"a._weight_scale\":{\"dtype\":\"F8_E4M3\",\"shape\":[32,16],\"data_offsets\":[8,520]}}"},
      {"\16",
       "{\"a_blocks\":{\"dtype\":\"U8\",\"shape\":[2,1,1,16],\"data_offsets\":[0,32]},"
       "\"a_scales\":{\"dtype\":\"U8\",\"shape\":[2,1,1],\"data_offsets\":[32,34]}}"},
  };
  static const size_t sizes[] = {22, 21, 520, 34};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    uint8_t bytes[1200];
    const size_t length = strlen(headers[i][1]);
    memcpy(bytes, headers[i][1], length);
    memset(bytes + length, 1, sizes[i]);
    add(corpus, headers[i][0], 1, bytes, length + sizes[i]);
  }
}

static void seed_operand(const char *root) {
  corpus_t corpus = corpus_open(root, "operand");
  uint8_t bytes[4096];
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n += 5) {
    const ufp4_quantize_t how = legal_quantize_combination(n);
    const ufp4_matrix_t in = {UFP4_DTYPE_F32, 2, 20, 20, numbers};
    const char *path = fuzz_path("seed.safetensors");
    ufp4_operand_t operand;
    ufp4_message_t message;
    if (!legal_quantize(&how)) continue;
    fuzz_demand(ufp4_quantize(&in, &how, &operand) == UFP4_OK, "it is quantized");
    fuzz_demand(ufp4_operand_write(path, &operand, &how, n & 1, &message) == UFP4_OK,
                "it is written");
    size_t size = read_file(path, bytes, sizeof bytes);
    add(&corpus, "\2", 1, bytes + 8, size - 8);  // the fuzz target puts the length back
    add(&corpus, "\1", 1, bytes, size);
    ufp4_operand_free(&operand);
  }
  seed_layers(&corpus);
}

static void seed_recipe(const char *root) {
  corpus_t corpus = corpus_open(root, "recipe");
  static const char *const texts[] = {
      "{\"elem\": \"e1m2\", \"rht\": \"on\", \"round\": {\"dy\": \"sr\"}, \"scale_round\": "
      "{\"dy\": \"up\"}}",
      "{\"name\": \"a\", \"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"rht\": {\"wgrad\": \"bf16\"}}",
      "{\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"layout\": {\"w\": \"2d\"}}",
      "{\"elem\": \"e2m1\", \"scale\": \"e8m0\", \"scale_round\": \"down\", \"accumulate\": "
      "\"fp32\"}",
      "{\"elem\": \"e2m1\", \"scale\": \"nvfp4\", \"scale_round\": {\"w\": {\"dgrad\": \"46\"}},"
      " \"bf16_passes\": [\"wgrad\"], \"bf16_layers\": {\"first\": 1, \"last\": \"15%\", \"names\":"
      " [\"qkv\"]}, \"signs\": \"step\", \"requantize\": true}",
      "{\"elem\": \"int4\", \"scale\": \"fp32\", \"rht_mask\": \"0x1234\", \"accumulate\": "
      "\"fp32\"}"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    add(&corpus, "", 0, texts[i], strlen(texts[i]));
}

static void seed_options(const char *root) {
  corpus_t corpus = corpus_open(root, "options");
  static const char first[] =
      "in.npy\0-o\0out.npy\0--round\0sr\0--seed\0"
      "0x10\0--rne\0--exponent\0-3\0--alpha\0"
      "1e-3";
  static const char second[] = "--help", third[] = "a\0b\0--round=up\0-oout\0--\0--seed\0c";
  add(&corpus, "", 0, first, sizeof first);
  add(&corpus, "", 0, second, sizeof second);
  add(&corpus, "", 0, third, sizeof third);
}

static void seed_configuration(const char *root) {
  corpus_t corpus = corpus_open(root, "configuration");
  static const char *const texts[] = {
      "rows=8:cols=16:tile=128x256:chunk=16:bus=128:quant=64:contract=exact",
      "tile_rows=16:tile_cols=16:lanes=4:formats=e1m2:target=fpga",
      "8x16-64x128-c16-b64-q16-fp32-uniform-l4-simulator", "small"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    add(&corpus, "", 0, texts[i], strlen(texts[i]));
}

static void seed_toml(const char *root) {
  corpus_t corpus = corpus_open(root, "toml");
  static const char *const texts[] = {
      "[[configuration]]\nname = \"mine\"  # not of it\nrows = 8\ncols = 16\ntile_rows = 16\n"
      "tile_cols = 16\nbus_bytes = 128\nquant = 64\ncontract = \"exact\"\n",
      "chunk = 16\r\nlanes=4\r\nformats = \"e1m2\"\r\nsimulated = \"fpga\"\r\non_demand = true"};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
    add(&corpus, "", 0, texts[i], strlen(texts[i]));
}

static void seed_text(const char *root) {
  corpus_t corpus = corpus_open(root, "text");
  uint8_t text[3000], bytes[4096];
  for (size_t i = 0; i < sizeof text; i++)
    text[i] = (uint8_t)(i % 7 == 0 ? (i % 2 ? ' ' : '\n') : 'a' + i % 25);
  add(&corpus, "\7\1", 2, text, sizeof text);
  const char *path = fuzz_path("seed.gz");
  gzFile file = gzopen(path, "wb");
  fuzz_demand(
      file != NULL && gzwrite(file, text, sizeof text) == (int)sizeof text && gzclose(file) == Z_OK,
      "gzip");
  add(&corpus, "\7\1", 2, bytes, read_file(path, bytes, sizeof bytes));
}

static void seed_bytes(const char *root, const char *target, int count, size_t size) {
  corpus_t corpus = corpus_open(root, target);
  uint8_t bytes[4096];
  uint32_t state = 1;
  for (int n = 0; n < count; n++) {
    for (size_t i = 0; i < size; i++) {
      state = state * 1664525 + 1013904223;
      bytes[i] = (uint8_t)(state >> 24);
    }
    // The first byte, which most targets read as a choice, counts up.
    add(&corpus, (uint8_t[1]){(uint8_t)n}, 1, bytes, size);
  }
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  seed_npy(argv[1]);
  seed_safetensors(argv[1]);
  seed_operand(argv[1]);
  seed_recipe(argv[1]);
  seed_options(argv[1]);
  seed_configuration(argv[1]);
  seed_toml(argv[1]);
  seed_text(argv[1]);
  seed_bytes(argv[1], "cast", 8, 200);
  seed_bytes(argv[1], "quantize", 256, 600);
  seed_bytes(argv[1], "gemm", 108, 900);
  seed_bytes(argv[1], "calls", 60, 400);
  seed_bytes(argv[1], "descriptor", 60, 100);
  return 0;
}
