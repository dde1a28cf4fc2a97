// SPDX-License-Identifier: Apache-2.0
// Tests the forward table: its rows measure the operands of a step, its losses use the same
// weights.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "train/study/forward.h"

enum { BF16, UFP4, E2M1, NVFP4, MXFP4, RECIPES };
enum { PER_LAYER = UFP4_FORWARD_LINES / UFP4_MATRIX_COUNT * UFP4_FORWARD_WAYS };

typedef struct {
  ufp4_text_t text;
  ufp4_device_t *device;
  ufp4_trainer_t *trainer;
  ufp4_recipe_t recipes[RECIPES];
  ufp4_forward_options_t options;
  ufp4_forward_t f;  // the results of measure()
} model_t;

// Trains for some steps in bf16.
static void start(model_t *m) {
  static const char *const names[RECIPES] = {"bf16", "ufp4", "e2m1", "nvfp4", "mxfp4"};
  ufp4_trainer_options_t options = fixture_options(8);
  double loss;
  *m = (model_t){.text = fixture_text(200000), .device = fixture_device(1)};
  for (int i = 0; i < RECIPES; i++)
    check_bits(i, ufp4_recipe_named(names[i], &m->recipes[i]), UFP4_OK, "%s", names[i]);
  m->options = (ufp4_forward_options_t){.recipes = m->recipes,
                                        .recipe_count = RECIPES,
                                        .tokens = INT64_MAX,
                                        .open = fixture_open,
                                        .workers = 1};
  m->trainer = fixture_trainer(&options, &m->text, m->device, "bf16");
  for (int i = 0; i < 4; i++)
    check_bits(i, ufp4_trainer_step(m->trainer, &loss), UFP4_OK, "step %d", i);
}

static void end(model_t *m) {
  ufp4_forward_free(&m->f);
  ufp4_trainer_free(m->trainer);
  ufp4_device_close(m->device);
  ufp4_text_free(&m->text);
}

static void measure(model_t *m) {
  ufp4_forward_free(&m->f);
  ufp4_status_t status = ufp4_forward_measure(m->trainer, &m->text, &m->options, &m->f);
  check_bits(0, status, UFP4_OK, "measure: %s", m->f.message.text);
}

// --- Operands -----------------------------------------------------------------------------------

static const ufp4_forward_row_t *row_of(const ufp4_forward_t *f, unsigned layer, ufp4_pass_t pass,
                                        ufp4_role_t role, ufp4_round_t round, ufp4_elem_t elem,
                                        int rht) {
  for (int64_t i = 0; i < f->row_count; i++) {
    const ufp4_forward_row_t *r = &f->rows[i];
    if (r->layer == layer && r->pass == pass && r->role == role && r->round == round &&
        r->elem == elem && r->rht == rht)
      return r;
  }
  check_that(0, 0, "no row of layer %u, pass %d, role %d", layer, pass, role);
  return f->rows;
}

// The measures of the operands that the test's own hook sees in one layer.
typedef struct {
  ufp4_rounding_t x_row, x_col, w_col, dy_col;
} seen_t;

enum { LAYER = UFP4_MATRIX_COUNT + UFP4_MATRIX_FC2 };

static ufp4_rounding_t measured(const ufp4_matrix_t *tensor, ufp4_quantize_t how) {
  ufp4_rounding_t out = {0};
  check_bits(0, ufp4_rounding_measure(tensor, &how, &out), UFP4_OK, "measure");
  return out;
}

static ufp4_status_t on_gemm(void *context, const ufp4_layer_event_t *e) {
  seen_t *seen = context;
  ufp4_quantize_t how = {.elem = UFP4_ELEM_E1M2, .scale = UFP4_SCALE_E4M3};
  ufp4_quantize_t turned = how, random = {.elem = UFP4_ELEM_E2M1,
                                          .scale = UFP4_SCALE_E4M3,
                                          .axis = UFP4_AXIS_COL,
                                          .round = UFP4_ROUND_SR,
                                          .scale_round = UFP4_SCALE_ROUND_UP,
                                          .seed = 3};
  turned.axis = UFP4_AXIS_COL;
  turned.rht = UFP4_RHT_INTEGER;
  turned.rht_mask = UFP4_RHT_DEFAULT_MASK;
  random.tensor_id = ufp4_tensor_id(4, LAYER, UFP4_ROLE_DY, UFP4_AXIS_COL);
  if (e->layer != LAYER) return UFP4_OK;
  if (e->pass == UFP4_PASS_FPROP) seen->x_row = measured(&e->x, how);
  if (e->pass == UFP4_PASS_DGRAD) seen->w_col = measured(&e->w, turned);
  if (e->pass == UFP4_PASS_WGRAD) seen->x_col = measured(&e->x, turned);
  if (e->pass == UFP4_PASS_WGRAD) seen->dy_col = measured(&e->dy, random);
  return UFP4_OK;
}

