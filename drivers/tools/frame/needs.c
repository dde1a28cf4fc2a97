// SPDX-License-Identifier: Apache-2.0
// ufp4 --needs: the launcher asks it what to install and build for a command line, so that the
// options of the commands are read in one place.
//
//   systemc                 SystemC, and the program of its backends
//   configuration NAME      the RTL of this core in the simulator
//   board NAME/MEMORY       a simulated board of this core
//   drawing required        a Python that draws
//   drawing optional        the same, without which the command leaves its page out
#include <stdio.h>
#include <string.h>

#include "base/configuration.h"
#include "cli.h"

static int is_systemc(const char *backend) {
  return strcmp(backend, "systemc") == 0 || strcmp(backend, "systemc:timed") == 0;
}

static int simulates_rtl(const char *backend) {
  return strcmp(backend, "rtl") == 0 || strcmp(backend, "systemc") == 0;
}

// A configuration that is none has no name: the command refuses it, with the reason.
static void print_configuration(const char *word) {
  ufp4_configuration_t core;
  ufp4_message_t why = {0};
  if (cli_configuration(word, &core, &why) == UFP4_OK) printf("configuration %s\n", core.name);
}

static void print_needs(const cli_options_t *options) {
  const char *configuration = NULL;
  int systemc = 0, rtl = 0;
  for (int i = 0; i < options->count; i++) {
    const cli_option_t *option = &options->items[i];
    const char *text = option->kind == CLI_TEXT ? *(const char *const *)option->value : NULL;
    if (text == NULL) continue;
    if (option->need == CLI_NEEDS_BACKEND) systemc |= is_systemc(text);
    if (option->need == CLI_NEEDS_BACKEND) rtl |= simulates_rtl(text);
    if (option->need == CLI_NEEDS_CONFIGURATION) configuration = text;
    if (option->need == CLI_NEEDS_DRAWING) printf("drawing required\n");
    if (option->need == CLI_NEEDS_PAGE) printf("drawing optional\n");
  }
  if (systemc) printf("systemc\n");
  if (rtl && configuration != NULL) print_configuration(configuration);
}

// --- ufp4-board-sim -----------------------------------------------------------------------------

// The launcher passes the options on to ufp4-board-sim, which reads the rest of them
// (sim/board/program.c).
static const cli_command_t board_sim = {.name = "board-sim",
                                        .arguments = "[options]",
                                        .summary = "Simulates a board.",
                                        .example = "./ufp4 board-sim"};

static int print_board(int argc, char **argv) {
  static const char *const memories[] = {"block", "sdram"};
  const char *configuration = "tiny";
  uint64_t seed, bytes;
  int memory = 0;
  cli_options_t options = {0};
  cli_option_add(&options, "board", CLI_CHOICE, &memory, "block|sdram", "");
  cli_option_add(&options, "config", CLI_TEXT, &configuration, "CONFIGURATION", "");
  cli_option_add(&options, "faults", CLI_UINT, &seed, "SEED", "");
  cli_option_add(&options, "fault-bytes", CLI_UINT, &bytes, "N", "");
  int end = cli_parse(&board_sim, &options, argc, argv, 0, 0, NULL, NULL);
  if (end != CLI_GO_ON) return end;
  ufp4_configuration_t core;
  ufp4_message_t why = {0};
  if (cli_configuration(configuration, &core, &why) != UFP4_OK)
    return cli_fail(&board_sim, CLI_USAGE, "--config: %s", why.text);
  printf("board %s/%s\n", core.name, memories[memory]);
  return CLI_OK;
}

int cli_needs(const cli_command_t *command, int argc, char **argv) {
  if (argc > 0 && strcmp(argv[0], board_sim.name) == 0) return print_board(argc, argv);
  cli_parse_for(print_needs);
  return command != NULL ? command->run(argc, argv) : CLI_OK;
}
