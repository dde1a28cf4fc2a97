// SPDX-License-Identifier: Apache-2.0
// Reads .npy files: a file that is read is the same after it has been written and read again, and a
// refused one comes with a reason.
#include <string.h>

#include "fuzz.h"
#include "ufp4/tensor.h"

static size_t element_bytes(ufp4_dtype_t dtype) {
  return dtype == UFP4_DTYPE_BF16 ? 2 : dtype == UFP4_DTYPE_I64 ? 8 : 4;
}

static void check_again(const ufp4_tensor_t *tensor) {
  ufp4_message_t message = {0};
  ufp4_tensor_t again;
  const ufp4_matrix_t *view = &tensor->view;
  const char *path = fuzz_path("again.npy");
  fuzz_demand(view->rows > 0 && view->cols > 0 && view->ld == view->cols,
              "a tensor has rows and columns");
  fuzz_demand(ufp4_tensor_write(path, view, &message) == UFP4_OK, "what was read can be written");
  fuzz_demand(ufp4_tensor_read(path, 1, &again, &message) == UFP4_OK,
              "what was written can be read");
  fuzz_demand(again.view.dtype == view->dtype && again.view.rows == view->rows &&
                  again.view.cols == view->cols,
              "type and shape stay");
  size_t bytes = (size_t)(view->rows * view->cols) * element_bytes(view->dtype);
  fuzz_demand(memcmp(again.data, tensor->data, bytes) == 0, "bits stay");
  ufp4_tensor_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  ufp4_message_t message = {0};
  ufp4_tensor_t tensor;
  if (size == 0) return 0;
  ufp4_status_t status =
      ufp4_tensor_read(fuzz_file("t.npy", data + 1, size - 1), data[0] & 1, &tensor, &message);
  fuzz_demand_message(status, &message);
  fuzz_demand(status == UFP4_OK || (status == UFP4_ERROR_FORMAT && tensor.data == NULL),
              "FORMAT, and no tensor");
  if (status != UFP4_OK) return 0;
  check_again(&tensor);
  ufp4_tensor_free(&tensor);
  return 0;
}
