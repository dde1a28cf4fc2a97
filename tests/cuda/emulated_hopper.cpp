// SPDX-License-Identifier: Apache-2.0
// Barriers in shared memory, the copy engine and the products of warpgroups. A copy lands at once,
// or when no thread can proceed without it. A product reads shared memory and writes registers when
// it is waited for, or when the last thread has issued it.
#include "emulated_hopper.h"

#include <deque>
#include <map>
#include <vector>

#include "emulated_machine.h"

namespace emulated {

namespace {

const unsigned WARPGROUP = 128;

// PTX ISA, "mbarrier": a phase ends when nothing is pending, neither arrivals nor bytes.
struct barrier_t {
  int count, pending, phase;
  int64_t bytes;
  bool counts_bytes, fenced;
  unsigned owner;
};

struct box_copy_t {
  uint32_t to, barrier;
  CUtensorMap map;
  int x, y;
};

enum product_kind_t { BF16, BF16_ADDED, BYTES_ADDED };

struct product_t {
  product_kind_t kind;
  uint64_t a, b;
  void *out[WARPGROUP];
  unsigned arrived;
};

// Products whose end some thread has not seen yet; the first has index `done`.
struct warpgroup_t {
  std::deque<product_t> products;
  uint64_t done;
};

struct thread_t {
  uint64_t issued;
  bool begun;
  std::deque<uint64_t> groups;  // how many products were issued before each group's commit
};

std::map<uint32_t, barrier_t> barriers;
std::deque<box_copy_t> copies;
std::vector<warpgroup_t> warpgroups;
std::vector<thread_t> threads;

// --- Barriers -----------------------------------------------------------------------------------

barrier_t &barrier_at(uint32_t address) {
  const auto found = barriers.find(address);
  if (found == barriers.end()) give_up("no barrier was made there");
  return found->second;
}

void settle(barrier_t &barrier) {
  if (barrier.pending > 0) return;
  if (barrier.bytes != 0 && weather.fault != EMULATED_FAULT_BYTES) return;
  barrier.pending = barrier.count;
  barrier.phase ^= 1;
  progressed();
}

// --- The copy engine ----------------------------------------------------------------------------

// CUDA C++ programming guide, "Tensor map swizzle modes", 128 bytes: bits 4 to 6 of an address are
// XORed with bits 7 to 9.
uint32_t swizzled(uint32_t address) {
  return address ^ (address >> 7 & 7) << 4;
}

void land_row(const box_copy_t &copy, uint32_t r) {
  const CUtensorMap &map = copy.map;
  const int64_t row = (int64_t)copy.y + r, first = (int64_t)copy.x * map.element_bytes;
  unsigned char bytes[128];
  memset(bytes, weather.fault == EMULATED_FAULT_OUTSIDE ? 0x3D : 0, sizeof bytes);
  if (row >= 0 && row < map.rows && first >= 0 && first < map.row_bytes) {
    memcpy(bytes, map.matrix + row * map.pitch_bytes + first,
           (size_t)std::min<int64_t>(map.box_bytes, map.row_bytes - first));
  }
  for (uint32_t at = 0; at < map.box_bytes; at += 16) {
    const uint32_t to = copy.to + r * map.box_bytes + at;
    memcpy(shared_at(weather.fault == EMULATED_FAULT_COPY_SWIZZLE ? to : swizzled(to), 16),
           bytes + at, 16);
  }
}

void land(const box_copy_t &copy) {
  for (uint32_t r = 0; r < copy.map.box_rows; r++) land_row(copy, r);
  barrier_t &barrier = barrier_at(copy.barrier);
  barrier.bytes -= (int64_t)copy.map.box_bytes * copy.map.box_rows;
  settle(barrier);
  progressed();
}

// --- Products -----------------------------------------------------------------------------------

// PTX ISA, "Matrix Descriptor Format": rows of 128 bytes, eight of them a group, in the 128-byte
// swizzle.
void read_row(uint64_t descriptor, uint32_t row, unsigned char target[32]) {
  const uint32_t start = (uint32_t)(descriptor & 0x3FFF) << 4;
  uint32_t stride = (uint32_t)(descriptor >> 32 & 0x3FFF) << 4;
  if (descriptor >> 62 != 1 || (descriptor >> 49 & 7) != 0)
    give_up("a matrix descriptor that is not emulated");
  if (weather.fault == EMULATED_FAULT_STRIDE) stride /= 2;
  for (uint32_t at = 0; at < 32; at += 16) {
    const uint32_t plain = start + row / 8 * stride + row % 8 * 128 + at;
    memcpy(target + at,
           shared_at(weather.fault == EMULATED_FAULT_READ_SWIZZLE ? plain : swizzled(plain), 16),
           16);
  }
}

float of_bf16(const unsigned char *bytes) {
  return __int_as_float((int32_t)((uint32_t)bytes[0] << 16 | (uint32_t)bytes[1] << 24));
}

// Adds the products exactly and rounds once.
void add_exactly(const float *a, const float (*b)[64], float *sums) {
  double exact[64];
  for (int j = 0; j < 64; j++) exact[j] = (double)sums[j];
  for (int k = 0; k < 16; k++) {
    for (int j = 0; j < 64; j++) exact[j] += (double)a[k] * (double)b[k][j];
  }
  for (int j = 0; j < 64; j++) sums[j] = (float)exact[j];
}

float truncated(int32_t sum, float unit) {
  uint32_t magnitude = sum < 0 ? 0 - (uint32_t)sum : (uint32_t)sum;
  const int extra = magnitude != 0 ? 8 - __builtin_clz(magnitude) : 0;
  if (extra > 0) magnitude = magnitude >> extra << extra;
  return (sum < 0 ? -(float)magnitude : (float)magnitude) * unit;
}

// Does the work of add_group() in emulated.cpp for 64 columns at once. Products of BF16 are exact
// in FP32, and those within weather.fraction_bits of the largest are integers.
void add_truncated(const float *a, const float (*b)[64], int count, float *sums) {
  int32_t largest[64], total[64];
  float scale[64], unit[64];
  for (int j = 0; j < 64; j++) largest[j] = __float_as_int(sums[j]) & 0x7FFFFFFF;
  for (int k = 0; k < count; k++) {
    for (int j = 0; j < 64; j++) {
      const int32_t bits = __float_as_int(a[k] * b[k][j]) & 0x7FFFFFFF;
      largest[j] = bits > largest[j] ? bits : largest[j];
    }
  }
  for (int j = 0; j < 64; j++) {
    // The largest number is under 2^(field - 126).
    const int field = std::max(largest[j] >> 23, weather.fraction_bits);
    scale[j] = __int_as_float((253 + weather.fraction_bits - field) << 23);
    unit[j] = __int_as_float((field + 1 - weather.fraction_bits) << 23);
    total[j] = (int32_t)(sums[j] * scale[j]);
  }
  for (int k = 0; k < count; k++) {
    for (int j = 0; j < 64; j++) total[j] += (int32_t)(a[k] * b[k][j] * scale[j]);
  }
  for (int j = 0; j < 64; j++) sums[j] = truncated(total[j], unit[j]);
}

// Calls what(element of D, register of a thread) for each element. PTX ISA, "Register Fragments for
// wgmma.mma_async", D: warp w has rows 16 w to 16 w + 15.
template <typename T, int COLUMNS, typename WHAT>
void each_register(const product_t &product, T (*d)[COLUMNS], WHAT what) {
  for (unsigned t = 0; t < WARPGROUP; t++) {
    for (unsigned i = 0; i < COLUMNS / 2; i++) {
      const unsigned row = t / 32 * 16 + t % 32 / 4 + i % 4 / 2 * 8;
      const unsigned low = weather.fault == EMULATED_FAULT_FRAGMENT ? 1 - i % 2 : i % 2;
      what(d[row][i / 4 * 8 + t % 4 * 2 + low], ((T *)product.out[t])[i]);
    }
  }
}

void multiply_bf16(const product_t &product) {
  static float a[64][16], b[16][64], d[64][64];
  const int group = weather.group != 0 ? weather.group : 16;
  for (uint32_t row = 0; row < 64; row++) {
    unsigned char left[32], right[32];
    read_row(product.a, row, left);
    read_row(product.b, row, right);
    for (int k = 0; k < 16; k++) a[row][k] = of_bf16(left + 2 * k);
    for (int k = 0; k < 16; k++) b[k][row] = of_bf16(right + 2 * k);
  }
  memset(d, 0, sizeof d);
  if (product.kind == BF16_ADDED)
    each_register(product, d, [](float &element, float &out) { element = out; });
  for (int i = 0; i < 64; i++) {
    if (weather.fraction_bits == 0) {
      add_exactly(a[i], b, d[i]);
      continue;
    }
    for (int k = 0; k < 16; k += group) add_truncated(a[i] + k, b + k, group, d[i]);
  }
  each_register(product, d, [](float &element, float &out) { out = element; });
}

void multiply_s8(const product_t &product) {
  static int16_t a[64][32], b[128][32];
  static int32_t d[64][128];
  for (uint32_t row = 0; row < 128; row++) {
    unsigned char bytes[32];
    read_row(product.b, row, bytes);
    for (int k = 0; k < 32; k++) b[row][k] = (int8_t)bytes[k];
    if (row >= 64) continue;
    read_row(product.a, row, bytes);
    for (int k = 0; k < 32; k++) a[row][k] = (int8_t)bytes[k];
  }
  for (int i = 0; i < 64; i++) {
    for (int j = 0; j < 128; j++) {
      int32_t sum = 0;
      for (int k = 0; k < 32; k++) sum += a[i][k] * b[j][k];
      d[i][j] = sum;
    }
  }
  each_register(product, d, [](int32_t &element, int32_t &out) {
    out = (int32_t)((uint32_t)out + (uint32_t)element);
  });
}

void finish_first(warpgroup_t &warpgroup) {
  const product_t &product = warpgroup.products.front();
  if (product.kind == BYTES_ADDED) {
    multiply_s8(product);
  } else {
    multiply_bf16(product);
  }
  emulated::products++;
  warpgroup.products.pop_front();
  warpgroup.done++;
  progressed();
}

void issue(product_kind_t kind, void *d, uint64_t a, uint64_t b) {
  thread_t &thread = threads[current_thread()];
  warpgroup_t &warpgroup = warpgroups[current_thread() / WARPGROUP];
  if (!thread.begun) give_up("a product whose registers may still be in use");
  const uint64_t index = thread.issued++ - warpgroup.done;
  if (index == warpgroup.products.size()) {
    product_t fresh = {};
    fresh.kind = kind;
    fresh.a = a;
    fresh.b = b;
    warpgroup.products.push_back(fresh);
  }
  product_t &product = warpgroup.products[index];
  if (product.kind != kind || product.a != a || product.b != b)
    give_up("threads of a warpgroup ask for different products");
  product.out[current_thread() % WARPGROUP] = d;
  progressed();
  if (++product.arrived == WARPGROUP && weather.early_copies) {
    while (!warpgroup.products.empty() && warpgroup.products.front().arrived == WARPGROUP)
      finish_first(warpgroup);
  }
}

}  // namespace

// --- The block ----------------------------------------------------------------------------------

void hopper_start(unsigned count) {
  barriers.clear();
  copies.clear();
  warpgroups.assign((count + WARPGROUP - 1) / WARPGROUP, warpgroup_t());
  threads.assign(count, thread_t());
}

bool hopper_idle() {
  if (copies.empty()) return false;
  const box_copy_t copy = weather.backwards ? copies.back() : copies.front();
  if (weather.backwards) {
    copies.pop_back();
  } else {
    copies.pop_front();
  }
  land(copy);
  return true;
}

void hopper_end() {
  if (!copies.empty() && weather.fault == 0) give_up("a block ends before its copies");
}

CUresult encode_matrix(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *matrix,
                       const cuuint64_t *sizes, const cuuint64_t *pitches, const cuuint32_t *box,
                       const cuuint32_t *steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                       CUtensorMapL2promotion, CUtensorMapFloatOOBfill) {
  const uint32_t bytes = type == CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 ? 2 : 1;
  if (rank != 2 || (uintptr_t)map % 64 != 0 || (uintptr_t)matrix % 16 != 0 || sizes[0] == 0 ||
      sizes[1] == 0 || pitches[0] % 16 != 0 || steps[0] != 1 || steps[1] != 1 || box[0] == 0 ||
      box[1] == 0 || box[1] > 256 || swizzle != CU_TENSOR_MAP_SWIZZLE_128B || box[0] * bytes != 128)
    return CUDA_ERROR_INVALID_VALUE;
  *map = CUtensorMap{(const unsigned char *)matrix,
                     (int64_t)(sizes[0] * bytes),
                     (int64_t)sizes[1],
                     (int64_t)pitches[0],
                     bytes,
                     box[0] * bytes,
                     box[1]};
  return CUDA_SUCCESS;
}

// --- Barriers and copies ------------------------------------------------------------------------

void barrier_init(uint32_t address, int count) {
  if (address % 8 != 0) give_up("a misaligned barrier");
  (void)shared_at(address, 8);
  barriers[address] = {count, count, 0, 0, false, false, current_thread()};
}

void barrier_fence() {
  for (auto &entry : barriers) entry.second.fenced |= entry.second.owner == current_thread();
}

void barrier_arrive(uint32_t address, int bytes) {
  barrier_t &barrier = barrier_at(address);
  barrier.bytes += bytes;
  barrier.counts_bytes |= bytes != 0;
  if (barrier.pending == 0) {
    if (weather.fault == 0) give_up("more arrivals than a barrier waits for");
    return;
  }
  barrier.pending--;
  settle(barrier);
}

void barrier_wait(uint32_t address, int parity) {
  barrier_t &barrier = barrier_at(address);
  if (weather.fault == EMULATED_FAULT_FREED && !barrier.counts_bytes) return;
  while (barrier.phase == parity) yield();
}

void copy_box(uint32_t target, const CUtensorMap *map, int x, int y, uint32_t barrier) {
  if (!barrier_at(barrier).fenced) give_up("a copy to a barrier that the engine cannot see yet");
  if (target % 128 != 0 || (uintptr_t)map % 64 != 0) give_up("a misaligned copy of a box");
  copies.push_back({target, barrier, *map, x, y});
  if (weather.early_copies) (void)hopper_idle();
}

// --- Products of warpgroups ---------------------------------------------------------------------

void wgmma_begin() {
  threads[current_thread()].begun = true;
}

void wgmma_bf16(float *d, uint64_t a, uint64_t b, bool adds) {
  // The result may not be read before the wait; a product that adds needs the old value.
  for (int i = 0; i < 32 && !adds; i++) d[i] = __int_as_float(0x7FC0BAD0);
  issue(adds ? BF16_ADDED : BF16, d, a, b);
}

void wgmma_s8(int32_t *d, uint64_t a, uint64_t b) {
  issue(BYTES_ADDED, d, a, b);
}

void wgmma_commit() {
  threads[current_thread()].groups.push_back(threads[current_thread()].issued);
}

void wgmma_wait(unsigned pending) {
  thread_t &thread = threads[current_thread()];
  warpgroup_t &warpgroup = warpgroups[current_thread() / WARPGROUP];
  if (weather.fault == EMULATED_FAULT_WAIT) pending++;
  while (thread.groups.size() > pending) {
    const uint64_t end = thread.groups.front();
    thread.groups.pop_front();
    while (warpgroup.done < end) {
      if (warpgroup.products.front().arrived == WARPGROUP) {
        finish_first(warpgroup);
      } else {
        yield();
      }
    }
  }
  thread.begun = false;
}

}  // namespace emulated
