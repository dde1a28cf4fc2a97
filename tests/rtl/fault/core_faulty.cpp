// SPDX-License-Identifier: Apache-2.0
// A core whose bits can be flipped, replacing sim/'s list of configurations: the Verilated model
// with public registers and memories (fault.vlt). A flip is made while the clock is low, and
// everything that depends on it settles.
#include <verilated.h>
#include <verilated_sym_props.h>
#include <verilated_syms.h>

#include <cstdio>
#include <cstring>
#include <memory>

#include "Vufp4_fault__Syms.h"
#include "core.h"
#include "fault.h"

namespace ufp4 {
std::unique_ptr<Core> make_core_fault(uint64_t seed);
}

namespace {

struct Plan {
  fault_sort_t *sort;
  int structure;
  uint64_t bit, cycles;
  bool every_word, waiting, done;
};

// These belong to the one core that there is at a time: the simulator's C interface has no way to
// it.
Plan plan;
VerilatedContext *context;
char flipped[256];

struct Memory {
  uint8_t *data;
  uint64_t words, word_bits, word_bytes;
};

Memory memory_of(const VerilatedVar &variable) {
  Memory memory = {static_cast<uint8_t *>(variable.datap()), 1,
                   static_cast<uint64_t>(variable.packed().elements()), variable.entSize()};
  if (variable.dims() == 2) memory.words = static_cast<uint64_t>(variable.unpacked().elements());
  return memory;
}

void flip(const VerilatedScope &scope, const char *name, const Memory &memory, uint64_t word,
          uint64_t bit) {
  memory.data[word * memory.word_bytes + bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
  std::snprintf(flipped, sizeof flipped, "%s.%s word %llu bit %llu", scope.name(), name,
                static_cast<unsigned long long>(word), static_cast<unsigned long long>(bit));
  static_cast<Vufp4_fault__Syms *>(scope.symsp())->__Vm_didInit = false;
}

/** Walks over all bits of a structure; flips one of them, unless there are fewer, or that bit of
   every word.
    @return their number. */
uint64_t walk(fault_sort_t *sort, int structure, uint64_t wanted, bool every_word) {
  uint64_t bits = 0;
  for (const auto &scope : *context->scopeNameMap()) {
    if (!scope.second->varsp()) continue;
    for (const auto &entry : *scope.second->varsp()) {
      if (sort(scope.second->name(), entry.first) != structure) continue;
      const Memory memory = memory_of(entry.second);
      const uint64_t size = memory.words * memory.word_bits;
      if (every_word) {
        const uint64_t bit = memory.word_bits - 1 - wanted % memory.word_bits;
        for (uint64_t word = 0; word < memory.words; word++) {
          flip(*scope.second, entry.first, memory, word, bit);
        }
      } else if (wanted >= bits && wanted - bits < size) {
        flip(*scope.second, entry.first, memory, (wanted - bits) / memory.word_bits,
             (wanted - bits) % memory.word_bits);
      }
      bits += size;
    }
  }
  return bits;
}

class FaultyCore final : public ufp4::Core {
 public:
  explicit FaultyCore(uint64_t seed) : core_(ufp4::make_core_fault(seed)) {
    pins = core_->pins;
    bus_bytes = core_->bus_bytes;
    context = Verilated::threadContextp();
    plan = Plan{};
  }

  void eval() override {
    core_->eval();
    const bool falling = clock_ && !*pins.clk;
    clock_ = *pins.clk;
    if (!falling || !plan.waiting) return;
    if (plan.cycles-- > 0) return;
    plan.waiting = false;
    plan.done = true;
    walk(plan.sort, plan.structure, plan.bit, plan.every_word);
    // Verilator's first evaluation settles everything; this is one more of that kind.
    core_->eval();
  }

  bool failed() const override {
    return core_->failed();
  }
  bool trace_open(const char *path) override {
    return core_->trace_open(path);
  }
  void trace_close() override {
    core_->trace_close();
  }
  void trace_dump(uint64_t time) override {
    core_->trace_dump(time);
  }

 private:
  std::unique_ptr<ufp4::Core> core_;
  bool clock_ = false;
};

}  // namespace

namespace ufp4 {

std::unique_ptr<Core> make_core(const char *, uint64_t seed) {
  return std::make_unique<FaultyCore>(seed);
}

bool has_core(const char *configuration) {
  return std::strcmp(configuration, "small") == 0;
}

}  // namespace ufp4

uint64_t fault_bits(fault_sort_t *sort, int structure) {
  return walk(sort, structure, UINT64_MAX, false);
}

void fault_plan(fault_sort_t *sort, int structure, uint64_t bit, uint64_t cycles) {
  plan = Plan{sort, structure, bit, cycles, false, true, false};
}

void fault_plan_words(fault_sort_t *sort, int structure, uint64_t bit, uint64_t cycles) {
  plan = Plan{sort, structure, bit, cycles, true, true, false};
}

int fault_done(void) {
  return plan.done;
}

const char *fault_name(void) {
  return flipped;
}
