// SPDX-License-Identifier: Apache-2.0
// Drawings in SVG, alone in a file or within HTML: a panel maps data to pixels.
#ifndef UFP4_TRAIN_SVG_H
#define UFP4_TRAIN_SVG_H

#include <stdio.h>

/** A rectangle of pixels for data from x_low to x_high and y_low to y_high; y grows upwards. */
typedef struct {
  FILE *out;
  double left, top, width, height;
  double x_low, x_high, y_low, y_high;
} svg_panel_t;

/** @p alone: with the name space that a file of its own needs. */
void svg_begin(FILE *out, int width, int height, int alone);
void svg_end(FILE *out);

/** Text with what HTML reads otherwise escaped. */
void svg_escaped(FILE *out, const char *text);
/** @p anchor: start, middle or end. */
void svg_text(FILE *out, double x, double y, const char *anchor, const char *color,
              const char *text);

/** Axes, a title above, and a line across for each multiple of @p step with its value. */
void svg_panel_frame(const svg_panel_t *panel, const char *title, double step, int digits);
double svg_panel_x(const svg_panel_t *panel, double x);
double svg_panel_y(const svg_panel_t *panel, double y);
/** A curve through @p count points of data; those that are not finite are left out. */
void svg_panel_curve(const svg_panel_t *panel, const char *color, const double *x, const double *y,
                     int count);
void svg_panel_dot(const svg_panel_t *panel, const char *color, double x, double y);
/** From the lowest y up to @p y; nothing where it is not finite. */
void svg_panel_bar(const svg_panel_t *panel, const char *color, double x_from, double x_to,
                   double y);

#endif
