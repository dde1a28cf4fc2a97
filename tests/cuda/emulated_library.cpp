// SPDX-License-Identifier: Apache-2.0
// The library of the backend cuda for a CPU: the same source, on the emulated GPU.
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
thread_local int device;

namespace {

std::set<cudaStream_t> captured;
std::map<cudaStream_t, std::vector<std::function<void()>>> kept;

}  // namespace

void queue(cudaStream_t stream, const std::function<void()> &work) {
  {
    const std::lock_guard<std::mutex> lock(counting);
    counts.works++;
    counts.works_on_default += stream == nullptr;
    counts.works_on_gpu_1 += device == 1;
    if (captured.count(stream) != 0) {
      kept[stream].push_back(work);
      return;
    }
  }
  if (emulated::weather.restless) std::this_thread::sleep_for(std::chrono::microseconds(200));
  work();
}

}  // namespace emulated

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
