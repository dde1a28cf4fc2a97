// SPDX-License-Identifier: Apache-2.0
// Tests the calls of ufp4_cuda.h from a program that links the GPU library (here the emulated one)
// and no driver: bits, side effects, threads, graphs, and refusals.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "legal.h"
#include "pair.h"
#include "ufp4/combination.h"

#define STREAM 0x1230

static int is_on_cuda(const ufp4_quantize_t *how) {
  return ufp4_combination_quantize(how, 0, "cuda", NULL) == UFP4_OK;
}

static unsigned flags_of(const placed_t *copy, uint32_t flags) {
  const unsigned own =
      copy->how.axis == UFP4_AXIS_ROW ? UFP4_FLAG_ROW_SATURATED : UFP4_FLAG_COL_SATURATED;
  return (flags & UFP4_FLAG_NAN) | (flags & own ? UFP4_FLAG_ROW_SATURATED : 0);
}

// Quantizes both copies with one call and compares them with the golden model's.
static void check_copies(engine_t *engine, const ufp4_matrix_t *in, placed_t copies[2],
                         const char *what) {
  uint32_t flags = ~0u;
  check_bits(0, engine_quantize(engine, in, copies, 2, &flags), UFP4_OK, "%s: %s", what,
             engine->message.text);
  for (int i = 0; i < 2; i++) {
    ufp4_operand_t want;
    check_bits(i, ufp4_quantize(in, &copies[i].how, &want), UFP4_OK, "%s: golden", what);
    placed_check(&copies[i], &want, what);
    // A NaN in one copy sets the flag for both, because the flag is the tensor's.
    check_bits(i, flags_of(&copies[i], flags) & ~(unsigned)UFP4_FLAG_NAN,
               want.flags & ~(unsigned)UFP4_FLAG_NAN, "%s: flags", what);
    check_that(i, !(want.flags & UFP4_FLAG_NAN) || (flags & UFP4_FLAG_NAN), "%s: NaN", what);
    ufp4_operand_free(&want);
  }
}

// Covers every combination that the tables give the backend cuda. The copies share one read of the
// tensor, or differ in their rounding and need two.
SLOW_TEST(quantize_equals_the_golden_model) {
  static const int shapes[][2] = {{1, 1}, {33, 70}, {130, 47}};
  check_random_t random = check_random();
  engine_t engine = engine_open(90, STREAM);
  int64_t cases = 0;
  for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
    ufp4_quantize_t how[2] = {legal_quantize_combination(n), legal_quantize_combination(n)};
    if (!is_on_cuda(&how[0])) continue;
    const int *shape = shapes[cases % 3];
    how[0].axis = (ufp4_axis_t)(cases / 3 % 2);
    how[1].axis = (ufp4_axis_t)!how[0].axis;
    how[1].tensor_id++;
    if (cases % 4 == 3) how[1].round = (ufp4_round_t)!how[1].round;
    if (cases % 5 == 4) {  // without a transform the signs are ignored
      how[1].rht = UFP4_RHT_NONE;
      how[1].rht_mask ^= 0x5A5A;
    }
    if (cases % 7 == 6) {  // one read serves copies with these differences too
      how[1].rht_mask ^= 0x1111;
      how[1].seed += 3;
    }
    if (how[0].scale == UFP4_SCALE_E4M3 && cases % 3 == 2) {
      how[0].exponent_given = 1;
      how[0].exponent = 5;
    }
    fixture_tensor_t tensor = fixture_tensor(
        &random, shape[0], shape[1], (fixture_distribution_t)(cases % FIXTURE_DISTRIBUTIONS),
        cases % 3 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16, UFP4_AXIS_ROW);
    placed_t copies[2];
    for (int i = 0; i < 2; i++) placed_create(&tensor.view, &how[i], &copies[i]);
    char what[80];
    snprintf(what, sizeof what, "combination %d, case %lld", n, (long long)cases);
    check_copies(&engine, &tensor.view, copies, what);
    for (int i = 0; i < 2; i++) placed_free(&copies[i]);
    fixture_tensor_free(&tensor);
    cases++;
  }
  check_that(0, cases > 100, "%lld cases", (long long)cases);
  engine_check_quiet("quantize");
  engine_close(&engine);
}

// --- Layers -------------------------------------------------------------------------------------

enum { TOKENS = 50, CIN = 70, COUT = 40 };

// A tensor of each role, its two copies, and the golden model's.
typedef struct {
  fixture_tensor_t tensors[UFP4_ROLE_COUNT];
  placed_t copies[UFP4_ROLE_COUNT][2];
  ufp4_recipe_t recipe;
} layer_t;

