// SPDX-License-Identifier: Apache-2.0
// A linear layer on a device, as the files that make, load and run it see it.
#ifndef UFP4_LINEAR_H
#define UFP4_LINEAR_H

#include "device/device.h"

/** A quantized copy on the device. */
typedef struct {
  int wanted, loaded;
  uint64_t step;  // of the tensor it was made from
  int64_t rows, cols, stride_blocks;
  uint64_t codes, scales;
  int exponent;
  unsigned flags;         // as ufp4_operand_t has them
  ufp4_operand_t golden;  // instead of all of the above, where the layer is golden
  ufp4_kept_t *kept;      // instead of that, where the backend keeps operands
} copy_t;

struct ufp4_linear {
  ufp4_device_t *device;
  ufp4_linear_shape_t shape;
  ufp4_recipe_t recipe;
  unsigned host_passes;               // not quantized, a bit each
  int golden;                         // the others go by whole operands, not by descriptors
  copy_t copies[UFP4_ROLE_COUNT][2];  // by role and axis
  uint64_t source;                    // where a tensor is uploaded to be quantized
  uint64_t output;
  float *host[UFP4_ROLE_COUNT];  // operands of passes that are not quantized, rounded
  int host_loaded[UFP4_ROLE_COUNT];
  uint64_t quantize_cycles;  // since the last run
};

// --- linear_shape.c -----------------------------------------------------------------------------

void linear_role_shape(const ufp4_linear_shape_t *shape, ufp4_role_t role, int64_t *rows,
                       int64_t *cols);
void linear_pass_shape(const ufp4_linear_shape_t *shape, ufp4_pass_t pass, int64_t *m, int64_t *n,
                       int64_t *k);
/** Bytes from one row to the next of a plain tensor in device memory. */
uint64_t linear_stride_bytes(int64_t cols, uint64_t element_bytes);

/** E8M0 has no tensor exponent: no AMAX, no slot. */
int linear_has_exponents(const ufp4_linear_t *linear);
/** Whether backward passes take the values that FPROP's copy of @p role holds. */
int linear_requantizes(const ufp4_linear_t *linear, ufp4_role_t role);
/** Whether any of @p passes reads @p role. */
int linear_role_is_in(ufp4_role_t role, unsigned passes);

// --- linear_load.c ------------------------------------------------------------------------------

/** Each number as ufp4_bf16_cast and ufp4_bf16_value make it. */
void linear_round_bf16(const float *from, int64_t count, float *target);

#endif
