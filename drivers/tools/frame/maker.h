// SPDX-License-Identifier: Apache-2.0
// Python tells what C has measured: tables of comparisons, pages and pictures are made by `-m
// ufp4.report` of the interpreter that the environment's UFP4_PYTHON names.
#ifndef UFP4_CLI_MAKER_H
#define UFP4_CLI_MAKER_H

#include "cli.h"

/** Whether the environment names an interpreter. */
int maker_is_there(void);
/** Whether there is such a program, to be asked before the work. @return CLI_GO_ON or the exit
 * status, after a line. */
int maker_check(const cli_command_t *command);
/** Runs it with these words, the last of which is NULL, behind `-m ufp4.report`, and with @p
 * document, which it frees, as JSON on its standard input. What it prints comes after what was
 * printed here. A signal that ends this program ends it first.
 * @return CLI_GO_ON, or where it has not done it the exit status, after a line that says so. */
int maker_run(const cli_command_t *command, json_t *document, const char *const *words);
/** Draws @p page, report.html beside @p document, a file that is there. Without an interpreter a
 * line says how to draw it, which is no failure. An earlier page goes where no new one takes its
 * place. @return as maker_run */
int maker_draw(const cli_command_t *command, const char *document, const char *page);

#endif
