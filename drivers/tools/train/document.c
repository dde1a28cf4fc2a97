// SPDX-License-Identifier: Apache-2.0
// Makes a JSON object of everything that train has run and measured: train.json, from which
// drivers/python/ufp4 compares and draws, and the output of --json if there is no Python.
#include <math.h>
#include <sys/utsname.h>

#include "base/names.h"
#include "train.h"

static void add(json_t *object, const char *key, json_t *value) {
  json_object_set_new(object, key, value);
}

static void add_count(json_t *object, const char *key, int64_t value) {
  add(object, key, json_integer((json_int_t)value));
}

static void add_real(json_t *object, const char *key, double value) {
  add(object, key, json_real_or_null(value));
}

static json_t *reals(const double *values, int64_t count) {
  json_t *list = json_array();
  for (int64_t i = 0; i < count; i++) json_array_append_new(list, json_real_or_null(values[i]));
  return list;
}

// --- Forward ------------------------------------------------------------------------------------

static json_t *ways(const double values[UFP4_FORWARD_WAYS]) {
  static const char *const names[UFP4_FORWARD_WAYS] = {"e2m1",     "e2m1_rht", "e1m2",
                                                       "e1m2_rht", "mixed",    "mixed_rht"};
  json_t *object = json_object();
  for (int way = 0; way < UFP4_FORWARD_WAYS; way++) add_real(object, names[way], values[way]);
  return object;
}

static json_t *operand_object(const ufp4_forward_line_t *line) {
  json_t *object = json_object();
  add(object, "matrix", json_string(ufp4_matrix_name(line->matrix)));
  add(object, "tensor", json_string(ufp4_role_name(line->role)));
  add(object, "pass", json_string(ufp4_pass_name(line->pass)));
  add(object, "round", json_string(round_names[line->round]));
  add(object, "sqnr_db", ways(line->sqnr_db));
  add(object, "alpha", ways(line->kept));
  add(object, "bucket_ratio", ways(line->bucket_ratio));
  add(object, "uniform", ways(line->uniform));
  return object;
}

static json_t *forward_recipe(const ufp4_forward_t *forward, const ufp4_forward_recipe_t *r) {
  json_t *object = json_object();
  ufp4_stretches_t stretches;
  ufp4_stretches(r->losses, forward->sequences, &stretches);
  add(object, "recipe", json_text(r->recipe.name));
  add_real(object, "kept_fprop", r->kept[UFP4_PASS_FPROP]);
  add_real(object, "kept_dgrad", r->kept[UFP4_PASS_DGRAD]);
  add_real(object, "kept_wgrad", r->kept[UFP4_PASS_WGRAD]);
  add_real(object, "held_loss", r->loss);
  add(object, "stretches", reals(stretches.loss, stretches.count));
  add(object, "layers_kept", reals(r->layer_kept[UFP4_PASS_FPROP], forward->layers));
  return object;
}

// Adds the share of each value of the grid in the input of fc2, as a mean over the blocks.
static json_t *codes_object(const ufp4_forward_t *f) {
  double share[UFP4_FORWARD_WAYS][UFP4_ROUNDING_VALUES] = {{0}};
  for (int64_t i = 0; i < f->row_count; i++) {
    const ufp4_forward_row_t *row = &f->rows[i];
    if (row->layer % UFP4_MATRIX_COUNT != UFP4_MATRIX_FC2 || row->pass != UFP4_PASS_FPROP ||
        row->role != UFP4_ROLE_X)
      continue;
    for (int v = 0; v < UFP4_ROUNDING_VALUES; v++)
      share[i % UFP4_FORWARD_WAYS][v] += row->rounding.share[v] * UFP4_MATRIX_COUNT / f->layers;
  }
  json_t *list = json_array();
  for (int way = 0; way < UFP4_FORWARD_WAYS; way++)
    json_array_append_new(list, reals(share[way], UFP4_ROUNDING_VALUES));
  return list;
}

