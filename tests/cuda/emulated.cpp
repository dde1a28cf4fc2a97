// SPDX-License-Identifier: Apache-2.0
#include "emulated.h"

#include <setjmp.h>
#include <stdio.h>
#include <ucontext.h>

#include <mutex>
#include <vector>

#include "emulated_machine.h"

namespace emulated {

emulated_weather_t weather;
uint64_t products;
dim3 *thread_index, block_index, block_size, grid_size;

namespace {

const size_t STACK_BYTES = 64 << 10;
const unsigned WARP = 32;
// The address of shared memory in the address space of the PTX ISA; it is aligned to 128 bytes and
// no more.
const uint32_t SHARED_ADDRESS = 1152;

// A copy in flight.
struct copy_t {
  void *to;
  const void *from;
  unsigned group;
};

struct fiber_t {
  dim3 index;
  ucontext_t start;
  jmp_buf here;
  std::vector<unsigned char> stack;
  bool started, done;
  std::vector<copy_t> copies;
  unsigned groups;  // committed groups
};

// The operands that the lanes of a warp bring to a collective operation. The last lane to arrive
// does the work for all.
struct warp_t {
  unsigned arrived, generation;
  const uint32_t *in[WARP][2];
  const void *address[WARP];
  void *out[WARP];
  uint32_t value[WARP];
};

struct block_t {
  const std::function<void()> *kernel;
  std::vector<fiber_t> fibers;
  std::vector<warp_t> warps;
  std::vector<unsigned char> memory;
  size_t memory_bytes;
  unsigned arrived, generation, alive;
  bool progress;
  ucontext_t scheduler;
  jmp_buf back;
  unsigned current;
};

block_t block;

fiber_t &fiber() {
  return block.fibers[block.current];
}

}  // namespace

unsigned current_thread() {
  return block.current;
}

void give_up(const char *what) {
  fprintf(stderr, "emulated GPU: %s (block %u %u, thread %u)\n", what, block_index.x, block_index.y,
          block.current);
  abort();
}

void yield() {
  if (_setjmp(fiber().here) == 0) _longjmp(block.back, 1);
}

void progressed() {
  block.progress = true;
}

namespace {

void run_fiber() {
  (*block.kernel)();
  fiber().done = true;
  block.alive--;
  block.progress = true;
  _longjmp(block.back, 1);
}

void resume(unsigned index) {
  block.current = index;
  thread_index = &block.fibers[index].index;
  if (_setjmp(block.back) != 0) return;
  if (block.fibers[index].started) _longjmp(block.fibers[index].here, 1);
  block.fibers[index].started = true;
  // setcontext does not return; fibers leave through block.back.
  setcontext(&block.fibers[index].start);
  give_up("a thread could not be started");
}

void prepare_fiber(unsigned index) {
  fiber_t &f = block.fibers[index];
  f.index = dim3(index, 0, 0);
  f.stack.resize(STACK_BYTES);
  f.started = f.done = false;
  f.copies.clear();
  f.groups = 0;
  if (getcontext(&f.start) != 0) give_up("no context");
  f.start.uc_stack.ss_sp = f.stack.data();
  f.start.uc_stack.ss_size = f.stack.size();
  f.start.uc_link = nullptr;
  makecontext(&f.start, run_fiber, 0);
}

// Runs each thread of a warp until it waits or, if warps run apart, until all of them wait for
// other warps. @return whether a thread made progress.
bool run_warp(unsigned warp) {
  bool progress = false;
  do {
    block.progress = false;
    for (unsigned n = 0; n < WARP; n++) {
      const unsigned i = WARP * warp + (weather.backwards ? WARP - 1 - n : n);
      if (!block.fibers[i].done) resume(i);
    }
    progress |= block.progress;
  } while (weather.apart && block.progress);
  return progress;
}

void run_block(size_t shared_bytes) {
  const unsigned threads = block_size.x;
  block.fibers.resize(threads);
  block.warps.assign(threads / WARP, warp_t());
  block.memory.assign(shared_bytes + 128, 0xA5);
  block.memory_bytes = shared_bytes;
  hopper_start(threads);
  block.arrived = block.generation = 0;
  block.alive = threads;
  for (unsigned i = 0; i < threads; i++) prepare_fiber(i);
  while (block.alive > 0) {
    bool progress = false;
    for (unsigned n = 0; n < threads / WARP; n++)
      progress |= run_warp(weather.backwards ? threads / WARP - 1 - n : n);
    if (!progress && !hopper_idle()) give_up("threads wait for one another");
  }
  hopper_end();
}

// Waits until all lanes have arrived. @return true in the last one, which then calls release().
bool gather(warp_t &warp) {
  if (++warp.arrived == WARP) return true;
  const unsigned generation = warp.generation;
  while (warp.generation == generation) yield();
  return false;
}

void release(warp_t &warp) {
  warp.arrived = 0;
  warp.generation++;
  block.progress = true;
}

warp_t &my_warp() {
  return block.warps[block.current / WARP];
}

unsigned my_lane() {
  return block.current % WARP;
}

float bf16(uint32_t word, int half) {
  return __int_as_float((int32_t)(half ? word & 0xFFFF0000u : word << 16));
}

int8_t byte(uint32_t word, int i) {
  return (int8_t)(word >> (8 * i) & 255);
}

// PTX ISA, mma.m16n8k16 for .s8, with g = lane / 4 and t = lane % 4. Element i of A's fragment is
// in row g, or g + 8 for i >= 4, and column 4 t + i % 4; of B's in row 4 t + i, column g; of D's in
// row g, or g + 8 for i >= 2, and column 2 t + i % 2.
void read_s8(const warp_t &warp, int8_t a[16][16], int8_t b[16][8]) {
  for (unsigned lane = 0; lane < WARP; lane++) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 8; i++) {
      const unsigned row = (i < 4) == (weather.fault == EMULATED_FAULT_S8) ? g + 8 : g;
      a[row][4 * t + i % 4] = byte(warp.in[lane][0][i / 4], (int)(i % 4));
    }
    for (unsigned i = 0; i < 4; i++) b[4 * t + i][g] = byte(warp.in[lane][1][0], (int)i);
  }
}