static void check_row(const ufp4_forward_row_t *row, const ufp4_rounding_t *want,
                      const char *what) {
  check_that(0, isfinite(want->sqnr_db) && !memcmp(&row->rounding, want, sizeof *want),
             "%s: got %.9g dB, kept %.9g, want %.9g dB, kept %.9g", what, row->rounding.sqnr_db,
             row->rounding.kept, want->sqnr_db, want->kept);
}

TEST(rows_are_of_the_next_step) {
  model_t m;
  seen_t seen = {0};
  start(&m);
  measure(&m);
  check_bits(0, ufp4_trainer_look(m.trainer, (ufp4_layer_hook_t){on_gemm, &seen}), UFP4_OK, "look");
  check_bits(1, (uint64_t)m.f.row_count, 2 * UFP4_MATRIX_COUNT * PER_LAYER, "rows");
  check_row(row_of(&m.f, LAYER, UFP4_PASS_FPROP, UFP4_ROLE_X, UFP4_ROUND_RNE, UFP4_ELEM_E1M2, 0),
            &seen.x_row, "X in FPROP");
  check_row(row_of(&m.f, LAYER, UFP4_PASS_DGRAD, UFP4_ROLE_W, UFP4_ROUND_RNE, UFP4_ELEM_E1M2, 1),
            &seen.w_col, "W in DGRAD, RHT");
  check_row(row_of(&m.f, LAYER, UFP4_PASS_WGRAD, UFP4_ROLE_X, UFP4_ROUND_RNE, UFP4_ELEM_E1M2, 1),
            &seen.x_col, "X in WGRAD, RHT");
  check_row(row_of(&m.f, LAYER, UFP4_PASS_WGRAD, UFP4_ROLE_DY, UFP4_ROUND_SR, UFP4_ELEM_E2M1, 0),
            &seen.dy_col, "dY in WGRAD, stochastic");
  end(&m);
}

TEST(looking_takes_no_step) {
  model_t m, other;
  double loss, want;
  start(&m), start(&other);
  measure(&m);
  check_bits(0, (uint64_t)ufp4_trainer_steps(m.trainer), 4, "steps");
  for (int i = 0; i < 2; i++) {
    ufp4_trainer_step(m.trainer, &loss);
    ufp4_trainer_step(other.trainer, &want);
    check_that(i, loss == want, "step %d: loss %.17g, want %.17g", i, loss, want);
  }
  end(&m), end(&other);
}

static double kept(const ufp4_forward_t *f, unsigned layer, ufp4_pass_t pass, ufp4_role_t role,
                   ufp4_elem_t elem, int rht) {
  ufp4_round_t round = role == UFP4_ROLE_DY ? UFP4_ROUND_SR : UFP4_ROUND_RNE;
  return row_of(f, layer, pass, role, round, elem, rht)->rounding.kept;
}

// The kept signal of a recipe with E4M3 scales is the product over its rows.
TEST(kept_signal_is_a_product_over_layers) {
  static const ufp4_role_t roles[UFP4_PASS_COUNT][2] = {
      {UFP4_ROLE_X, UFP4_ROLE_W}, {UFP4_ROLE_DY, UFP4_ROLE_W}, {UFP4_ROLE_DY, UFP4_ROLE_X}};
  model_t m;
  start(&m);
  measure(&m);
  for (int p = 0; p < UFP4_PASS_COUNT; p++) {
    double ufp4 = 1, e2m1 = 1;
    for (unsigned i = 0; i < 2 * 2 * UFP4_MATRIX_COUNT; i++) {
      ufp4 *= kept(&m.f, i / 2, (ufp4_pass_t)p, roles[p][i % 2], UFP4_ELEM_E1M2, 1);
      e2m1 *=
          kept(&m.f, i / 2, (ufp4_pass_t)p, roles[p][i % 2], UFP4_ELEM_E2M1, p == UFP4_PASS_WGRAD);
    }
    check_that(p, fabs(m.f.recipes[UFP4].kept[p] - ufp4) < 1e-12,
               "pass %d of ufp4: %.15g, want %.15g", p, m.f.recipes[UFP4].kept[p], ufp4);
    check_that(p, fabs(m.f.recipes[E2M1].kept[p] - e2m1) < 1e-12,
               "pass %d of e2m1: %.15g, want %.15g", p, m.f.recipes[E2M1].kept[p], e2m1);
    check_that(p, isnan(m.f.recipes[BF16].kept[p]), "bf16 is not quantized");
    check_that(p, m.f.recipes[NVFP4].kept[p] > .5 && m.f.recipes[MXFP4].kept[p] > .2,
               "nvfp4, mxfp4");
  }
  end(&m);
}

