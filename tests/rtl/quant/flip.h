// SPDX-License-Identifier: Apache-2.0
// Bits that flip in the memories of a Verilated engine: those that its .vlt file makes public.
// Tests only.
#ifndef UFP4_TEST_QUANT_FLIP_H
#define UFP4_TEST_QUANT_FLIP_H

#include <cctype>
#include <cstdint>
#include <string>

#include "verilated.h"
#include "verilated_sym_props.h"
#include "verilated_syms.h"

/** One bit of every word of a memory, or of one word, while a job runs. */
struct Flip {
  std::string memory;  ///< its path and name
  unsigned bit;        ///< modulo the width of its words
  uint64_t cycle;      ///< of the job
  int word = -1;       ///< -1: every one
};

/** Calls @p visit with the path of each memory, its name at the end, and the variable. */
template <typename Visit>
void each_memory(VerilatedContext &context, Visit visit) {
  for (const auto &scope : *context.scopeNameMap()) {
    if (!scope.second->varsp()) continue;
    for (const auto &entry : *scope.second->varsp()) {
      if (entry.second.dims() == 2)
        visit(std::string(scope.second->name()) + "." + entry.first, entry.second);
    }
  }
}

inline void flip_bits(VerilatedContext &context, const Flip &flip) {
  each_memory(context, [&](const std::string &path, const VerilatedVar &variable) {
    if (path != flip.memory) return;
    const unsigned bit = flip.bit % static_cast<unsigned>(variable.packed().elements());
    auto *byte = static_cast<uint8_t *>(variable.datap()) + bit / 8;
    for (int i = 0; i < variable.unpacked().elements(); i++, byte += variable.entSize()) {
      if (flip.word < 0 || flip.word == i) *byte = static_cast<uint8_t>(*byte ^ 1u << bit % 8);
    }
  });
}

/** The path of a memory without the indices that distinguish it from others of its kind. */
inline std::string kind_of_memory(const std::string &path) {
  std::string kind;
  for (const char c : path) {
    if (kind.empty() || kind.back() != '[' || !std::isdigit(static_cast<unsigned char>(c)))
      kind += c;
  }
  return kind;
}

#endif
