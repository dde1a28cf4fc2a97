// SPDX-License-Identifier: Apache-2.0
#include "waveforms.h"

thread_local unsigned waveforms_failed;

int waveforms_fclose(std::FILE *file) {
  const bool failed = std::ferror(file) != 0;
  const int closed = std::fclose(file);
  if (failed || closed != 0) waveforms_failed++;
  return closed;
}
