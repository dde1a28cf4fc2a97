// SPDX-License-Identifier: Apache-2.0
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// --- Inputs -------------------------------------------------------------------------------------

void fuzz_bytes(fuzz_input_t *input, void *out, size_t count) {
  size_t have = count < input->left ? count : input->left;
  memset(out, 0, count);
  if (have != 0) memcpy(out, input->at, have);
  input->at += have;
  input->left -= have;
}

uint8_t fuzz_u8(fuzz_input_t *input) {
  uint8_t out;
  fuzz_bytes(input, &out, sizeof out);
  return out;
}

uint32_t fuzz_u32(fuzz_input_t *input) {
  uint32_t out;
  fuzz_bytes(input, &out, sizeof out);
  return out;
}

uint64_t fuzz_u64(fuzz_input_t *input) {
  uint64_t out;
  fuzz_bytes(input, &out, sizeof out);
  return out;
}

uint32_t fuzz_below(fuzz_input_t *input, uint32_t bound) {
  return (bound <= 256 ? fuzz_u8(input) : fuzz_u32(input)) % bound;
}

// --- Demands ------------------------------------------------------------------------------------

void fuzz_demand(int ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "not so: %s\n", what);
  abort();
}

void fuzz_demand_message(ufp4_status_t status, const ufp4_message_t *message) {
  if (status == UFP4_OK) return;
  fuzz_demand(message->text[0] != '\0', "a failure comes with a message");
  fuzz_demand(strchr(message->text, '\n') == NULL, "a message is one line");
}

// --- Files --------------------------------------------------------------------------------------

static char folder[200];

static void remove_folder(void) {
  char command[256];
  snprintf(command, sizeof command, "rm -rf '%s'", folder);
  if (system(command) != 0) fprintf(stderr, "%s is left behind\n", folder);
}

const char *fuzz_path(const char *name) {
  static char path[300];
  if (folder[0] == '\0') {
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/ufp4-fuzz-XXXXXX", base != NULL ? base : "/tmp");
    fuzz_demand(mkdtemp(folder) != NULL, "a folder for files can be made");
    atexit(remove_folder);
  }
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

const char *fuzz_file(const char *name, const uint8_t *data, size_t size) {
  const char *path = fuzz_path(name);
  FILE *file = fopen(path, "wb");
  fuzz_demand(file != NULL, "a file can be made");
  fuzz_demand(size == 0 || fwrite(data, 1, size, file) == size, "a file can be written");
  fuzz_demand(fclose(file) == 0, "a file can be closed");
  return path;
}

const char *fuzz_safetensors(const char *name, const uint8_t *data, size_t size) {
  static uint8_t bytes[1 << 16];
  if (size == 0 || data[0] % 2 != 0) return fuzz_file(name, data + (size != 0), size - (size != 0));
  size_t length = --size;
  data++;
  while (length > 0 && data[length - 1] != '}') length--;
  if (size > sizeof bytes - 8) size = sizeof bytes - 8;
  for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)length >> (8 * i));
  memcpy(bytes + 8, data, size);
  return fuzz_file(name, bytes, size + 8);
}
