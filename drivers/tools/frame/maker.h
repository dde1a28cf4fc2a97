// SPDX-License-Identifier: Apache-2.0
// Runs Python on results of this program: tables of comparisons, pages and pictures are made by `-m
// ufp4.report` of the interpreter named by the environment's UFP4_PYTHON.
#ifndef UFP4_CLI_MAKER_H
#define UFP4_CLI_MAKER_H

#include "cli.h"

/** Returns whether the environment names an interpreter. */
int maker_is_there(void);
/** Checks that this program exists, before the work; prints a line if not. @return CLI_GO_ON or
 * the exit status. */
int maker_check(const cli_command_t *command);
/** Runs `-m ufp4.report` with these words, of which the last is NULL, and with @p document, which
 * it frees, as JSON on its standard input. Its output follows what has been printed so far. A
 * signal that ends this program ends it first. @return CLI_GO_ON, or if it failed the exit status,
 * after a line that says so. */
int maker_run(const cli_command_t *command, json_t *document, const char *const *words);
/** Draws @p page, report.html, from the file @p document beside it. Without an interpreter it
 * prints how to draw the page, which is not a failure. An old page is removed if no new one
 * replaces it. @return as maker_run */
int maker_draw(const cli_command_t *command, const char *document, const char *page);

#endif
