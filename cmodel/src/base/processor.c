// SPDX-License-Identifier: Apache-2.0
#include "processor.h"

#include <string.h>

static const char *const names[UFP4_KERNEL_COUNT] = {
    [UFP4_KERNEL_FASTEST] = "fastest",
    [UFP4_KERNEL_PORTABLE] = "portable",
    [UFP4_KERNEL_AVX2] = "avx2",
    [UFP4_KERNEL_AVX512] = "avx512",
};

const char *ufp4_kernel_name(ufp4_kernel_t kernel) {
  return (unsigned)kernel < UFP4_KERNEL_COUNT ? names[kernel] : NULL;
}

ufp4_status_t ufp4_kernel_named(const char *name, ufp4_kernel_t *out) {
  for (int i = 0; i < UFP4_KERNEL_COUNT; i++) {
    if (strcmp(name, names[i]) != 0) continue;
    *out = (ufp4_kernel_t)i;
    return UFP4_OK;
  }
  return UFP4_ERROR_ARGUMENT;
}

#if defined(__x86_64__) && defined(__GNUC__)

static int have_avx512(void) {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vnni");
}

int ufp4_kernel_available(ufp4_kernel_t kernel) {
  switch (kernel) {
    case UFP4_KERNEL_FASTEST:
    case UFP4_KERNEL_PORTABLE:
      return 1;
    case UFP4_KERNEL_AVX2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case UFP4_KERNEL_AVX512:
      return have_avx512();
    default:
      return 0;
  }
}

#else

int ufp4_kernel_available(ufp4_kernel_t kernel) {
  return kernel == UFP4_KERNEL_FASTEST || kernel == UFP4_KERNEL_PORTABLE;
}

#endif

ufp4_kernel_t ufp4_kernel_chosen(ufp4_kernel_t asked) {
  if (asked != UFP4_KERNEL_FASTEST) return asked;
  if (ufp4_kernel_available(UFP4_KERNEL_AVX512)) return UFP4_KERNEL_AVX512;
  return ufp4_kernel_available(UFP4_KERNEL_AVX2) ? UFP4_KERNEL_AVX2 : UFP4_KERNEL_PORTABLE;
}
