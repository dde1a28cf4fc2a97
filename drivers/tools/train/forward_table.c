// SPDX-License-Identifier: Apache-2.0
#include "forward_table.h"

#include <math.h>

enum { E2M1, E2M1_RHT, E1M2, E1M2_RHT };  // the ways

// arXiv 2606.20381, input of linear_fc2 in FPROP.
static const ufp4_forward_line_t paper = {
    .matrix = UFP4_MATRIX_FC2,
    .pass = UFP4_PASS_FPROP,
    .role = UFP4_ROLE_X,
    .kept = {(double)NAN, (double)NAN, (double)NAN, (double)NAN},
    .sqnr_db = {21.90, 20.00, 19.94, 23.19},
    .bucket_ratio = {(double)NAN, (double)NAN, .56, .97}};

static int has_paper(const ufp4_forward_line_t *l) {
  return l->matrix == paper.matrix && l->pass == paper.pass && l->role == paper.role;
}

static const char *round_name(const ufp4_forward_line_t *line) {
  return line->round == UFP4_ROUND_SR ? "sr" : "rne";
}

// SQNR of one way over another.
static double gain(const ufp4_forward_line_t *line, int way, int over) {
  return line->sqnr_db[way] - line->sqnr_db[over];
}

// --- Text ---------------------------------------------------------------------------------------

static void print_line(FILE *out, const char *name, const ufp4_forward_line_t *l) {
  fprintf(out, "  %-6s %-6s %-5s %-5s", name, ufp4_role_name(l->role), ufp4_pass_name(l->pass),
          round_name(l));
  fprintf(out, " %5.2f %5.2f %+5.2f", l->sqnr_db[E2M1], l->sqnr_db[E2M1_RHT],
          gain(l, E2M1_RHT, E2M1));
  fprintf(out, "  %5.2f %5.2f %+5.2f ", l->sqnr_db[E1M2], l->sqnr_db[E1M2_RHT],
          gain(l, E1M2_RHT, E1M2));
  for (int way = 0; way < UFP4_FORWARD_WAYS; way++) fprintf(out, " %6.4f", l->kept[way]);
  fprintf(out, "  %4.2f %4.2f\n", l->bucket_ratio[E1M2], l->bucket_ratio[E1M2_RHT]);
}

static void print_operands(FILE *out, const ufp4_forward_line_t lines[UFP4_FORWARD_LINES]) {
  fprintf(out,
          "%%                         SQNR in dB                            alpha          "
          "             buckets\n");
  fprintf(out,
          "%% matrix tensor pass round  e2m1  +rht  gain   e1m2  +rht  gain    e2m1   +rht   "
          "e1m2   +rht  e1m2 +rht\n");
  for (int i = 0; i < UFP4_FORWARD_LINES; i++) {
    print_line(out, ufp4_matrix_name(lines[i].matrix), &lines[i]);
    if (has_paper(&lines[i])) print_line(out, "paper", &paper);
  }
}

static int count_gains(const ufp4_forward_line_t lines[UFP4_FORWARD_LINES], int way, int over) {
  int count = 0;
  for (int i = 0; i < UFP4_FORWARD_LINES; i++) count += gain(&lines[i], way, over) > 0;
  return count;
}

// How far the reason that the paper gives is there to be seen.
static void print_counts(FILE *out, const ufp4_forward_line_t lines[UFP4_FORWARD_LINES]) {
  fprintf(
      out,
      "Of %d lines, RHT raises the SQNR of E1M2 on %d and of E2M1 on %d; E1M2 with RHT is above "
      "E2M1 without on %d\n",
      UFP4_FORWARD_LINES, count_gains(lines, E1M2_RHT, E1M2), count_gains(lines, E2M1_RHT, E2M1),
      count_gains(lines, E1M2_RHT, E2M1));
}

static void print_recipes(FILE *out, const ufp4_forward_t *f) {
  fprintf(out, "%% recipe       kept_fprop kept_dgrad kept_wgrad held_loss\n");
  for (int i = 0; i < f->recipe_count; i++) {
    const ufp4_forward_recipe_t *r = &f->recipes[i];
    fprintf(out, "  %-12s %10.4f %10.4f %10.4f %9.5f\n", r->recipe.name, r->kept[UFP4_PASS_FPROP],
            r->kept[UFP4_PASS_DGRAD], r->kept[UFP4_PASS_WGRAD], r->loss);
  }
}

