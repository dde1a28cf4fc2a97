// SPDX-License-Identifier: Apache-2.0
// The ring of stages in shared memory between the loading warpgroup and the multiplying ones. A
// stage is full when its bytes have arrived, and free when every multiplying warpgroup has released
// it. Both sides go round in the same order, so they share only two barriers per stage.
#ifndef UFP4_CUDA_RING_CUH
#define UFP4_CUDA_RING_CUH

#include "hopper.cuh"

#define WARPGROUP 128      // threads
#define RING_ALIGN 1024    // bytes: a period of the copy engine's swizzle
#define RING_BARRIERS 256  // bytes of the barriers, behind the stages

/** The position of one side of the ring. */
template <int STAGES, int STAGE_BYTES>
struct ring_t {
  enum { SHARED_BYTES = STAGES * STAGE_BYTES + RING_ALIGN + RING_BARRIERS };
  uint32_t first;  ///< address of stage 0
  int stage, parity;

  GPU uint32_t address() const {
    return first + (uint32_t)(stage * STAGE_BYTES);
  }
  GPU uint32_t filled() const {
    return first + (uint32_t)(STAGES * STAGE_BYTES + 8 * stage);
  }
  GPU uint32_t freed() const {
    return filled() + 8 * STAGES;
  }
  GPU void advance() {
    if (++stage < STAGES) return;
    stage = 0;
    parity ^= 1;
  }
};

/** Called by all threads of the block; @p users: multiplying warpgroups. */
template <int STAGES, int STAGE_BYTES>
GPU ring_t<STAGES, STAGE_BYTES> ring_start(int users) {
  ring_t<STAGES, STAGE_BYTES> ring = {};
  ring.first = (gpu_shared_address(gpu_shared()) + RING_ALIGN - 1) / RING_ALIGN * RING_ALIGN;
  if (threadIdx.x == 0) {
    for (; ring.stage < STAGES; ring.stage++) {
      gpu_barrier_init(ring.filled(), 1);
      gpu_barrier_init(ring.freed(), users);
    }
    gpu_barrier_fence();
  }
  ring.stage = 0;
  __syncthreads();
  return ring;
}

/** Loader: waits until this stage is free, and announces its bytes. */
template <int STAGES, int STAGE_BYTES>
GPU void ring_fill(const ring_t<STAGES, STAGE_BYTES> &ring, int bytes) {
  gpu_barrier_wait(ring.freed(), ring.parity ^ 1);
  gpu_barrier_expect(ring.filled(), bytes);
}

/** Releases a stage; called by one thread of each multiplying warpgroup. */
GPU void ring_release(uint32_t freed) {
  if (threadIdx.x % WARPGROUP == 0) gpu_barrier_arrive(freed);
}

#endif