static json_t *forward_object(const ufp4_forward_t *forward) {
  ufp4_forward_line_t lines[UFP4_FORWARD_LINES];
  json_t *object = json_object(), *operands = json_array(), *recipes = json_array();
  ufp4_forward_lines(forward, lines);
  for (int i = 0; i < UFP4_FORWARD_LINES; i++)
    json_array_append_new(operands, operand_object(&lines[i]));
  for (int i = 0; i < forward->recipe_count; i++)
    json_array_append_new(recipes, forward_recipe(forward, &forward->recipes[i]));
  add(object, "operands", operands);
  add(object, "recipes", recipes);
  add(object, "codes", codes_object(forward));
  add_count(object, "sequences", forward->sequences);
  add_count(object, "held_tokens", forward->tokens);
  return object;
}

// --- Runs ---------------------------------------------------------------------------------------

static json_t *recipe_object(const ufp4_experiment_t *e, ufp4_run_kind_t kind, int v) {
  json_t *object = json_object(), *losses = json_array(), *stretches = json_array();
  for (int s = 0; s < e->options->seeds; s++) {
    const ufp4_run_t *run = ufp4_experiment_at(e, kind, v, s);
    json_array_append_new(losses, json_real_or_null(run->held_loss));
    json_array_append_new(stretches, reals(run->stretches.loss, run->stretches.count));
  }
  add(object, "recipe", json_text(e->options->variants[v].name));
  add_count(object, "seeds", e->options->seeds);
  add(object, "held_losses", losses);
  add_real(object, "tokens_per_second", ufp4_experiment_speed(e, kind, v));
  add_real(object, "cycles_per_step", ufp4_experiment_cycles(e, kind, v));
  add(object, "stretches", stretches);
  return object;
}

static json_t *runs_object(const ufp4_experiment_t *e, ufp4_run_kind_t kind) {
  const ufp4_experiment_options_t *o = e->options;
  json_t *object = json_object(), *recipes = json_array();
  for (int v = 0; v < o->variant_count; v++) {
    if (ufp4_experiment_shows(o, kind, v))
      json_array_append_new(recipes, recipe_object(e, kind, v));
  }
  add_count(object, "first_step", o->trainer.steps - ufp4_experiment_steps(o, kind));
  add(object, "recipes", recipes);
  return object;
}

// --- All ----------------------------------------------------------------------------------------

static json_t *variants_of(const ufp4_experiment_options_t *o) {
  json_t *list = json_array();
  for (int i = 0; i < o->variant_count; i++) {
    const ufp4_variant_t *v = &o->variants[i];
    json_t *object = json_object();
    add(object, "recipe", json_text(v->name));
    add(object, "quantized", json_boolean(v->recipe.quantized));
    add_real(object, "perturbation", (double)v->perturbation);
    add_real(object, "paper_loss", v->paper_loss > 0 ? v->paper_loss : NAN);
    json_array_append_new(list, object);
  }
  return list;
}

// Adds the processor and the system, as far as they are known.
static json_t *machine(void) {
  char text[1024], line[256], processor[256] = "";
  struct utsname system = {.sysname = ""};
  FILE *file = fopen("/proc/cpuinfo", "r");
  while (file && !processor[0] && fgets(line, sizeof line, file))
    (void)sscanf(line, "model name : %255[^\n]", processor);
  if (file) fclose(file);
  (void)uname(&system);
  snprintf(text, sizeof text, "%s%s%s %s %s", processor, processor[0] ? ", " : "", system.sysname,
           system.release, system.machine);
  return json_text(text);
}

json_t *train_document(const evidence_t *e, unsigned tables) {
  const ufp4_experiment_options_t *o = &e->plan->options;
  const int base = ufp4_experiment_base(o);
  json_t *all = json_object();
  add(all, "text", json_text(e->arguments->text_name));
  json_object_set(all, "settings", e->settings);
  if (tables & TRAIN_FORWARD && e->plan->forward) add(all, "forward", forward_object(&e->forward));
  if (tables & TRAIN_BRANCHED && e->plan->branched)
    add(all, "branched", runs_object(&e->experiment, UFP4_RUN_BRANCHED));
  if (tables & TRAIN_WHOLE && e->plan->whole)
    json_object_update_new(all, runs_object(&e->experiment, UFP4_RUN_WHOLE));
  add_count(all, "held_tokens", e->held_tokens);
  add(all, "base", base < 0 ? json_null() : json_text(o->variants[base].name));
  add(all, "variants", variants_of(o));
  add(all, "command", json_text(e->arguments->words));
  add(all, "backend", json_text(o->backend));
  add_count(all, "workers", o->workers);
  add(all, "machine", machine());
  return all;
}