static layer_t *layer_create(check_random_t *random, const char *recipe) {
  static const int sizes[UFP4_ROLE_COUNT][2] = {{TOKENS, CIN}, {COUT, CIN}, {TOKENS, COUT}};
  layer_t *layer = calloc(1, sizeof *layer);
  if (layer == NULL || ufp4_recipe_named(recipe, &layer->recipe) != UFP4_OK) abort();
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    const int role = i / 2, axis = i % 2;
    fixture_tensor_t *tensor = &layer->tensors[role];
    if (axis == 0) {
      *tensor = fixture_tensor(random, sizes[role][0], sizes[role][1], FIXTURE_OUTLIERS,
                               UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    }
    ufp4_quantize_t how =
        ufp4_recipe_quantize(&layer->recipe, (ufp4_role_t)role, (ufp4_axis_t)axis);
    how.seed = 11;
    how.tensor_id = (uint64_t)i;
    placed_create(&tensor->view, &how, &layer->copies[role][axis]);
  }
  return layer;
}

static void layer_free(layer_t *layer) {
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) placed_free(&layer->copies[i / 2][i % 2]);
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) fixture_tensor_free(&layer->tensors[role]);
  free(layer);
}

static void layer_quantize(engine_t *engine, layer_t *layer) {
  for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
    check_bits(role,
               engine_quantize(engine, &layer->tensors[role].view, layer->copies[role], 2, NULL),
               UFP4_OK, "%s: %s", layer->recipe.name, engine->message.text);
  }
}

static ufp4_gemm_t layer_how(const layer_t *layer) {
  return (ufp4_gemm_t){.contract = layer->recipe.contract, .d_dtype = UFP4_DTYPE_F32, .alpha = 1};
}

enum { MOST = CIN * CIN };  // outputs of a pass; all sizes are at most CIN

static void layer_gemms(engine_t *engine, layer_t *layer, float d[UFP4_PASS_COUNT][MOST]) {
  const ufp4_gemm_t how = layer_how(layer);
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    const placed_t *a = &layer->copies[roles[0]][axes[0]], *b = &layer->copies[roles[1]][axes[1]];
    check_bits(pass, engine_gemm(engine, a, b, &how, d[pass], b->x.rows), UFP4_OK, "%s: %s",
               layer->recipe.name, engine->message.text);
  }
}

static void layer_check(const layer_t *layer, float d[UFP4_PASS_COUNT][MOST]) {
  ufp4_operand_t want[UFP4_ROLE_COUNT][2];
  const ufp4_gemm_t how = layer_how(layer);
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    const placed_t *copy = &layer->copies[i / 2][i % 2];
    check_bits(i, ufp4_quantize(&layer->tensors[i / 2].view, &copy->how, &want[i / 2][i % 2]),
               UFP4_OK, "golden");
    placed_check(copy, &want[i / 2][i % 2], layer->recipe.name);
  }
  for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) {
    float golden[MOST];
    ufp4_role_t roles[2];
    ufp4_axis_t axes[2];
    ufp4_pass_operands((ufp4_pass_t)pass, roles, axes);
    const ufp4_operand_t *a = &want[roles[0]][axes[0]], *b = &want[roles[1]][axes[1]];
    check_bits(pass, ufp4_gemm(a, b, &how, golden, b->rows), UFP4_OK, "golden");
    for (int64_t i = 0; i < a->rows * b->rows; i++) {
      if (!check_bits(i, ufp4_f32_bits(d[pass][i]), ufp4_f32_bits(golden[i]), "%s: pass %d",
                      layer->recipe.name, pass))
        break;
    }
  }
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) ufp4_operand_free(&want[i / 2][i % 2]);
}

static const char *const recipes[] = {"ufp4",  "e2m1",      "nvfp4",  "nvfp4-full",
                                      "mxfp4", "mxfp4-rht", "e2m1-46"};
#define RECIPES (sizeof recipes / sizeof recipes[0])

// Makes both copies of all three tensors and the three GEMMs from data on the device only, on GPUs
// of both kinds.
SLOW_TEST(layers_of_all_recipes_equal_the_golden_model) {
  check_random_t random = check_random();
  for (int capability = 80; capability <= 90; capability += 10) {
    engine_t engine = engine_open(capability, STREAM);
    for (size_t i = 0; i < RECIPES; i++) {
      static float d[UFP4_PASS_COUNT][MOST];
      layer_t *layer = layer_create(&random, recipes[i]);
      if (i == 0) layer->recipe.contract = UFP4_CONTRACT_FP32;
      layer_quantize(&engine, layer);
      layer_gemms(&engine, layer, d);
      engine_check_quiet(recipes[i]);
      layer_check(layer, d);
      layer_free(layer);
    }
    engine_close(&engine);
  }
}