// PTX ISA, mma.m16n8k16 for .bf16. Element i of A's fragment is in row g for i = 0, 1, 4, 5, else g
// + 8, and column 2 t + i % 2, + 8 for i >= 4; of B's in row 2 t + i % 2, + 8 for i >= 2, and
// column g.
void read_bf16(const warp_t &warp, float a[16][16], float b[16][8]) {
  for (unsigned lane = 0; lane < WARP; lane++) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 8; i++) {
      const unsigned shifted = (i < 4) == (weather.fault == EMULATED_FAULT_BF16) ? 8 : 0;
      a[i % 4 < 2 ? g : g + 8][2 * t + i % 2 + shifted] = bf16(warp.in[lane][0][i / 2], i % 2);
    }
    for (unsigned i = 0; i < 4; i++)
      b[2 * t + i % 2 + (i >= 2 ? 8 : 0)][g] = bf16(warp.in[lane][1][i / 2], i % 2);
  }
}

template <typename T>
void write_fragment(const warp_t &warp, const T d[16][8]) {
  for (unsigned lane = 0; lane < WARP; lane++) {
    const unsigned g = lane / 4, t = lane % 4;
    T *out = (T *)warp.out[lane];
    for (unsigned i = 0; i < 4; i++) {
      const unsigned column = weather.fault == EMULATED_FAULT_D ? 2 * t + 1 - i % 2 : 2 * t + i % 2;
      out[i] = d[i < 2 ? g : g + 8][column];
    }
  }
}

int exponent_of(double x) {
  int e;
  frexp(x, &e);
  return e;
}

// Aligns the products to the largest exponent among them and the accumulator, truncates and adds
// them, and truncates the sum to FP32. This is the worst that tensor cores are known to do
// (MMA-Sim, arXiv 2511.10909).
double add_group(double sum, const double *products, int count) {
  if (weather.fraction_bits == 0) {
    for (int i = 0; i < count; i++) sum += products[i];
    return sum;
  }
  int largest = sum == 0 ? INT32_MIN : exponent_of(sum);
  for (int i = 0; i < count; i++) {
    if (products[i] != 0) largest = std::max(largest, exponent_of(products[i]));
  }
  if (largest == INT32_MIN) return 0;
  const double unit = ldexp(1.0, largest - weather.fraction_bits);
  double total = trunc(sum / unit);
  for (int i = 0; i < count; i++) total += trunc(products[i] / unit);
  total *= unit;
  if (total == 0) return 0;
  const double last = ldexp(1.0, exponent_of(total) - 24);
  return trunc(total / last) * last;
}

