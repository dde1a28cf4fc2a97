// SPDX-License-Identifier: Apache-2.0
// ufp4_cuda_record: what a GPU computes and how fast, as a file that any machine can check against
// the golden model.
//   ufp4_cuda_record -o FILE [--quick] [--way NAME] [--size N]
//     runs every case and the figures on the GPU, and writes FILE; or the smaller cases; or
//     those of one way of a kernel (cases_way), or with the name none the figures alone
//   ufp4_cuda_record --fuzz SECONDS [--seed N] [--case N]
//     compares cases that the seed draws with the golden model, on one core, until the time is up,
//     or that one alone
//   ufp4_cuda_record --ways
//     prints the names of ways
//   ufp4_cuda_record --check FILE
//     computes the same cases on the CPU and compares the hashes
// Needs nothing but the golden model and libufp4_cuda.so.
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/threads.h"
#include "cases.h"
#include "measure.h"

#define MAGIC "ufp4-cuda-record 1"
enum { EXIT_MISMATCH = 1, EXIT_USAGE = 2, EXIT_DEVICE = 3 };

typedef struct {
  const char *output, *check, *way;
  int quick;
  int64_t size;
  double fuzz;  ///< seconds
  uint64_t seed;
  int64_t one;  ///< the only case of fuzz, or -1
} choices_t;

static int fail(int status, const char *what) {
  fprintf(stderr, "ufp4_cuda_record: %s\n", what);
  return status;
}

// --- Writing ------------------------------------------------------------------------------------

// The running case, or another activity: a kernel that fails or never ends is named by nothing
// else.
static char at[64];

static void say_where(void) {
  if (at[0] == '\0') return;
  static const char words[] = "ufp4_cuda_record: ended in ";
  ssize_t written = write(STDERR_FILENO, words, sizeof words - 1);
  written += write(STDERR_FILENO, at, strlen(at));
  written += write(STDERR_FILENO, "\n", 1);
  (void)written;
}

static void end(int signal) {
  (void)signal;
  say_where();
  _exit(EXIT_DEVICE);
}

#define NO_WAY "none"
/** A line that starts with this text says why the record lacks the cases of contract nv. */
#define NO_NV "skipped " CASES_NV ": "

static int is_wanted(int n, int quick, const char *way, int has_nv) {
  const char *own = cases_way(n);
  return (!quick || cases_is_quick(n)) && (way == NULL || strcmp(own, way) == 0) &&
         (has_nv || strcmp(own, CASES_NV) != 0);
}

static int way_cases(int quick, const char *way, int has_nv) {
  const int all = cases_count();
  int count = 0;
  for (int n = 0; n < all; n++) count += is_wanted(n, quick, way, has_nv);
  return count;
}

static int gpu_has_nv(const ufp4_backend_state_t *state) {
  ufp4_cuda_description_t gpu;
  ufp4_cuda_describe(state, &gpu);
  return gpu.no_nv[0] == '\0';
}

/** Prints each name once, at its first case. */
static int print_ways(void) {
  const char *seen[32];
  const int all = cases_count();
  int count = 0;
  for (int n = 0; n < all; n++) {
    const char *way = cases_way(n);
    int i = 0;
    while (i < count && strcmp(seen[i], way) != 0) i++;
    if (i == count && count < 32) seen[count++] = way;
  }
  for (int i = 0; i < count; i++) puts(seen[i]);
  return 0;
}

static void write_device(FILE *file, const ufp4_backend_state_t *state, int argc, char **argv) {
  ufp4_cuda_description_t gpu;
  ufp4_cuda_describe(state, &gpu);
  fprintf(file, "%s\ndevice %s\ncapability %d.%d\nmultiprocessors %d\nmemory_bytes %lld\n", MAGIC,
          gpu.name, gpu.major, gpu.minor, gpu.multiprocessors, (long long)gpu.memory_bytes);
  fprintf(file, "driver_cuda %d.%d\nbuilt_cuda %d.%d\nversion %d.%d.%d\ncommand ufp4_cuda_record",
          gpu.driver_version / 1000, gpu.driver_version % 1000 / 10, gpu.runtime_version / 1000,
          gpu.runtime_version % 1000 / 10, UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR,
          UFP4_VERSION_PATCH);
  for (int i = 1; i < argc; i++) fprintf(file, " %s", argv[i]);
  fprintf(file, "\nkernels %s\n", gpu.kernels);
  if (gpu.no_nv[0] != '\0') fprintf(file, NO_NV "%s\n", gpu.no_nv);
}

static ufp4_status_t write_hashes(FILE *file, const choices_t *choices, const engine_t *engine) {
  for (int n = 0; n < cases_count(); n++) {
    uint64_t hash;
    if (!is_wanted(n, choices->quick, choices->way, engine->has_nv)) continue;
    ufp4_status_t status = cases_run(n, engine, at, &hash);
    if (status != UFP4_OK) return status;
    fprintf(file, "hash %d %s %016llx\n", n, at, (unsigned long long)hash);
  }
  return UFP4_OK;
}