// Covers every pair of elements, scale and contract; alpha, C and sums, D in all types, rows with
// gaps.
SLOW_TEST(gemm_equals_the_golden_model) {
  check_random_t random = check_random();
  engine_t engine = engine_open(90, STREAM);
  enum { M = 20, N = 30, LD = 33 };
  static float c[M * LD];
  static int64_t sums[M * LD], got[M * LD], want[M * LD];
  for (int i = 0; i < M * LD; i++) {
    c[i] = ufp4_f32_value(fixture_number(&random, FIXTURE_WILD));
    sums[i] = (int64_t)check_next(&random) >> 20;
  }
  for (int n = 0; n < LEGAL_GEMM_COUNT; n++) {
    const legal_gemm_t what = legal_gemm_combination(n);
    if (what.contract == UFP4_CONTRACT_NV ||  // test_nv.c tests it
        ufp4_combination_gemm(what.a, what.b, what.scale, what.contract, "cuda", NULL) != UFP4_OK)
      continue;
    pair_t p = pair_random(&random, n, (const int[3]){M, N, 70}, FIXTURE_SCALES_NAN);
    pair_set_level(&p, n % 7, -n % 5);
    const int exact = what.contract == UFP4_CONTRACT_EXACT, i64 = exact && n % 4 == 0;
    ufp4_gemm_t how = pair_plain(&p, i64     ? UFP4_DTYPE_I64
                                     : n % 3 ? UFP4_DTYPE_F32
                                             : UFP4_DTYPE_BF16);
    how.c_ld = how.accumulate_ld = LD;
    if (exact && n % 2) how.accumulate = sums;
    if (!i64 && n % 3 == 1) how.c = c, how.alpha = 0.7f;
    // The operands look as a quantizer would have left them.
    placed_t sides[2];
    const ufp4_operand_t *golden[2] = {&p.a, &p.b};
    for (int s = 0; s < 2; s++) {
      const ufp4_matrix_t like = {UFP4_DTYPE_F32, golden[s]->rows, 70, 70, NULL};
      const ufp4_quantize_t made = {.elem = golden[s]->elem, .scale = golden[s]->scale};
      placed_create(&like, &made, &sides[s]);
      memcpy(sides[s].x.codes, golden[s]->codes, (size_t)(golden[s]->rows * golden[s]->blocks) * 8);
      for (int64_t i = 0; i < golden[s]->rows * golden[s]->blocks; i++) {
        const int64_t from = i / golden[s]->blocks * golden[s]->scale_blocks +
                             i % golden[s]->blocks / (golden[s]->block / 16);
        if (golden[s]->scales_f32 != NULL)
          ((float *)sides[s].x.scales)[i] = golden[s]->scales_f32[from];
        else
          ((uint8_t *)sides[s].x.scales)[i] = golden[s]->scales[from];
      }
      sides[s].exponent = golden[s]->exponent;
      sides[s].tensor_scale = golden[s]->tensor_scale;
    }
    memset(got, 0xA5, sizeof got);
    memset(want, 0xA5, sizeof want);
    check_bits(n, ufp4_gemm(&p.a, &p.b, &how, want, LD), UFP4_OK, "golden");
    check_bits(n, engine_gemm(&engine, &sides[0], &sides[1], &how, got, LD), UFP4_OK, "%s",
               engine.message.text);
    check_that(n, memcmp(got, want, sizeof got) == 0, "combination %d: D differs", n);
    for (int s = 0; s < 2; s++) placed_free(&sides[s]);
    pair_free(&p);
  }
  engine_check_quiet("gemm");
  engine_close(&engine);
}

