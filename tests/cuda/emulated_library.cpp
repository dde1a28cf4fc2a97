// SPDX-License-Identifier: Apache-2.0
// The library of the backend cuda for a CPU: the same source on the emulated GPU.
#include <chrono>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "emulated_weather.h"
#include "library.cu"
#include "vendor.cu"

namespace emulated {

emulated_counts_t counts;
std::mutex counting;
thread_local int device, context = NO_CONTEXT;
thread_local cudaError_t failed = cudaSuccess;
thread_local bool relaxed;

namespace {

std::set<cudaStream_t> captured;
std::map<cudaStream_t, std::vector<std::function<void()>>> kept;

std::set<const void *> loaded;

}  // namespace

void load(const void *kernel) {
  const std::lock_guard<std::mutex> lock(counting);
  loaded.insert(kernel);
}

void demand_loaded(cudaStream_t stream, const void *kernel) {
  const std::lock_guard<std::mutex> lock(counting);
  if (captured.count(stream) == 0 || loaded.count(kernel) != 0) return;
  fprintf(stderr, "emulated GPU: a kernel that is not loaded is captured\n");
  abort();
}

void demand_no_capture() {
  const std::lock_guard<std::mutex> lock(counting);
  counts.broken_captures += !captured.empty() && !relaxed;
}

void queue(cudaStream_t stream, const std::function<void()> &work) {
  {
    const std::lock_guard<std::mutex> lock(counting);
    if (weather.failing_work > 0 && --weather.failing_work == 0) {
      failed = cudaErrorLaunchFailure;
      return;
    }
    // Work on the default stream would have to wait for the captured one.
    counts.broken_captures += stream == nullptr && !captured.empty();
    counts.contexts |= (uint64_t)1 << gpu();
    counts.works++;
    counts.works_on_default += stream == nullptr;
    counts.works_on_gpu_1 += gpu() == 1;
    if (captured.count(stream) != 0) {
      kept[stream].push_back(work);
      return;
    }
  }
  if (emulated::weather.restless) std::this_thread::sleep_for(std::chrono::microseconds(200));
  work();
}

}  // namespace emulated

cudaError_t gpu_context_open(int device, gpu_context_t *out) {
  const std::lock_guard<std::mutex> lock(emulated::counting);
  emulated::counts.contexts |= (uint64_t)1 << device;
  *out = device;
  return cudaSuccess;
}

extern "C" __attribute__((visibility("default"))) void emulated_counts_taken(
    emulated_counts_t *out) {
  const std::lock_guard<std::mutex> lock(emulated::counting);
  *out = emulated::counts;
  emulated::counts = emulated_counts_t();
}

extern "C" __attribute__((visibility("default"))) void emulated_capture(void *stream) {
  const std::lock_guard<std::mutex> lock(emulated::counting);
  emulated::captured.insert((cudaStream_t)stream);
  emulated::kept[(cudaStream_t)stream].clear();
}

extern "C" __attribute__((visibility("default"))) void emulated_replay(void *stream) {
  std::vector<std::function<void()>> works;
  {
    const std::lock_guard<std::mutex> lock(emulated::counting);
    emulated::captured.erase((cudaStream_t)stream);
    works = emulated::kept[(cudaStream_t)stream];
  }
  for (const std::function<void()> &work : works) work();
}

extern "C" __attribute__((visibility("default"))) void emulated_set_weather(
    const emulated_weather_t *weather) {
  emulated::weather = *weather;
}

extern "C" __attribute__((visibility("default"))) uint64_t emulated_products(void) {
  const uint64_t products = emulated::products;
  emulated::products = 0;
  return products;
}

extern "C" __attribute__((visibility("default"))) void emulated_transform_bf16(uint32_t bits[16],
                                                                               uint16_t mask) {
  hadamard_bf16(bits, mask);
}

// --- Parts of the quick quantizer ---------------------------------------------------------------

namespace {

quick_reciprocal_t one_over(float s, int places) {
  return quick_completed(s, __int_as_float(__float_as_int(1.0f / s) + places));
}

template <int ELEM>
unsigned nearest_of(float z) {
  uint32_t code[8] = {quick_nearest<ELEM>(z)};
  const uint32_t sign[8] = {0};
  if (ELEM == UFP4_ELEM_INT4) return (quick_pack_shifted(code, 1) & 15);
  constexpr int place = ELEM == UFP4_ELEM_E2M1 ? QUICK_IN_TOP : QUICK_IN_BYTE_0;
  return quick_pack<ELEM, place, false>(code, sign, 1) & 15;
}

}  // namespace

extern "C" {
__attribute__((visibility("default"))) extern const emulated_quick_t emulated_quick;
const emulated_quick_t emulated_quick = {
    [](float x, float s, int places) { return quick_quotient(x, one_over(s, places)); },
    [](int elem, float x, float s, int places) {
      const float z = quick_quotient(x, one_over(s, places));
      if (elem == UFP4_ELEM_E2M1) return nearest_of<UFP4_ELEM_E2M1>(z);
      if (elem == UFP4_ELEM_E1M2) return nearest_of<UFP4_ELEM_E1M2>(z);
      return nearest_of<UFP4_ELEM_INT4>(z);
    },
    [](int elem, float x, float s, int places, unsigned byte) {
      const quick_reciprocal_t by = one_over(s, places);
      if (elem == UFP4_ELEM_E2M1) return quick_drawn_e2m1(quick_quotient(x, by), ~byte, 0) >> 22;
      return quick_drawn_uniform(x, quick_below(by), ~byte, 0) >> 16 & 127;
    },
    [](int elem, float scaled, int up) {
      const float y = elem == UFP4_ELEM_E2M1 ? quick_share<UFP4_ELEM_E2M1>(scaled)
                                             : quick_share<UFP4_ELEM_E1M2>(scaled);
      return y > E4M3_MAX ? -1 : (int)(up ? quick_e4m3_up(y) : quick_e4m3_nearest(y));
    },
    [](int32_t y) { return quick_odd((uint32_t)y, 1); },
};
}
