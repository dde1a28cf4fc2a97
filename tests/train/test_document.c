// SPDX-License-Identifier: Apache-2.0
// Tests that train.json and explore.json are either whole or absent.
#include <stdlib.h>
#include <unistd.h>

#include "fixture.h"
#include "frame/json.h"

static void *no_memory(size_t size) {
  (void)size;
  return NULL;
}

static void write_without_memory(const char *path, json_t *document) {
  ufp4_message_t message = {0};
  json_set_alloc_funcs(no_memory, free);
  const ufp4_status_t status = json_write(path, document, &message);
  json_set_alloc_funcs(malloc, free);
  check_bits(0, status, UFP4_ERROR_MEMORY, "status");
}

TEST(one_that_no_memory_was_for_is_no_file) {
  char path[] = "/tmp/ufp4-document-XXXXXX";
  ufp4_message_t message = {0};
  close(mkstemp(path));
  check_bits(0, unlink(path) == 0, 1, "the name is free");
  write_without_memory(path, NULL);
  check_bits(0, access(path, F_OK) != 0, 1, "no file of none");
  write_without_memory(path, json_pack("{s:[i, i]}", "cases", 1, 2));
  check_bits(0, access(path, F_OK) != 0, 1, "no file of one that was cut off");
  check_bits(0, json_write(path, json_pack("{s:[i]}", "cases", 1), &message), UFP4_OK, "whole");
  write_without_memory(path, json_object());
  json_t *kept = json_load_file(path, 0, NULL);
  check_bits(0, json_array_size(json_object_get(kept, "cases")) == 1, 1, "the earlier one stays");
  json_decref(kept);
  unlink(path);
}