// A separate call runs AMAX, and the quantizer uses its results.
TEST(amax_leaves_what_the_quantizer_takes) {
  check_random_t random = check_random();
  engine_t engine = engine_open(90, STREAM);
  for (int n = 0; n < 2; n++) {
    fixture_tensor_t tensor =
        fixture_tensor(&random, 40, 100, FIXTURE_OUTLIERS, UFP4_DTYPE_F32, UFP4_AXIS_ROW);
    placed_t copies[2];
    ufp4_operand_t want[2];
    uint32_t flags = ~0u;
    for (int i = 0; i < 2; i++) {
      const ufp4_quantize_t how = {.elem = UFP4_ELEM_E2M1,
                                   .scale = n ? UFP4_SCALE_NVFP4 : UFP4_SCALE_E4M3,
                                   .axis = (ufp4_axis_t)i};
      check_bits(i, ufp4_quantize(&tensor.view, &how, &want[i]), UFP4_OK, "golden");
      placed_create(&tensor.view, &how, &copies[i]);
    }
    check_bits(n, engine_amax(&engine, &tensor.view, copies, 2, &flags), UFP4_OK, "amax");
    check_bits(n, flags, 0, "flags of AMAX");
    for (int i = 0; i < 2; i++) {
      if (n == 0) {
        check_bits(i, (uint64_t)copies[i].exponent, (uint64_t)want[i].exponent, "exponent");
      }
      copies[i].how.exponent_given = UFP4_CUDA_EXPONENT_STORED;
    }
    check_bits(n, engine_quantize(&engine, &tensor.view, copies, 2, NULL), UFP4_OK, "%s",
               engine.message.text);
    for (int i = 0; i < 2; i++) {
      placed_check(&copies[i], &want[i], "after AMAX");
      ufp4_operand_free(&want[i]);
      placed_free(&copies[i]);
    }
    fixture_tensor_free(&tensor);
  }
  engine_check_quiet("amax");
  engine_close(&engine);
}

// --- Graphs, threads, devices -------------------------------------------------------------------

// A layer is captured once, and replayed on its tensors before and after they change.
TEST(captured_layers_follow_the_data) {
  check_random_t random = check_random();
  for (size_t i = 0; i < RECIPES; i += 2) {
    static float d[UFP4_PASS_COUNT][MOST];
    engine_t engine = engine_open(90, STREAM);
    layer_t *layer = layer_create(&random, recipes[i]);
    emulated_capture(engine.stream);
    layer_quantize(&engine, layer);
    layer_gemms(&engine, layer, d);
    engine_check_quiet(recipes[i]);
    for (int turn = 0; turn < 2; turn++) {
      for (int role = 0; role < UFP4_ROLE_COUNT; role++) {
        fixture_tensor_t *tensor = &layer->tensors[role];
        const int64_t numbers = (tensor->rows - 1) * tensor->view.ld + tensor->cols;
        for (int64_t at = 0; turn == 1 && at < numbers; at += 7)
          tensor->storage[at] = fixture_number(&random, FIXTURE_GAUSSIAN);
      }
      emulated_replay(engine.stream);
      layer_check(layer, d);
    }
    layer_free(layer);
    engine_close(&engine);
  }
}

// Makes the golden model draw by the values that were in device memory during the calls.
static void layer_draws(layer_t *layer, const ufp4_cuda_random_t *random) {
  for (int i = 0; i < 2 * UFP4_ROLE_COUNT; i++) {
    ufp4_quantize_t *how = &layer->copies[i / 2][i % 2].how;
    how->seed = random->seed;
    how->tensor_id = (uint64_t)i + random->tensor_id;
    how->rht_mask = ufp4_recipe_mask(&layer->recipe, random->seed, random->step);
  }
}

// A training step is captured once. Each replay draws by the seed and step that are then in device
// memory, so that it gives the golden model's bits, and other bits each time.
static void check_training_step(check_random_t *random, const char *name, ufp4_signs_t signs) {
  static float d[2][UFP4_PASS_COUNT][MOST];
  // Draws by one seed twice, then by another seed, then in another step, which also changes the
  // tensor id.
  const ufp4_cuda_random_t draws[] = {
      {11, 0, 0}, {11, 0, 0}, {UINT64_C(0x1234567890ABCDEF), 0, 0}, {11, 5, UINT64_C(5) << 40}};
  engine_t engine = engine_open(90, STREAM);
  layer_t *layer = layer_create(random, name);
  ufp4_cuda_random_t now = {~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)};
  engine.random = &now;
  engine.signs = layer->recipe.signs = signs;
  emulated_capture(engine.stream);
  layer_quantize(&engine, layer);
  layer_gemms(&engine, layer, d[0]);
  engine_check_quiet(name);
  for (int turn = 0; turn < 4; turn++) {
    now = draws[turn];
    layer_draws(layer, &now);
    emulated_replay(engine.stream);
    layer_check(layer, d[0]);
    const int same = turn == 1;
    if (turn > 0)
      check_that(turn, (memcmp(d[0], d[1], sizeof d[0]) == 0) == same, "%s: replay %d", name, turn);
    if (turn == 0) memcpy(d[1], d[0], sizeof d[0]);
  }
  layer_free(layer);
  engine_close(&engine);
}

TEST(a_captured_training_step_draws_anew) {
  check_random_t random = check_random();
  check_training_step(&random, "ufp4", UFP4_SIGNS_FIXED);  // stochastic rounding of dY
  check_training_step(&random, "ufp4", UFP4_SIGNS_STEP);
  check_training_step(&random, "nvfp4-full", UFP4_SIGNS_STEP);  // the transform in BF16
  check_training_step(&random, "mxfp4-rht", UFP4_SIGNS_STEP);
}

