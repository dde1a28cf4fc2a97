// SPDX-License-Identifier: Apache-2.0
// What the recipes do to one trained model: losses, operands, kept signal over depth, use of codes.
#include <math.h>
#include <stdlib.h>

#include "report.h"
#include "svg.h"

#define WIDTH 720

enum { E2M1, E2M1_RHT, E1M2, E1M2_RHT };  // the ways
static const char *const way_names[UFP4_FORWARD_WAYS] = {"E2M1", "E2M1, RHT", "E1M2", "E1M2, RHT"};

// --- Losses -------------------------------------------------------------------------------------

static void put_losses(FILE *out, const ufp4_forward_t *f) {
  fputs(
      "<table><tr><th>recipe</th><th>held-out loss</th><th>kept, FPROP</th><th>kept, "
      "DGRAD</th><th>kept, WGRAD</th></tr>\n",
      out);
  for (int i = 0; i < f->recipe_count; i++) {
    const ufp4_forward_recipe_t *r = &f->recipes[i];
    fprintf(out, "<tr><td>%s</td>", r->recipe.name);
    report_number(out, "", 5, r->loss);
    for (int pass = 0; pass < UFP4_PASS_COUNT; pass++) report_number(out, "", 4, r->kept[pass]);
    fputs("</tr>\n", out);
  }
  fputs("</table>\n", out);
}

static void put_gaps(FILE *out, const ufp4_forward_t *f) {
  fputs(
      "<table><tr><th>recipe</th><th class=\"text\">against</th><th>gap, %</th><th>standard "
      "error</th><th>t</th><th>stretches worse</th></tr>\n",
      out);
  for (int i = 0; i < f->gap_count; i++) {
    const ufp4_forward_gap_t *g = &f->gaps[i];
    fprintf(out, "<tr><td>%s</td><td class=\"text\">%s</td>", f->recipes[g->recipe].recipe.name,
            f->recipes[g->base].recipe.name);
    report_number(out, "+", 4, g->percent);
    report_number(out, "", 4, g->error);
    report_number(out, "", 1, g->t);
    fprintf(out, "<td>%d of %d</td></tr>\n", g->worse, g->stretches);
  }
  fputs(
      "</table>\n<p>Paired by sequence. The standard error comes from stretches of neighbouring "
      "sequences, which are not independent of one another. It speaks for this one set of "
      "weights.</p>\n",
      out);
}

// --- Operands -----------------------------------------------------------------------------------

static void put_line(FILE *out, const ufp4_forward_line_t *l) {
  fprintf(out, "<tr><td>%s</td><td class=\"text\">%s</td><td class=\"text\">%s</td>",
          ufp4_matrix_name(l->matrix), ufp4_role_name(l->role), ufp4_pass_name(l->pass));
  for (int way = 0; way < UFP4_FORWARD_WAYS; way++) report_number(out, "", 2, l->sqnr_db[way]);
  report_number(out, "+", 2, l->sqnr_db[E1M2_RHT] - l->sqnr_db[E1M2]);
  for (int way = 0; way < UFP4_FORWARD_WAYS; way++) report_number(out, "", 4, l->kept[way]);
  report_number(out, "", 2, l->bucket_ratio[E1M2]);
  report_number(out, "", 2, l->bucket_ratio[E1M2_RHT]);
  fputs("</tr>\n", out);
}

static void put_operands(FILE *out, const ufp4_forward_t *f) {
  ufp4_forward_line_t lines[UFP4_FORWARD_LINES];
  ufp4_forward_lines(f, lines);
  fputs(
      "<h3>Operands, rounded to nearest</h3>\n<div "
      "class=\"wide\"><table><tr><th></th><th></th><th></th><th "
      "colspan=\"5\">SQNR, dB</th><th colspan=\"4\">alpha</th><th colspan=\"2\">buckets, "
      "E1M2</th></tr>\n<tr><th>matrix</th><th class=\"text\">tensor</th><th "
      "class=\"text\">pass</th>",
      out);
  for (int way = 0; way < UFP4_FORWARD_WAYS; way++) fprintf(out, "<th>%s</th>", way_names[way]);
  fputs("<th>RHT gains E1M2</th>", out);
  for (int way = 0; way < UFP4_FORWARD_WAYS; way++) fprintf(out, "<th>%s</th>", way_names[way]);
  fputs("<th>plain</th><th>RHT</th></tr>\n", out);
  for (int i = 0; i < UFP4_FORWARD_LINES; i++) {
    if (lines[i].round == UFP4_ROUND_RNE) put_line(out, &lines[i]);
  }
  fputs(
      "<tr><td>paper, fc2</td><td class=\"text\">X</td><td class=\"text\">fprop</td><td>21.90</td>"
      "<td>20.00</td><td>19.94</td><td>23.19</td><td>+3.25</td><td></td><td></td><td></td><td></td>"
      "<td>0.56</td><td>0.97</td></tr>\n</table></div>\n<p>Means over the blocks. alpha: the share "
      "of "
      "the signal that rounding keeps (the paper's Eq. 3). Buckets: how evenly the codes are used. "
      "The paper's line: arXiv 2606.20381.</p>\n",
      out);
}