// A measure that does not apply to an element is NaN.
static int is_mean(double got, double a, double b, int has) {
  return has ? fabs(got - (a + b) / 2) < 1e-12 : isnan(got) && isnan(a) && isnan(b);
}

TEST(lines_are_means_over_blocks) {
  model_t m;
  ufp4_forward_line_t lines[UFP4_FORWARD_LINES];
  start(&m);
  measure(&m);
  ufp4_forward_lines(&m.f, lines);
  int found = 0;
  for (int i = 0; i < UFP4_FORWARD_LINES; i++) {
    const ufp4_forward_line_t *l = &lines[i];
    for (int way = 0; way < UFP4_FORWARD_WAYS; way++) {
      static const ufp4_elem_t elems[] = {UFP4_ELEM_E2M1, UFP4_ELEM_E1M2, UFP4_ELEM_MIXED};
      const ufp4_elem_t elem = elems[way / 2];
      const ufp4_rounding_t *a =
          &row_of(&m.f, l->matrix, l->pass, l->role, l->round, elem, way % 2)->rounding;
      const ufp4_rounding_t *b =
          &row_of(&m.f, UFP4_MATRIX_COUNT + l->matrix, l->pass, l->role, l->round, elem, way % 2)
               ->rounding;
      found += fabs(l->sqnr_db[way] - (a->sqnr_db + b->sqnr_db) / 2) < 1e-12 &&
               fabs(l->kept[way] - (a->kept + b->kept) / 2) < 1e-12 &&
               is_mean(l->bucket_ratio[way], a->bucket_ratio, b->bucket_ratio,
                       elem != UFP4_ELEM_MIXED) &&
               is_mean(l->uniform[way], a->uniform, b->uniform, elem == UFP4_ELEM_MIXED);
    }
  }
  check_bits(0, (uint64_t)found, UFP4_FORWARD_LINES * UFP4_FORWARD_WAYS, "means");
  end(&m);
}

// --- Losses -------------------------------------------------------------------------------------

static void count_batches(void *context, int64_t batches) {
  *(int64_t *)context += batches;
}

// The text is long enough for several pieces per recipe.
TEST(workers_do_not_show) {
  model_t m;
  int64_t batches = 0;
  start(&m);
  m.options.progress = count_batches;
  m.options.progress_context = &batches;
  measure(&m);
  ufp4_forward_t a = m.f;
  m.f = (ufp4_forward_t){0};
  check_bits(0, (uint64_t)batches, (uint64_t)(a.sequences / 4 * RECIPES), "batches");
  check_that(0, a.sequences > 2 * 32 * 4, "%lld sequences are one piece", (long long)a.sequences);
  m.options.workers = 3;
  measure(&m);
  const ufp4_forward_t b = m.f;
  check_that(1, !memcmp(a.rows, b.rows, (size_t)a.row_count * sizeof *a.rows), "rows");
  for (int i = 0; i < RECIPES; i++) {
    check_that(
        i, !memcmp(a.recipes[i].losses, b.recipes[i].losses, (size_t)a.sequences * sizeof(double)),
        "losses of recipe %d", i);
    check_that(i, !memcmp(a.recipes[i].kept, b.recipes[i].kept, sizeof a.recipes[i].kept),
               "kept signal of recipe %d", i);
  }
  ufp4_forward_free(&a);
  end(&m);
}