static void write_figure(void *argument, const ufp4_cuda_figure_t *f) {
  fprintf(argument, "figure %s %lld %lld %lld %.4f ms %.3f %s", f->name, (long long)f->m,
          (long long)f->n, (long long)f->k, f->milliseconds, f->rate, f->unit);
  if (f->against != NULL)
    fprintf(argument, " against %s %.3f ratio %.3f", f->against, f->against_rate, f->ratio);
  fputc('\n', (FILE *)argument);
}

static ufp4_status_t write_distances(FILE *file, int64_t size, ufp4_message_t *message) {
  ufp4_cuda_distance_t distances[UFP4_CUDA_DISTANCES];
  ufp4_status_t status = ufp4_cuda_vendor_distances(size, message, distances);
  for (int i = 0; i < UFP4_CUDA_DISTANCES && status == UFP4_OK; i++) {
    const ufp4_cuda_distance_t *x = &distances[i];
    if (x->skipped[0] != '\0') {
      fprintf(file, "distance %s skipped: %s\n", x->name, x->skipped);
    } else {
      fprintf(file, "distance %s %lld unequal %.3f %% largest %.3e mean %.3e\n", x->name,
              (long long)x->size, x->unequal_percent, x->largest, x->mean);
    }
  }
  return status;
}

static ufp4_status_t open_gpu(ufp4_message_t *message, ufp4_backend_state_t **state) {
  static const ufp4_configuration_t configurations[] = UFP4_CONFIGURATIONS;
  const ufp4_device_options_t options = {.memory_bytes = 1 << 20};
  return ufp4_backend_cuda.open(&options, &configurations[0], message, state);
}

static ufp4_status_t record(FILE *file, const choices_t *choices, int argc, char **argv,
                            ufp4_message_t *message) {
  engine_t engine = {.threads = threads_asked(0)};
  ufp4_status_t status = open_gpu(message, &engine.state);
  if (status != UFP4_OK) return status;
  engine.has_nv = gpu_has_nv(engine.state);
  write_device(file, engine.state, argc, argv);
  if (choices->way != NULL)
    fprintf(file, "way %s %s\n", choices->way, choices->quick ? "quick" : "all");
  status = write_hashes(file, choices, &engine);
  ufp4_backend_cuda.close(engine.state);
  if (status == UFP4_OK && choices->size != 0) {
    snprintf(at, sizeof at, "the figures");
    status = ufp4_cuda_measure(choices->size, message, write_figure, file);
    if (status == UFP4_OK)
      status = write_distances(file, choices->size < 4096 ? choices->size : 4096, message);
  }
  return status;
}

static int write_record(const choices_t *choices, int argc, char **argv) {
  char beside[4096];
  ufp4_message_t message = {0};
  snprintf(beside, sizeof beside, "%s.part", choices->output);
  FILE *file = fopen(beside, "w");
  if (file == NULL) return fail(EXIT_USAGE, "the output cannot be written");
  setvbuf(file, NULL, _IOLBF, BUFSIZ);  // so that FILE.part keeps the lines if a kernel hangs
  signal(SIGTERM, end);
  ufp4_status_t status = record(file, choices, argc, argv, &message);
  const int whole = fclose(file) == 0;
  if (status == UFP4_OK && whole && rename(beside, choices->output) == 0) return 0;
  unlink(beside);
  say_where();
  return fail(EXIT_DEVICE, message.text[0] != '\0' ? message.text : ufp4_status_string(status));
}

// --- Checking -----------------------------------------------------------------------------------

/** Checks one line. @return 1 if it is a correct hash, 0 if it is no hash, -1 if it is wrong. */
static int check_line(const char *line) {
  const engine_t golden = {.threads = threads_asked(0)};
  int n;
  char name[64], own_name[64];
  unsigned long long want;
  uint64_t got = 0;
  if (strncmp(line, "hash ", 5) != 0) return 0;
  if (sscanf(line, "hash %d %63s %llx", &n, name, &want) != 3 || n < 0 || n >= cases_count()) {
    fprintf(stderr, "not a case: %s", line);
    return -1;
  }
  if (cases_run(n, &golden, own_name, &got) == UFP4_OK && strcmp(name, own_name) == 0 &&
      got == want)
    return 1;
  fprintf(stderr, "case %d %s: recorded %016llx, golden model %016llx (%s)\n", n, name, want,
          (unsigned long long)got, own_name);
  return -1;
}

static int check_record(const char *path) {
  char line[512], way[32], size[8];
  int right = 0, wrong = 0, fewest = cases_fewest(), has_nv = 1;
  FILE *file = fopen(path, "r");
  if (file == NULL) return fail(EXIT_USAGE, "the record cannot be read");
  if (fgets(line, sizeof line, file) == NULL || strcmp(line, MAGIC "\n") != 0) {
    fclose(file);
    return fail(EXIT_USAGE, "the file is no record: its first line should be " MAGIC);
  }
  while (fgets(line, sizeof line, file) != NULL) {
    if (strncmp(line, NO_NV, strlen(NO_NV)) == 0) has_nv = 0;
    if (sscanf(line, "way %31s %7s", way, size) == 2)
      fewest = way_cases(strcmp(size, "quick") == 0, way, has_nv);
    const int what = check_line(line);
    right += what > 0;
    wrong += what < 0;
  }
  fclose(file);
  printf("%s: %d hashes equal the golden model's, %d differ\n", path, right, wrong);
  return wrong != 0 || right < fewest ? EXIT_MISMATCH : 0;
}

