// SPDX-License-Identifier: Apache-2.0
// In place of tensor_safetensors.c and tensor_operand.c where the golden model is built without jansson.
#include "tensor_file.h"

static ufp4_status_t fail(const char *path, ufp4_message_t *message) {
  ufp4_message_set(message, "%s: this build has no .safetensors; it was made without libjansson-dev", path);
  return UFP4_ERROR_UNSUPPORTED;
}

ufp4_status_t safetensors_open(const char *path, safetensors_t *out, ufp4_message_t *message) {
  *out = (safetensors_t){.path = path};
  return fail(path, message);
}

void safetensors_close(safetensors_t *file) {
  (void)file;
}

ufp4_status_t safetensors_find(safetensors_t *file, const char *name, file_tensor_t *out,
                               ufp4_message_t *message) {
  (void)name;
  (void)out;
  return fail(file->path, message);
}

ufp4_status_t ufp4_operand_read(const char *path, ufp4_operand_t *out, ufp4_quantize_t *how, ufp4_message_t *message) {
  *out = (ufp4_operand_t){0};
  *how = (ufp4_quantize_t){0};
  return fail(path, message);
}

ufp4_status_t ufp4_operand_write(const char *path, const ufp4_operand_t *operand, const ufp4_quantize_t *how,
                                 int packed, ufp4_message_t *message) {
  (void)operand;
  (void)how;
  (void)packed;
  return fail(path, message);
}