// --- Depth --------------------------------------------------------------------------------------

// The product of the kept signal of FPROP up to each layer.
static int product(const ufp4_forward_t *f, int recipe, double *x, double *y) {
  const double *kept = f->recipes[recipe].layer_kept[UFP4_PASS_FPROP];
  double all = 1;
  for (int i = 0; i < f->layers; i++) {
    all *= kept[i];
    x[i + 1] = i + 1;
    y[i + 1] = all;
  }
  x[0] = 0;
  y[0] = 1;
  return f->layers + 1;
}

static void put_depth(FILE *out, const ufp4_forward_t *f) {
  double *x = malloc(2 * (size_t)(f->layers + 1) * sizeof *x), low = 1, high = 1;
  if (!x) return;  // the page goes without
  double *y = x + f->layers + 1;
  for (int r = 0; r < f->recipe_count; r++) {
    for (int i = f->recipes[r].recipe.quantized ? product(f, r, x, y) : 0; i-- > 0;) {
      low = fmin(low, y[i]);
      high = fmax(high, y[i]);
    }
  }
  const double step = high - low > 0.5 ? 0.1 : high - low > 0.1 ? 0.05 : 0.01;
  const svg_panel_t panel = {out,
                             48,
                             34,
                             WIDTH - 48 - 110,
                             240,
                             0,
                             f->layers,
                             floor(low / step) * step,
                             ceil(high / step) * step};
  svg_begin(out, WIDTH, 310, 0);
  svg_panel_frame(&panel, "Product of alpha over the linear layers, FPROP", step, 2);
  for (int r = 0; r < f->recipe_count; r++) {
    if (!f->recipes[r].recipe.quantized) continue;
    const int count = product(f, r, x, y);
    svg_panel_curve(&panel, report_color(r), x, y, count);
    svg_text(out, WIDTH - 102, svg_panel_y(&panel, y[count - 1]) + 4, "start", report_color(r),
             f->recipes[r].recipe.name);
  }
  svg_text(out, WIDTH - 110, 298, "end", "#222", "after the last layer");
  svg_end(out);
  fputs(
      "<p>Each step is one linear layer: alpha of both operands as the recipe quantizes them. An "
      "index of how much a recipe shrinks, not the attenuation of the network.</p>\n",
      out);
  free(x);
}

// --- Codes --------------------------------------------------------------------------------------

static void put_histogram(FILE *out, const ufp4_forward_t *f, int way) {
  double share[UFP4_ROUNDING_VALUES] = {0}, high = 0;
  for (int64_t i = 0; i < f->row_count; i++) {
    const ufp4_forward_row_t *row = &f->rows[i];
    if (row->layer % UFP4_MATRIX_COUNT != UFP4_MATRIX_FC2 || row->pass != UFP4_PASS_FPROP ||
        row->role != UFP4_ROLE_X || i % UFP4_FORWARD_WAYS != way)
      continue;
    for (int v = 0; v < UFP4_ROUNDING_VALUES; v++)
      share[v] += row->rounding.share[v] * UFP4_MATRIX_COUNT / f->layers;
  }
  for (int v = 0; v < UFP4_ROUNDING_VALUES; v++) high = fmax(high, share[v]);
  const svg_panel_t panel = {out, 30 + 175 * way, 30, 150, 120, -0.5, UFP4_ROUNDING_VALUES - 0.5, 0,
                             high};
  svg_panel_frame(&panel, way_names[way], 1, 0);
  for (int v = 0; v < UFP4_ROUNDING_VALUES; v++)
    svg_panel_bar(&panel, way < E1M2 ? "#d1242f" : "#0969da", v - 0.4, v + 0.4, share[v]);
}

static void put_histograms(FILE *out, const ufp4_forward_t *f) {
  fputs("<h3>Use of the codes: input of fc2</h3>\n", out);
  svg_begin(out, WIDTH, 165, 0);
  for (int way = 0; way < UFP4_FORWARD_WAYS; way++) put_histogram(out, f, way);
  svg_end(out);
  fputs(
      "<p>The 15 values of each grid from the lowest to the highest; each drawing has a scale of "
      "its own.</p>\n",
      out);
}

void report_forward(FILE *out, const ufp4_forward_t *f) {
  fprintf(out,
          "<h2>Forward</h2>\n<p>One model, trained without quantization, run forward in each "
          "recipe on %lld held-out tokens. Nothing is trained here, so nothing is left to "
          "chaos.</p>\n",
          (long long)f->tokens);
  put_gaps(out, f);
  put_losses(out, f);
  put_depth(out, f);
  put_histograms(out, f);
  put_operands(out, f);
}
