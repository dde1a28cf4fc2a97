// SPDX-License-Identifier: Apache-2.0
#include "capture.h"

#include <stdio.h>

#include "weights.h"

static ufp4_status_t save(ufp4_capture_t *capture, const ufp4_layer_event_t *event, const char *what,
                          const ufp4_matrix_t *tensor) {
  char path[1024];
  unsigned block = event->layer / UFP4_MATRIX_COUNT;
  int length =
      snprintf(path, sizeof path, "%s/layer%u.%s.%s.npy", capture->folder, block, ufp4_matrix_name(event->layer), what);
  if (length < 0 || (size_t)length >= sizeof path) {
    snprintf(capture->message.text, sizeof capture->message.text,
             "the name of the folder for captured tensors is too long");
    return UFP4_ERROR_ARGUMENT;
  }
  return ufp4_tensor_write(path, tensor, &capture->message);
}

// DGRAD knows W and dY, WGRAD X: each tensor is written once.
static ufp4_status_t on_gemm(void *context, const ufp4_layer_event_t *event) {
  ufp4_capture_t *capture = context;
  if (event->pass == UFP4_PASS_WGRAD) return save(capture, event, "X", &event->x);
  if (event->pass != UFP4_PASS_DGRAD) return UFP4_OK;
  ufp4_status_t status = save(capture, event, "W", &event->w);
  return status ? status : save(capture, event, "dY", &event->dy);
}

ufp4_layer_hook_t ufp4_capture_hook(ufp4_capture_t *capture) {
  return (ufp4_layer_hook_t){on_gemm, capture};
}