void land(const copy_t &copy) {
  memcpy(copy.to, copy.from, 16);
}

}  // namespace

unsigned char *shared() {
  const uintptr_t raw = (uintptr_t)block.memory.data();
  return (unsigned char *)((raw + 127) / 128 * 128);
}

uint32_t shared_address(const void *pointer) {
  return SHARED_ADDRESS + (uint32_t)((const unsigned char *)pointer - shared());
}

unsigned char *shared_at(uint32_t address, uint32_t bytes) {
  if (address < SHARED_ADDRESS || address - SHARED_ADDRESS + bytes > block.memory_bytes)
    give_up("an address outside shared memory");
  return shared() + (address - SHARED_ADDRESS);
}

int capability() {
  const char *named = getenv("UFP4_EMULATED_CAPABILITY");
  if (weather.capability != 0) return weather.capability;
  return named != nullptr ? atoi(named) : 90;
}

void launch(dim3 grid, dim3 threads, size_t shared_bytes, const std::function<void()> &kernel) {
  // Several threads of the program may launch kernels, as in training.
  static std::mutex one_at_a_time;
  const std::lock_guard<std::mutex> lock(one_at_a_time);
  if (threads.x % WARP != 0 || threads.y != 1 || threads.z != 1) give_up("a block of broken warps");
  // The limits are those of the CUDA C++ programming guide, "Compute Capabilities".
  if (shared_bytes > (capability() == 90 ? 227u : 99u) << 10) give_up("too much shared memory");
  grid_size = grid;
  block_size = threads;
  block.kernel = &kernel;
  const unsigned count = grid.x * grid.y;
  for (unsigned n = 0; n < count; n++) {
    const unsigned i = weather.backwards ? count - 1 - n : n;
    block_index = dim3(i % grid.x, i / grid.x, 0);
    run_block(shared_bytes);
  }
}

void sync_block() {
  if (++block.arrived == block.fibers.size()) {
    block.arrived = 0;
    block.generation++;
    block.progress = true;
    return;
  }
  const unsigned generation = block.generation;
  while (block.generation == generation) yield();
}

void together(void *own, void (*work)(void *const *lanes)) {
  warp_t &warp = my_warp();
  warp.out[my_lane()] = own;
  if (!gather(warp)) return;
  work(warp.out);
  release(warp);
}

uint32_t shuffle_xor(uint32_t value, int by) {
  warp_t &warp = my_warp();
  const unsigned lane = my_lane();
  uint32_t got = 0;
  warp.value[lane] = value;
  warp.out[lane] = &got;
  if (gather(warp)) {
    for (unsigned l = 0; l < WARP; l++) *(uint32_t *)warp.out[l] = warp.value[l ^ (unsigned)by];
    release(warp);
  }
  return got;
}

uint32_t warp_mask(bool set) {
  warp_t &warp = my_warp();
  uint32_t got = 0;
  warp.value[my_lane()] = set;
  warp.out[my_lane()] = &got;
  if (gather(warp)) {
    uint32_t mask = 0;
    for (unsigned l = 0; l < WARP; l++) mask |= warp.value[l] << l;
    for (unsigned l = 0; l < WARP; l++) *(uint32_t *)warp.out[l] = mask;
    release(warp);
  }
  return got;
}

uint32_t warp_max(uint32_t value) {
  warp_t &warp = my_warp();
  uint32_t got = 0;
  warp.value[my_lane()] = value;
  warp.out[my_lane()] = &got;
  if (gather(warp)) {
    const uint32_t largest = *std::max_element(warp.value, warp.value + WARP);
    for (unsigned l = 0; l < WARP; l++) *(uint32_t *)warp.out[l] = largest;
    release(warp);
  }
  return got;
}

void mma_s8(int32_t d[4], const uint32_t a[2], uint32_t b) {
  warp_t &warp = my_warp();
  warp.in[my_lane()][0] = a;
  warp.in[my_lane()][1] = &b;
  warp.out[my_lane()] = d;
  if (!gather(warp)) return;
  products++;
  int8_t left[16][16], right[16][8];
  int32_t sums[16][8] = {{0}};
  read_s8(warp, left, right);
  for (int i = 0; i < 16; i++) {
    for (int k = 0; k < 16; k++) {
      for (int j = 0; j < 8; j++) sums[i][j] += left[i][k] * right[k][j];
    }
  }
  write_fragment(warp, sums);
  release(warp);
}

