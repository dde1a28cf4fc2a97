// SPDX-License-Identifier: Apache-2.0
// Training steps of linear layers as one list of jobs, AMAX and QUANT beside the GEMMs
// (docs/ip/programmers-guide.md, "Side by side").
#ifndef UFP4_SCHEDULE_H
#define UFP4_SCHEDULE_H

#include "ufp4.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The most micro-batches into which a step may be split. */
#define UFP4_SCHEDULE_BATCHES 2
/** So many layers at most keep their exponents of X and W in slots from the forward pass to the
 * backward pass. In a longer list some layers share slots: AMAX is run once more for them, of the
 * column copy alone, before the backward pass reads it. */
#define UFP4_SCHEDULE_KEPT 16
#define UFP4_SCHEDULE_MAX_LAYERS 4096

/** X [tokens][cin], W [cout][cin], dY [tokens][cout]; tokens are those of a whole step. */
typedef struct {
  int64_t tokens, cin, cout;
} ufp4_schedule_layer_t;

/** The layers that are trained, and how. Layer l + 1 reads what comes of layer l's FPROP, and layer
 * l the gradient that comes of layer l + 1's DGRAD. */
typedef struct {
  const ufp4_schedule_layer_t *layers;
  int layer_count;      ///< 1..UFP4_SCHEDULE_MAX_LAYERS
  int batches;          ///< 1, or 2 of half of each layer's tokens, the first with the odd one
  int steps;            ///< 1 or more, one behind the other
  int kept;             ///< how many of the first layers share no slots, 2..14; 0: as many as can.
                        ///< A long list and a part of it have the same jobs for a layer if it is
                        ///< given
  ufp4_recipe_t recipe; /**< one that a core runs by descriptors in all passes
                             (ufp4_recipe_on_core) */
  ufp4_dtype_t source;  ///< BF16 or FP32: X, W, dY, Y, dX; dW is FP32
  uint64_t seed;        ///< of the random bytes; step i draws as step i * batches + micro-batch
} ufp4_schedule_plan_t;

/** A tensor in device memory, with its row copy and its column copy. Rows of the plain one lie
 * rounded up to UFP4_ALIGN_BYTES, copies have ufp4_panel_stride_blocks. */
typedef struct {
  uint64_t plain, codes[2], scales[2];
} ufp4_schedule_tensor_t;

/** The tensors of one layer, by micro-batch. Y may be X of the next layer, and dX may be dY of the
 * one before: the GEMM then writes what that layer reads. Otherwise the work between them is
 * somebody else's: it takes no time, and the jobs wait for each other all the same. */
typedef struct {
  ufp4_schedule_tensor_t x[UFP4_SCHEDULE_BATCHES], w, dy[UFP4_SCHEDULE_BATCHES];
  ufp4_schedule_tensor_t next_x[UFP4_SCHEDULE_BATCHES];  ///< of the first layer, if steps > 1: X of
                                                         ///< odd steps
  uint64_t y[UFP4_SCHEDULE_BATCHES], dx[UFP4_SCHEDULE_BATCHES], dw[UFP4_SCHEDULE_BATCHES];
} ufp4_schedule_buffers_t;

/** One job: a GEMM of a pass, or AMAX or QUANT of a tensor. */
typedef struct {
  ufp4_descriptor_t descriptor;
  int step, layer, batch;  ///< batch 0 for W
  int pass;                ///< ufp4_pass_t of a GEMM, otherwise -1
  int role;                ///< ufp4_role_t of AMAX and QUANT, otherwise -1
  uint64_t cycles;         ///< by ufp4_schedule_run
} ufp4_schedule_job_t;

typedef struct {
  ufp4_schedule_job_t *jobs;
  int count;
} ufp4_schedule_t;

/** Rows of X and dY of @p layer in micro-batch @p batch. */
int64_t ufp4_schedule_tokens(const ufp4_schedule_plan_t *plan, int layer, int batch);
/** Device memory that ufp4_schedule_alloc takes. */
uint64_t ufp4_schedule_bytes(const ufp4_schedule_plan_t *plan);
/** Allocates for all layers; @p buffers has one for each. Y of a layer is X of the next where their
 * shapes are the same, and dX likewise. On failure nothing stays taken. */
ufp4_status_t ufp4_schedule_alloc(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                                  ufp4_schedule_buffers_t *buffers);
void ufp4_schedule_release(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                           ufp4_schedule_buffers_t *buffers);

/** Makes the list, in the ring's order; to be freed with ufp4_schedule_free. Each job waits for
 * what it reads and for what still reads that which it overwrites, and for no more: a backend that
 * runs one job after the other gives the same bits. The list uses all exponent slots. W is
 * quantized anew once all its dW are there: an optimizer between is the caller's, and takes no
 * time.
 * UFP4_ERROR_ARGUMENT: an impossible plan. UFP4_ERROR_UNSUPPORTED: the device's core does not run
 * the recipe by descriptors, or the host multiplies a pass. */
ufp4_status_t ufp4_schedule_make(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                                 const ufp4_schedule_buffers_t *buffers, ufp4_schedule_t *schedule);
void ufp4_schedule_free(ufp4_schedule_t *schedule);
/** Queues all jobs, waits for them and notes the cycles of each, from its start on its engine. */
ufp4_status_t ufp4_schedule_run(ufp4_device_t *device, ufp4_schedule_t *schedule);

#ifdef __cplusplus
}
#endif

#endif
