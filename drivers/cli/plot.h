// SPDX-License-Identifier: Apache-2.0
// Drawings by gnuplot, to SVG or PNG.
#ifndef UFP4_PLOT_H
#define UFP4_PLOT_H

#include <stdio.h>

#include "cli.h"

/** A gnuplot script in the making. */
typedef struct {
  const cli_command_t *command;
  const char *path;
  char *beside;  ///< what gnuplot writes
  FILE *script;
} plot_t;

/** Says whether @p path can be drawn: it ends in .svg or .png, can be written, and gnuplot is there. @return CLI_GO_ON
 *  or the exit status, the message printed. */
int plot_check(const cli_command_t *command, const char *path);
/** Starts a drawing of @p width x @p height pixels; write gnuplot commands to plot->script. @return as plot_check. */
int plot_begin(plot_t *plot, const cli_command_t *command, const char *path, int width, int height);
/** Draws: to a file beside, renamed when whole. @return as plot_check. */
int plot_end(plot_t *plot);

#endif
