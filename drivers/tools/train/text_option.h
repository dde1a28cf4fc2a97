// SPDX-License-Identifier: Apache-2.0
// The training text of train and demo.
#ifndef UFP4_TEXT_OPTION_H
#define UFP4_TEXT_OPTION_H

#include "frame/cli.h"
#include "train/learn/text.h"

#define CLI_TEXT_DEFAULT "gcide"

/** Reads a file, or the dictionary for "gcide" (if it is not installed: exit status 3 and the
 * command that installs it), for sequences of @p context tokens, and prints errors. @return
 * CLI_GO_ON or the exit status. */
int cli_text_read(const cli_command_t *command, const char *name, int64_t context,
                  ufp4_text_t *out);

#endif
