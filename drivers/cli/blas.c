// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // dlmopen
#include "blas.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// Of cblas.h, which need not be installed where the library is.
enum { ROW_MAJOR = 101, NO_TRANS = 111, TRANS = 112 };

#define TRIAL_SIZE 768
#define TRIALS 7

static const char *const cores[] = {"HASWELL", "ZEN", "SKYLAKEX", "COOPERLAKE", "SAPPHIRERAPIDS"};
#define CORES (sizeof cores / sizeof cores[0])

static int resolve(blas_t *blas, void *library, int threads) {
  blas->library = library;
  if (library == NULL) return 0;
  // POSIX, not C, lets a data pointer become a function pointer.
  char *(*core_name)(void);
  void (*set_threads)(int);
  *(void **)&core_name = dlsym(blas->library, "openblas_get_corename");
  *(void **)&set_threads = dlsym(blas->library, "openblas_set_num_threads");
  *(void **)&blas->sgemm = dlsym(blas->library, "cblas_sgemm");
  if (core_name == NULL || set_threads == NULL || blas->sgemm == NULL) {
    blas_close(blas);
    return 0;
  }
  set_threads(threads);
  snprintf(blas->core, sizeof blas->core, "%s", core_name());
  return 1;
}

static int load(blas_t *blas, int threads) {
  return resolve(blas, dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL), threads);
}

void blas_close(blas_t *blas) {
  if (blas->library != NULL) dlclose(blas->library);
  blas->library = NULL;
}

void blas_multiply(const blas_t *blas, int n, const float *a, const float *b, float *c) {
  blas->sgemm(ROW_MAJOR, NO_TRANS, TRANS, n, n, n, 1, a, n, b, n, 0, c, n);
}

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

// The best time of a few multiplications, or a negative number.
static double time_kernel(const blas_t *blas) {
  const size_t count = (size_t)TRIAL_SIZE * TRIAL_SIZE;
  float *matrices = calloc(3 * count, sizeof *matrices);
  double best = -1;
  if (matrices == NULL) return best;
  for (size_t i = 0; i < 2 * count; i++) matrices[i] = (float)(i % 7) - 3;
  for (int i = 0; i < TRIALS; i++) {
    double start = cpu_seconds();
    blas_multiply(blas, TRIAL_SIZE, matrices, matrices + count, matrices + 2 * count);
    double seconds = cpu_seconds() - start;
    if (best < 0 || seconds < best) best = seconds;
  }
  free(matrices);
  return best;
}

// In the child: a kernel that this processor cannot run may end the process, and the library may complain.
static void report_trial(const char *core, int to) {
  blas_t blas = {0};
  int quiet = open("/dev/null", O_WRONLY);
  if (quiet >= 0) (void)dup2(quiet, STDERR_FILENO);
  double seconds = -1;
  if (setenv("OPENBLAS_CORETYPE", core, 1) == 0 && load(&blas, 1)) seconds = time_kernel(&blas);
  _exit(write(to, &seconds, sizeof seconds) == (ssize_t)sizeof seconds ? 0 : 1);
}

static double try_core(const char *core) {
  int ends[2];
  double seconds = -1;
  if (pipe(ends) != 0) return seconds;
  pid_t child = fork();
  if (child == 0) report_trial(core, ends[1]);
  close(ends[1]);
  if (child < 0 || read(ends[0], &seconds, sizeof seconds) != (ssize_t)sizeof seconds) seconds = -1;
  close(ends[0]);
  if (child > 0) (void)waitpid(child, NULL, 0);
  return seconds;
}

int blas_open(blas_t *blas, int threads) {
  const char *fastest = NULL;
  double best = 0;
  for (size_t i = 0; i < CORES; i++) {
    double seconds = try_core(cores[i]);
    if (seconds > 0 && (fastest == NULL || seconds < best)) {
      fastest = cores[i];
      best = seconds;
    }
  }
  *blas = (blas_t){0};
  if (fastest != NULL) (void)setenv("OPENBLAS_CORETYPE", fastest, 1);
  // Its threads would keep the cores busy long after their work is done, while others are timed.
  (void)setenv("OPENBLAS_THREAD_TIMEOUT", "4", 1);
  return load(blas, threads);
}

int blas_open_core(blas_t *blas, const char *core, int threads) {
  *blas = (blas_t){0};
#ifdef LM_ID_NEWLM
  (void)setenv("OPENBLAS_CORETYPE", core, 1);
  if (resolve(blas, dlmopen(LM_ID_NEWLM, "libopenblas.so.0", RTLD_NOW | RTLD_LOCAL), threads) &&
      strcasecmp(blas->core, core) == 0) {
    return 1;
  }
  blas_close(blas);
#else
  (void)core;
  (void)threads;
#endif
  return 0;
}
