// SPDX-License-Identifier: Apache-2.0
#include "waveforms.h"

#include <cstdint>
#include <fstream>

namespace ufp4 {

namespace {

// Types of blocks (GTKWave's fstapi.h, fstBlockType): a header is written first, geometry and hierarchy at the end.
constexpr int kHeader = 0, kGeometry = 3, kHierarchy = 4, kHierarchyLz4 = 6, kHierarchyLz4Twice = 7, kTypes = 9;

// A block: its type in a byte, then its length in eight, highest first, which counts those eight.
bool read_block(std::ifstream &file, int *type, uint64_t *length) {
  unsigned char head[9];
  if (!file.read(reinterpret_cast<char *>(head), sizeof head)) return false;
  *type = head[0];
  *length = 0;
  for (int i = 1; i < 9; i++) *length = *length << 8 | head[i];
  return *length >= 8;
}

}  // namespace

bool waveforms_whole(const std::string &path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return false;
  const auto size = static_cast<uint64_t>(file.tellg());
  bool seen[kTypes] = {};
  for (uint64_t at = 0; at < size;) {
    int type;
    uint64_t length;
    file.seekg(static_cast<std::streamoff>(at));
    if (!read_block(file, &type, &length) || type >= kTypes || length > size - at - 1) return false;
    seen[type] = true;
    at += 1 + length;
  }
  return seen[kHeader] && seen[kGeometry] && (seen[kHierarchy] || seen[kHierarchyLz4] || seen[kHierarchyLz4Twice]);
}

}  // namespace ufp4