TEST(loss_is_the_held_out_loss) {
  model_t m;
  double held;
  int64_t tokens;
  start(&m);
  measure(&m);
  check_bits(0, ufp4_trainer_evaluate(m.trainer, INT64_MAX, &held, &tokens, NULL), UFP4_OK,
             "evaluate");
  check_that(0, fabs(m.f.recipes[BF16].loss - held) < 1e-12, "got %.15g, want %.15g",
             m.f.recipes[BF16].loss, held);
  check_bits(1, (uint64_t)m.f.tokens, (uint64_t)tokens, "tokens");
  for (int i = 1; i < RECIPES; i++)
    check_that(i, m.f.recipes[i].loss != held && fabs(m.f.recipes[i].loss - held) < .1,
               "loss of recipe %d: %g, of bf16 %g", i, m.f.recipes[i].loss, held);
  end(&m);
}

// Covers the mask that is drawn for the step, and requantization, which is not measured.
TEST(kept_signal_is_that_of_the_keys) {
  model_t m;
  start(&m);
  ufp4_recipe_t recipes[3];
  for (int i = 0; i < 3; i++) (void)ufp4_recipe_named("ufp4", &recipes[i]);
  recipes[1].signs = UFP4_SIGNS_STEP;
  recipes[2].requantize = 1;
  m.options.tokens = 16;
  m.options.recipes = recipes;
  m.options.recipe_count = 3;
  measure(&m);
  const double of_signs = m.f.recipes[1].kept[0];
  check_that(0, m.f.recipes[0].kept[0] != of_signs, "signs");
  check_that(1, m.f.recipes[0].kept[0] == m.f.recipes[2].kept[0], "FPROP is not requantized");
  check_that(2, isnan(m.f.recipes[2].kept[1]) && isnan(m.f.recipes[2].kept[2]), "requantized");
  recipes[0].rht_mask = ufp4_recipe_mask(&recipes[1], fixture_options(8).seed, 4);
  m.options.recipe_count = 1;
  measure(&m);
  check_that(3, m.f.recipes[0].kept[0] == of_signs, "the mask of step 4");
  end(&m);
}

// --- Output -------------------------------------------------------------------------------------

TEST(file_holds_the_rows) {
  model_t m;
  ufp4_message_t message = {0};
  char folder[256], path[300], line[300];
  int lines = 0, found = 0;
  start(&m);
  measure(&m);
  fixture_folder(folder);
  snprintf(path, sizeof path, "%s/forward.csv", folder);
  check_bits(0, ufp4_forward_write_csv(&m.f, path, &message), UFP4_OK, "%s", message.text);
  FILE *file = fopen(path, "r");
  while (file && fgets(line, sizeof line, file)) {
    lines++;
    found += strncmp(line, "1,fc2,dY,wgrad,e1m2,on,sr,", 26) == 0 && strstr(line, ",\n");
    found += strncmp(line, "1,fc2,dY,wgrad,mixed,on,sr,", 27) == 0 && strstr(line, ",,0.");
  }
  if (file) fclose(file);
  check_bits(1, (uint64_t)lines, (uint64_t)m.f.row_count + 1, "lines");
  check_bits(2, (uint64_t)found, 2, "lines of the last dY, with fields that are empty");
  fixture_remove(folder);
  end(&m);
}

// --- Failures -----------------------------------------------------------------------------------

static void check_refused(model_t *m, ufp4_status_t want, const char *what, const char *words) {
  check_bits(0, ufp4_forward_measure(m->trainer, &m->text, &m->options, &m->f), want, "%s", what);
  check_that(1, strstr(m->f.message.text, words) != NULL, "%s: message '%s'", what,
             m->f.message.text);
  ufp4_forward_free(&m->f);
}

TEST(rejects_devices_and_recipes_that_cannot_be) {
  model_t m;
  start(&m);
  m.options.open = fixture_open_none;
  check_refused(&m, UFP4_ERROR_DEVICE, "no device", "opened");
  m.options.open = fixture_open;
  m.options.recipe_count = 0;
  check_refused(&m, UFP4_ERROR_ARGUMENT, "no recipe", "");
  m.options.recipe_count = UFP4_FORWARD_RECIPES + 1;
  check_refused(&m, UFP4_ERROR_ARGUMENT, "too many recipes", "");
  m.options.recipe_count = RECIPES;
  m.recipes[NVFP4].rht[UFP4_PASS_FPROP] = UFP4_RHT_INTEGER;
  check_refused(&m, UFP4_ERROR_ARGUMENT, "a recipe that cannot be", "operands");
  end(&m);
}