// --- Fuzzing ------------------------------------------------------------------------------------

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int fuzz(const choices_t *choices) {
  engine_t golden = {.threads = 1}, gpu = {.threads = 1};
  ufp4_message_t message = {0};
  unsigned long long count = 0, wrong = 0;
  const uint64_t first = choices->one < 0 ? 0 : (uint64_t)choices->one;
  const unsigned long long seed = choices->seed;
  ufp4_status_t status = open_gpu(&message, &gpu.state);
  if (status == UFP4_OK) golden.has_nv = gpu.has_nv = gpu_has_nv(gpu.state);
  signal(SIGTERM, end);
  const double begin = seconds();
  while (status == UFP4_OK && (choices->one < 0 ? seconds() - begin < choices->fuzz : count == 0)) {
    uint64_t got = 0, want = 0;
    const unsigned long long n = first + count;
    status = fuzz_run(seed, n, &gpu, at, &got);
    if (status == UFP4_OK) status = fuzz_run(seed, n, &golden, at, &want);
    count += status == UFP4_OK;
    if (status != UFP4_OK || got == want) continue;
    wrong++;
    fprintf(stderr, "seed %llu, case %llu %s: GPU %016llx, golden model %016llx\n", seed, n, at,
            (unsigned long long)got, (unsigned long long)want);
  }
  if (status != UFP4_OK) {
    say_where();
    return fail(EXIT_DEVICE, message.text[0] != '\0' ? message.text : ufp4_status_string(status));
  }
  ufp4_backend_cuda.close(gpu.state);
  printf("seed %llu: %llu cases equal the golden model's, %llu differ\n", seed, count - wrong,
         wrong);
  return wrong != 0 ? EXIT_MISMATCH : 0;
}

// --- Command ------------------------------------------------------------------------------------

/** @return 1 if @p text is a number from 0 to @p most and nothing else. */
static int number_of(const char *text, int64_t most, int64_t *out) {
  char *end = NULL;
  const long long value = strtoll(text, &end, 0);
  *out = value;
  return *text != '\0' && *end == '\0' && value >= 0 && value <= most;
}

static int usage(void) {
  return fail(
      EXIT_USAGE,
      "usage: ufp4_cuda_record -o FILE [--quick] [--way NAME] [--size N (0: no figures)], or "
      "--check FILE, or --fuzz SECONDS [--seed N] [--case N], or --ways");
}

int main(int argc, char **argv) {
  choices_t choices = {.size = -1, .one = -1};
  int64_t seed = -1;
  for (int i = 1; i < argc; i++) {
    const int more = i + 1 < argc;
    if (strcmp(argv[i], "--ways") == 0 && argc == 2) return print_ways();
    if (strcmp(argv[i], "--quick") == 0) {
      choices.quick = 1;
    } else if (strcmp(argv[i], "-o") == 0 && more) {
      choices.output = argv[++i];
    } else if (strcmp(argv[i], "--check") == 0 && more) {
      choices.check = argv[++i];
    } else if (strcmp(argv[i], "--way") == 0 && more) {
      choices.way = argv[++i];
    } else if (strcmp(argv[i], "--fuzz") == 0 && more) {
      choices.fuzz = atof(argv[++i]);
    } else if (strcmp(argv[i], "--seed") == 0 && more) {
      if (!number_of(argv[++i], INT64_MAX, &seed)) return usage();
    } else if (strcmp(argv[i], "--case") == 0 && more) {
      if (!number_of(argv[++i], INT64_MAX, &choices.one)) return usage();
    } else if (strcmp(argv[i], "--size") == 0 && more) {
      choices.size = atoll(argv[++i]);
    } else {
      return usage();
    }
  }
  if ((choices.output != NULL) + (choices.check != NULL) + (choices.fuzz > 0) != 1) return usage();
  const int drawn = seed >= 0 || choices.one >= 0;
  if (choices.fuzz > 0 ? choices.quick || choices.way != NULL || choices.size >= 0 : drawn)
    return usage();
  choices.seed = seed < 0 ? 0 : (uint64_t)seed;
  if (choices.fuzz > 0) return fuzz(&choices);
  if (choices.size < 0) choices.size = 8192;
  if (choices.way != NULL && strcmp(choices.way, NO_WAY) != 0 && way_cases(0, choices.way, 1) == 0)
    return fail(EXIT_USAGE, "--way: no such way; --ways prints them, and " NO_WAY " has no case");
  return choices.check != NULL ? check_record(choices.check) : write_record(&choices, argc, argv);
}
