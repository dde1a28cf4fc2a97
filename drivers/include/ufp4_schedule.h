// SPDX-License-Identifier: Apache-2.0
// Training steps of linear layers as one list of jobs, in which AMAX and QUANT overlap with GEMMs
// (docs/ip/programmers-guide.md, "Side by side").
#ifndef UFP4_SCHEDULE_H
#define UFP4_SCHEDULE_H

#include "ufp4.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The most micro-batches into which a step may be split. */
#define UFP4_SCHEDULE_BATCHES 2
/** The number of layers whose exponents of X and W can stay in slots of their own from the forward
 * to the backward pass. In a longer list some layers share slots: for these, AMAX runs once more,
 * only on the column copy, before the backward pass reads it. */
#define UFP4_SCHEDULE_KEPT 16
#define UFP4_SCHEDULE_MAX_LAYERS 4096

/** X [tokens][cin], W [cout][cin], dY [tokens][cout]; tokens are those of a whole step. */
typedef struct {
  int64_t tokens, cin, cout;
} ufp4_schedule_layer_t;

/** The layers to train, and how. Layer l + 1 reads the result of layer l's FPROP, and layer l
 * reads the gradient that layer l + 1's DGRAD computes. */
typedef struct {
  const ufp4_schedule_layer_t *layers;
  int layer_count;      ///< 1..UFP4_SCHEDULE_MAX_LAYERS
  int batches;          ///< 1, or 2 with half of each layer's tokens each; the first gets the odd
                        ///< token
  int steps;            ///< at least 1; they run one after the other
  int kept;             ///< how many of the first layers share no slots, 2..14; 0: as many as
                        ///< possible. If it is given, a layer has the same jobs in a long list and
                        ///< in a part of it
  ufp4_recipe_t recipe; /**< one that a core runs by descriptors in all passes
                             (ufp4_recipe_on_core) */
  ufp4_dtype_t source;  ///< type of X, W, dY, Y and dX: BF16 or FP32; dW is FP32
  uint64_t seed;        ///< seed of the random bytes; step i draws as step i * batches +
                        ///< micro-batch
} ufp4_schedule_plan_t;

/** A tensor in device memory with its row copy and its column copy. Rows of the plain tensor are
 * padded to UFP4_ALIGN_BYTES, and the copies have the stride ufp4_panel_stride_blocks. */
typedef struct {
  uint64_t plain, codes[2], scales[2];
} ufp4_schedule_tensor_t;

/** The tensors of one layer, by micro-batch. Y may be the X of the next layer, and dX the dY of
 * the previous one; the GEMM then writes directly what that layer reads. Otherwise the caller
 * computes one from the other in between: this takes no time in the list, and the jobs still wait
 * for each other. */
typedef struct {
  ufp4_schedule_tensor_t x[UFP4_SCHEDULE_BATCHES], w, dy[UFP4_SCHEDULE_BATCHES];
  ufp4_schedule_tensor_t next_x[UFP4_SCHEDULE_BATCHES];  ///< first layer, if steps > 1: X of odd
                                                         ///< steps
  uint64_t y[UFP4_SCHEDULE_BATCHES], dx[UFP4_SCHEDULE_BATCHES], dw[UFP4_SCHEDULE_BATCHES];
} ufp4_schedule_buffers_t;

/** One job: a GEMM of a pass, or AMAX or QUANT of a tensor. */
typedef struct {
  ufp4_descriptor_t descriptor;
  int step, layer, batch;  ///< batch is 0 for W
  int pass;                ///< ufp4_pass_t of a GEMM, otherwise -1
  int role;                ///< ufp4_role_t of AMAX and QUANT, otherwise -1
  uint64_t cycles;         ///< set by ufp4_schedule_run
} ufp4_schedule_job_t;

typedef struct {
  ufp4_schedule_job_t *jobs;
  int count;
} ufp4_schedule_t;

/** Returns the rows of X and dY of @p layer in micro-batch @p batch. */
int64_t ufp4_schedule_tokens(const ufp4_schedule_plan_t *plan, int layer, int batch);
/** Returns the bytes of device memory that ufp4_schedule_alloc takes. */
uint64_t ufp4_schedule_bytes(const ufp4_schedule_plan_t *plan);
/** Allocates the tensors of all layers; @p buffers has one entry per layer. If the
 * shapes are equal, Y of a layer is also X of the next one, and dX of the next one is also dY of
 * the layer. On failure nothing stays allocated. */
ufp4_status_t ufp4_schedule_alloc(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                                  ufp4_schedule_buffers_t *buffers);
void ufp4_schedule_release(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                           ufp4_schedule_buffers_t *buffers);

/** Makes the list of jobs in the ring's order; free it with ufp4_schedule_free. Each job depends
 * on the jobs that write its inputs and on those that still read what it overwrites, and on no
 * others, so a backend that runs one job at a time gives the same bits. The list uses all exponent
 * slots. W is quantized again once all its dW are complete; the caller's optimizer runs in between
 * and takes no time. UFP4_ERROR_ARGUMENT: an impossible plan. UFP4_ERROR_UNSUPPORTED: the device's
 * core does not run the recipe by descriptors, or the host multiplies a pass. */
ufp4_status_t ufp4_schedule_make(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                                 const ufp4_schedule_buffers_t *buffers, ufp4_schedule_t *schedule);
void ufp4_schedule_free(ufp4_schedule_t *schedule);
/** Queues all jobs, waits for them and records the cycles of each, from its start on its
 * engine. */
ufp4_status_t ufp4_schedule_run(ufp4_device_t *device, ufp4_schedule_t *schedule);

#ifdef __cplusplus
}
#endif

#endif
