// SPDX-License-Identifier: Apache-2.0
#include "svg.h"

#include <math.h>

void svg_begin(FILE *out, int width, int height, int alone) {
  fprintf(out, "<svg%s viewBox=\"0 0 %d %d\" font-size=\"13\" font-family=\"sans-serif\">\n",
          alone ? " xmlns=\"http://www.w3.org/2000/svg\"" : "", width, height);
  if (alone) fprintf(out, "<rect width=\"%d\" height=\"%d\" fill=\"white\"/>\n", width, height);
}

void svg_end(FILE *out) {
  fputs("</svg>\n", out);
}

void svg_escaped(FILE *out, const char *text) {
  for (; *text != '\0'; text++) {
    switch (*text) {
      case '&':
        fputs("&amp;", out);
        break;
      case '<':
        fputs("&lt;", out);
        break;
      case '>':
        fputs("&gt;", out);
        break;
      default:
        fputc(*text, out);
    }
  }
}

void svg_text(FILE *out, double x, double y, const char *anchor, const char *color,
              const char *text) {
  fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">", x, y, anchor, color);
  svg_escaped(out, text);
  fputs("</text>\n", out);
}

double svg_panel_x(const svg_panel_t *panel, double x) {
  return panel->left + panel->width * (x - panel->x_low) / (panel->x_high - panel->x_low);
}

double svg_panel_y(const svg_panel_t *panel, double y) {
  return panel->top + panel->height * (panel->y_high - y) / (panel->y_high - panel->y_low);
}

void svg_panel_frame(const svg_panel_t *panel, const char *title, double step, int digits) {
  const double bottom = panel->top + panel->height, right = panel->left + panel->width;
  svg_text(panel->out, panel->left, panel->top - 14, "start", "#222", title);
  for (double n = ceil(panel->y_low / step - 1e-9); n * step <= panel->y_high + 1e-9 * step; n++) {
    char value[32];
    const double y = svg_panel_y(panel, n * step);
    snprintf(value, sizeof value, "%.*f", digits, n == 0 ? 0 : n * step);
    fprintf(panel->out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"#ddd\"/>\n", panel->left, y, right);
    svg_text(panel->out, panel->left - 6, y + 4, "end", "#222", value);
  }
  fprintf(panel->out, "<path d=\"M%.1f %.1fV%.1fH%.1f\" fill=\"none\" stroke=\"#999\"/>\n",
          panel->left, panel->top, bottom, right);
}

void svg_panel_curve(const svg_panel_t *panel, const char *color, const double *x, const double *y,
                     int count) {
  fprintf(panel->out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"",
          color);
  for (int i = 0; i < count; i++) {
    const double px = svg_panel_x(panel, x[i]), py = svg_panel_y(panel, y[i]);
    if (isfinite(px) && isfinite(py)) fprintf(panel->out, "%.1f,%.1f ", px, py);
  }
  fputs("\"/>\n", panel->out);
}

void svg_panel_dot(const svg_panel_t *panel, const char *color, double x, double y) {
  fprintf(panel->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"%s\"/>\n",
          svg_panel_x(panel, x), svg_panel_y(panel, y), color);
}

void svg_panel_bar(const svg_panel_t *panel, const char *color, double x_from, double x_to,
                   double y) {
  if (!isfinite(y) || y <= panel->y_low) return;
  const double left = svg_panel_x(panel, x_from), top = svg_panel_y(panel, y);
  fprintf(panel->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
          left, top, svg_panel_x(panel, x_to) - left, panel->top + panel->height - top, color);
}