// PTX ISA, mma.m16n8k32 for .s8. Register r of A's fragment is in row g, + 8 if r is odd, and
// columns 4 t to 4 t + 3, + 16 for r >= 2; of B's in column g, rows 4 t to 4 t + 3, + 16 for r = 1;
// D as above.
void mma_s8_wide(int32_t d[4], const uint32_t a[4], const uint32_t b[2]) {
  warp_t &warp = my_warp();
  warp.in[my_lane()][0] = a;
  warp.in[my_lane()][1] = b;
  warp.out[my_lane()] = d;
  if (!gather(warp)) return;
  products++;
  int16_t left[16][32], right[8][32];
  for (unsigned lane = 0; lane < WARP; lane++) {
    const unsigned g = lane / 4, t = lane % 4;
    for (unsigned i = 0; i < 16; i++) {
      const unsigned r = i / 4, odd = r % 2, upper = r / 2;
      const bool wrong = weather.fault == EMULATED_FAULT_S8_WIDE;
      left[g + 8 * (wrong ? upper : odd)][4 * t + i % 4 + 16 * (wrong ? odd : upper)] =
          byte(warp.in[lane][0][r], (int)(i % 4));
    }
    for (unsigned i = 0; i < 8; i++)
      right[g][4 * t + i % 4 + i / 4 * 16] = byte(warp.in[lane][1][i / 4], (int)(i % 4));
  }
  for (unsigned lane = 0; lane < WARP; lane++) {
    int32_t *out = (int32_t *)warp.out[lane];
    for (unsigned i = 0; i < 4; i++) {
      const int16_t *row = left[lane / 4 + i / 2 * 8], *column = right[lane % 4 * 2 + i % 2];
      int32_t sum = 0;
      for (int k = 0; k < 32; k++) sum += row[k] * column[k];
      out[i] = (int32_t)((uint32_t)out[i] + (uint32_t)sum);
    }
  }
  release(warp);
}

void mma_bf16(float d[4], const uint32_t a[4], const uint32_t b[2]) {
  warp_t &warp = my_warp();
  warp.in[my_lane()][0] = a;
  warp.in[my_lane()][1] = b;
  warp.out[my_lane()] = d;
  if (!gather(warp)) return;
  products++;
  const int group = weather.group != 0 ? weather.group : 16;
  float left[16][16], right[16][8], sums[16][8];
  read_bf16(warp, left, right);
  for (int i = 0; i < 16; i++) {
    for (int j = 0; j < 8; j++) {
      double products[16], sum = 0;
      for (int k = 0; k < 16; k++) products[k] = (double)left[i][k] * (double)right[k][j];
      for (int k = 0; k < 16; k += group) sum = add_group(sum, products + k, group);
      sums[i][j] = (float)sum;
    }
  }
  write_fragment(warp, sums);
  release(warp);
}

void ldmatrix_x4(uint32_t r[4], const void *row) {
  warp_t &warp = my_warp();
  warp.address[my_lane()] = row;
  warp.out[my_lane()] = r;
  if (!gather(warp)) return;
  // Lane l gets word l % 4 of row l / 4 of each matrix; the address of that row comes from lane l /
  // 4 of the matrix's group of eight lanes.
  for (unsigned lane = 0; lane < WARP; lane++) {
    for (unsigned m = 0; m < 4; m++) {
      const unsigned matrix = weather.fault == EMULATED_FAULT_LDMATRIX ? m ^ 1 : m;
      const unsigned char *row_of_lane = (const unsigned char *)warp.address[8 * matrix + lane / 4];
      memcpy((uint32_t *)warp.out[lane] + m, row_of_lane + lane % 4 * 4, 4);
    }
  }
  release(warp);
}

void copy_16(void *shared_to, const void *global) {
  if ((uintptr_t)shared_to % 16 != 0 || (uintptr_t)global % 16 != 0)
    give_up("a misaligned asynchronous copy");
  const copy_t copy = {shared_to, global, fiber().groups};
  if (weather.early_copies) {
    land(copy);
  } else {
    fiber().copies.push_back(copy);
  }
}

void copy_commit() {
  fiber().groups++;
}

void copy_wait(int pending) {
  fiber_t &f = fiber();
  size_t kept = 0;
  for (const copy_t &copy : f.copies) {
    if ((int)(f.groups - copy.group) > pending) {
      land(copy);
    } else {
      f.copies[kept++] = copy;
    }
  }
  f.copies.resize(kept);
}

}  // namespace emulated
