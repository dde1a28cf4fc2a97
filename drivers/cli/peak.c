// SPDX-License-Identifier: Apache-2.0
#include "peak.h"

#include <pthread.h>
#include <stddef.h>
#include <time.h>

#if defined(__x86_64__)

#define ROUNDS 20000
#define TRIALS 25
#define SHARE 50  // of a thread, in runs of ROUNDS

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// 12 independent ones, so that latency does not count.
#define TWELVE(op, v)                                                                                                \
  op v "0\n" op v "1\n" op v "2\n" op v "3\n" op v "4\n" op v "5\n" op v "6\n" op v "7\n" op v "8\n" op v "9\n" op v \
       "10\n" op v "11\n"

static void run_vpdpbusd(void) {
  for (int i = 0; i < ROUNDS; i++) {
    __asm__ volatile(TWELVE("vpdpbusd %%zmm14, %%zmm15, ", "%%zmm")::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11");
  }
}

static void run_vpmaddubsw(void) {
  for (int i = 0; i < ROUNDS; i++) {
    __asm__ volatile(TWELVE("vpmaddubsw %%ymm14, %%ymm15, ", "%%ymm")::
                         : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10",
                           "xmm11");
  }
}

static peak_t measure(const char *name, void (*run)(void), int macs) {
  double best = 1e9;
  for (int i = 0; i < TRIALS; i++) {
    double start = cpu_seconds();
    run();
    double seconds = cpu_seconds() - start;
    if (seconds < best) best = seconds;
  }
  return (peak_t){name, 12.0 * ROUNDS * macs / best};
}

int peak_measure(peak_t peaks[2]) {
  int count = 0;
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vnni")) peaks[count++] = measure("vpdpbusd_zmm", run_vpdpbusd, 64);
  if (__builtin_cpu_supports("avx2")) peaks[count++] = measure("vpmaddubsw_ymm", run_vpmaddubsw, 32);
  return count;
}

typedef struct {
  int vnni, runs;
} share_t;

static void *run_share(void *argument) {
  const share_t *share = argument;
  for (int i = 0; i < share->runs; i++) {
    if (share->vnni) {
      run_vpdpbusd();
    } else {
      run_vpmaddubsw();
    }
  }
  return NULL;
}

double peak_run(int threads, int times) {
  pthread_t second;
  __builtin_cpu_init();
  share_t share = {__builtin_cpu_supports("avx512vnni") != 0, SHARE * times};
  if (!share.vnni && !__builtin_cpu_supports("avx2")) return 0;
  if (threads == 2 && pthread_create(&second, NULL, run_share, &share) != 0) return 0;
  run_share(&share);
  if (threads == 2) pthread_join(second, NULL);
  return 12.0 * ROUNDS * share.runs * threads * (share.vnni ? 64 : 32);
}

#else

int peak_measure(peak_t peaks[2]) {
  (void)peaks;
  return 0;
}

double peak_run(int threads, int times) {
  (void)threads;
  (void)times;
  return 0;
}

#endif
