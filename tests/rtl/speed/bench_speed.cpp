// SPDX-License-Identifier: Apache-2.0
// Measures the simulation speed of the core of configuration default on a GEMM of 512 x 512 x 512,
// and of its array alone: the same PEs and lanes, Verilated without anything around them and fed
// one block per cycle. The two alternate, in CPU time of this thread; prints both speeds and the
// median of their ratios.
#include <Vufp4_array.h>
#include <time.h>
#include <ufp4.h>
#include <verilated.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

namespace {

constexpr int64_t kSize = 512;
constexpr double kMacs = double(kSize) * kSize * kSize;
constexpr ufp4_configuration_t kCores[] = UFP4_CONFIGURATIONS;

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

const ufp4_configuration_t &default_core() {
  for (const auto &core : kCores) {
    if (std::strcmp(core.name, "default") == 0) return core;
  }
  std::abort();
}

template <typename T>
void put(T &port, uint32_t value) {
  port = static_cast<T>(value);
}

// --- The array alone ----------------------------------------------------------------------------

class Array {
 public:
  Array() : model_(&context_, "array") {
    model_.rst_ni = 0;
    model_.elem_a_i = model_.elem_b_i = UFP4_ELEM_E1M2;
    for (int i = 0; i < 8; i++) cycle();
    model_.rst_ni = 1;
    fill();
  }

  // A model must leave the context of the thread, which is that of the last core at work.
  ~Array() {
    Verilated::threadContextp(&context_);
  }

  // Runs as many cycles as the GEMM has blocks per PE; returns CPU seconds per MAC.
  double run() {
    const auto &core = default_core();
    const auto cycles = int64_t(kMacs / 16 / core.rows / core.cols);
    const double start = cpu_seconds();
    for (int64_t i = 0; i < cycles; i++) feed(uint32_t(i), core);
    return (cpu_seconds() - start) / kMacs;
  }

 private:
  void cycle() {
    model_.clk_i = 0;
    model_.eval();
    model_.clk_i = 1;
    model_.eval();
  }

  // Writes every word of every operand memory.
  void fill() {
    std::mt19937 random(1);
    const auto &core = default_core();
    // Unused bits of a port must be zero.
    write_all((1u << 8 * core.rows / core.bus_bytes) - 1);
    for (uint32_t word = 0; word < 2 * core.tile_rows * core.chunk; word++) {
      for (auto &part : model_.write_data_i.m_storage) part = uint32_t(random());
      model_.write_scales_i =
          (uint64_t(random()) << 32 | random()) & 0xBFBFBFBFBFBFBFBF;  // of moderate size
      put(model_.waddr_a_i, word);
      put(model_.waddr_b_i, word);
      cycle();
    }
    write_all(0);
  }

  void write_all(uint32_t sets) {
    put(model_.we_a_i, sets);
    put(model_.we_b_i, sets);
  }

  // The sequencer's order: the blocks of a chunk for one sub-tile, then the next sub-tile.
  void feed(uint32_t step, const ufp4_configuration_t &core) {
    const uint32_t block = step % core.chunk,
                   tile = step / core.chunk % (core.tile_rows * core.tile_cols);
    const uint32_t slot = step / core.chunk / (core.tile_rows * core.tile_cols) % 2;
    const uint32_t index_bits = 6;
    model_.feed_valid_i = model_.feed_first_i = model_.feed_last_i = 1;
    put(model_.feed_lanes_a_i, core.rows);
    put(model_.feed_lanes_b_i, core.cols);
    put(model_.feed_addr_a_i, (slot * core.tile_rows + tile / core.tile_cols) * core.chunk + block);
    put(model_.feed_addr_b_i, (slot * core.tile_cols + tile % core.tile_cols) * core.chunk + block);
    const uint32_t keep = block != 0, load = block == 0, write = block + 1 == core.chunk;
    put(model_.feed_control_i, (keep << 3 | load << 2 | write << 1) << index_bits | tile);
    cycle();
  }

  VerilatedContext context_;
  Vufp4_array model_;
};

// --- The core -----------------------------------------------------------------------------------

void must(ufp4_status_t status, const char *what) {
  if (status == UFP4_OK) return;
  std::fprintf(stderr, "bench_speed: %s: %s\n", what, ufp4_status_string(status));
  std::exit(3);
}

class Core {
 public:
  Core() {
    ufp4_device_options_t options = ufp4_device_options_default();
    options.mem_latency = 100;
    must(ufp4_device_open("rtl", &options, &device_), "rtl");
    ufp4_linear_shape_t shape{};
    shape.tokens = shape.cin = shape.cout = kSize;
    shape.passes = 1u << UFP4_PASS_FPROP;
    ufp4_recipe_t recipe;
    must(ufp4_recipe_named("ufp4", &recipe), "recipe");
    must(ufp4_linear_create(device_, &shape, &recipe, &linear_), "layer");
    std::mt19937 random(1);
    std::normal_distribution<float> gaussian;
    std::vector<float> values(size_t(kSize * kSize));
    for (auto role : {UFP4_ROLE_X, UFP4_ROLE_W}) {
      for (auto &value : values) value = gaussian(random);
      const ufp4_matrix_t matrix = {UFP4_DTYPE_F32, kSize, kSize, kSize, values.data()};
      must(ufp4_linear_load(linear_, role, &matrix, 0), "load");
    }
  }

  ~Core() {
    ufp4_linear_free(linear_);
    ufp4_device_close(device_);
  }

  // CPU seconds per MAC, including host and memory.
  double run() {
    static std::vector<float> d(size_t(kSize * kSize));
    const double start = cpu_seconds();
    must(ufp4_linear_run(linear_, UFP4_PASS_FPROP, d.data(), kSize, nullptr), "run");
    return (cpu_seconds() - start) / kMacs;
  }

 private:
  ufp4_device_t *device_ = nullptr;
  ufp4_linear_t *linear_ = nullptr;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main() {
  Array array;
  Core core;
  std::vector<double> alone, whole, ratios;
  for (int i = 0; i < 9; i++) {
    alone.push_back(array.run());
    whole.push_back(core.run());
    ratios.push_back(alone.back() / whole.back());
    std::printf("  %.0f %.0f %.2f\n", 1e-6 / alone.back(), 1e-6 / whole.back(), ratios.back());
    std::fflush(stdout);
  }
  std::printf("array alone %.0f M MAC/s, whole core %.0f M MAC/s, ratio %.2f\n",
              1e-6 / median(alone), 1e-6 / median(whole), median(ratios));
}