// Any call may come first in a capture, because opening the GPU has loaded every kernel.
TEST(every_call_may_be_captured_first) {
  check_random_t random = check_random();
  for (int capability = 80; capability <= 90; capability += 10) {
    engine_t engine = engine_open(capability, STREAM);
    emulated_capture(engine.stream);
    for (int n = 0; n < LEGAL_QUANTIZE_COUNT; n++) {
      const ufp4_quantize_t how = legal_quantize_combination(n);
      if (!is_on_cuda(&how)) continue;
      fixture_tensor_t tensor = fixture_tensor(&random, 64, 130, FIXTURE_GAUSSIAN,
                                               n % 2 ? UFP4_DTYPE_F32 : UFP4_DTYPE_BF16, 0);
      placed_t copy;
      placed_create(&tensor.view, &how, &copy);
      check_bits(n, engine_quantize(&engine, &tensor.view, &copy, 1, NULL), UFP4_OK, "quantize");
      placed_free(&copy);
      fixture_tensor_free(&tensor);
    }
    for (size_t i = 0; i < RECIPES; i++) {
      static float d[UFP4_PASS_COUNT][MOST];
      layer_t *layer = layer_create(&random, recipes[i]);
      for (int contract = 0; contract < 2; contract++) {
        if (layer->recipe.scale == UFP4_SCALE_E4M3)
          layer->recipe.contract = contract ? UFP4_CONTRACT_FP32 : UFP4_CONTRACT_EXACT;
        layer_gemms(&engine, layer, d);
      }
      layer_free(layer);
    }
    engine_check_quiet("capture");
    engine_close(&engine);
    emulated_capture(engine.stream);  // drops the kept work
    emulated_replay(engine.stream);
  }
}

typedef struct {
  engine_t engine;
  layer_t *layer;
  float (*d)[MOST];
} worker_t;

static void *work(void *argument) {
  worker_t *worker = argument;
  for (int turn = 0; turn < 4; turn++) {
    layer_quantize(&worker->engine, worker->layer);
    layer_gemms(&worker->engine, worker->layer, worker->d);
  }
  return NULL;
}

// Two threads with streams and workspaces of their own share one ufp4_cuda_t.
TEST(two_threads_at_once_have_the_same_bits) {
  static float d[2][UFP4_PASS_COUNT][MOST];
  static const emulated_weather_t weather = {.capability = 90, .restless = 1};
  check_random_t random = check_random();
  worker_t workers[2];
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) {
    workers[i] = (worker_t){engine_open(90, (uintptr_t)(STREAM + i)),
                            layer_create(&random, recipes[i ? 2 : 0]), d[i]};
  }
  emulated_set_weather(&weather);
  ufp4_cuda_t *second = workers[1].engine.cuda;
  workers[1].engine.cuda = workers[0].engine.cuda;
  for (int i = 0; i < 2; i++)
    check_bits(i, (uint64_t)pthread_create(&threads[i], NULL, work, &workers[i]), 0, "thread");
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  engine_check_quiet("threads");
  workers[1].engine.cuda = second;
  for (int i = 0; i < 2; i++) {
    layer_check(workers[i].layer, d[i]);
    layer_free(workers[i].layer);
    engine_close(&workers[i].engine);
  }
}

// A handle for another GPU works there, whichever GPU the thread has set.
TEST(work_goes_to_the_gpu_that_was_opened) {
  check_random_t random = check_random();
  static float d[UFP4_PASS_COUNT][MOST];
  engine_t engine = engine_open(90, STREAM);
  emulated_counts_t counts;
  ufp4_cuda_close(engine.cuda);
  check_bits(0, ufp4_cuda_open(1, &engine.cuda, &engine.message), UFP4_OK, "the second GPU");
  layer_t *layer = layer_create(&random, "ufp4");
  emulated_counts_taken(&counts);
  layer_quantize(&engine, layer);
  layer_gemms(&engine, layer, d);
  emulated_counts_taken(&counts);
  check_bits(0, counts.works_on_gpu_1, counts.works, "work on the second GPU");
  layer_check(layer, d);
  layer_free(layer);
  engine_close(&engine);
  engine = engine_open(90, STREAM);
  layer = layer_create(&random, "ufp4");
  layer_quantize(&engine, layer);
  emulated_counts_taken(&counts);
  check_bits(0, counts.works_on_gpu_1, 0, "work on the second GPU after that");
  layer_free(layer);
  engine_close(&engine);
}