static void print_gaps(FILE *out, const ufp4_forward_t *f) {
  if (f->gap_count) {
    fprintf(out,
            "%% recipe       against      gap_percent standard_error      t stretches_worse\n");
  }
  for (int i = 0; i < f->gap_count; i++) {
    const ufp4_forward_gap_t *g = &f->gaps[i];
    fprintf(out, "  %-12s %-12s %+11.4f %14.4f %6.1f %d/%d\n", f->recipes[g->recipe].recipe.name,
            f->recipes[g->base].recipe.name, g->percent, g->error, g->t, g->worse, g->stretches);
  }
}

void ufp4_forward_print(FILE *out, const ufp4_forward_t *forward) {
  ufp4_forward_line_t lines[UFP4_FORWARD_LINES];
  ufp4_forward_lines(forward, lines);
  print_operands(out, lines);
  print_counts(out, lines);
  print_recipes(out, forward);
  print_gaps(out, forward);
}

// --- JSON ---------------------------------------------------------------------------------------

static json_t *ways(const double values[UFP4_FORWARD_WAYS]) {
  return json_pack("{s:o, s:o, s:o, s:o}", "e2m1", json_real_or_null(values[E2M1]), "e2m1_rht",
                   json_real_or_null(values[E2M1_RHT]), "e1m2", json_real_or_null(values[E1M2]),
                   "e1m2_rht", json_real_or_null(values[E1M2_RHT]));
}

static json_t *line_object(const ufp4_forward_line_t *l) {
  return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o}", "matrix",
                   ufp4_matrix_name(l->matrix), "tensor", ufp4_role_name(l->role), "pass",
                   ufp4_pass_name(l->pass), "round", round_name(l), "sqnr_db", ways(l->sqnr_db),
                   "alpha", ways(l->kept), "bucket_ratio", ways(l->bucket_ratio),
                   "rht_gain_db_e2m1", json_real_or_null(gain(l, E2M1_RHT, E2M1)),
                   "rht_gain_db_e1m2", json_real_or_null(gain(l, E1M2_RHT, E1M2)));
}

static json_t *line_with_paper(const ufp4_forward_line_t *line) {
  json_t *object = line_object(line);
  if (has_paper(line))
    json_object_set_new(object, "paper",
                        json_pack("{s:o, s:o}", "sqnr_db", ways(paper.sqnr_db), "bucket_ratio",
                                  ways(paper.bucket_ratio)));
  return object;
}

static json_t *recipe_object(const ufp4_forward_recipe_t *r) {
  return json_pack("{s:o, s:o, s:o, s:o, s:o}", "recipe", json_text(r->recipe.name), "kept_fprop",
                   json_real_or_null(r->kept[UFP4_PASS_FPROP]), "kept_dgrad",
                   json_real_or_null(r->kept[UFP4_PASS_DGRAD]), "kept_wgrad",
                   json_real_or_null(r->kept[UFP4_PASS_WGRAD]), "held_loss",
                   json_real_or_null(r->loss));
}

static json_t *gap_object(const ufp4_forward_t *f, const ufp4_forward_gap_t *g) {
  return json_pack(
      "{s:o, s:o, s:o, s:o, s:o, s:i, s:i}", "recipe", json_text(f->recipes[g->recipe].recipe.name),
      "against", json_text(f->recipes[g->base].recipe.name), "gap_percent",
      json_real_or_null(g->percent), "standard_error", json_real_or_null(g->error), "t",
      json_real_or_null(g->t), "stretches_worse", g->worse, "stretches", g->stretches);
}

json_t *ufp4_forward_json(const ufp4_forward_t *forward) {
  ufp4_forward_line_t lines[UFP4_FORWARD_LINES];
  json_t *operands = json_array(), *recipes = json_array(), *gaps = json_array();
  ufp4_forward_lines(forward, lines);
  for (int i = 0; i < UFP4_FORWARD_LINES; i++)
    json_array_append_new(operands, line_with_paper(&lines[i]));
  for (int i = 0; i < forward->recipe_count; i++)
    json_array_append_new(recipes, recipe_object(&forward->recipes[i]));
  for (int i = 0; i < forward->gap_count; i++)
    json_array_append_new(gaps, gap_object(forward, &forward->gaps[i]));
  return json_pack("{s:o, s:o, s:o, s:I, s:I}", "operands", operands, "recipes", recipes,
                   "comparisons", gaps, "sequences", (json_int_t)forward->sequences, "held_tokens",
                   (json_int_t)forward->tokens);
}
