// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static const cli_command_t *const commands[] = {
    &cli_demo,   &cli_train, &cli_layer,   &cli_gemm,    &cli_quantize, &cli_dequantize, &cli_cast,
    &cli_random, &cli_bias,  &cli_vectors, &cli_explore, &cli_bench,    &cli_info,
};
#define COMMANDS (sizeof commands / sizeof commands[0])

// Commands that the launcher implements.
static const char *const launcher[][2] = {
    {"board-sim", "Simulates a board behind a pseudo-terminal"},
    {"ppa", "Measures area, delay and energy in standard cells"},
    {"test", "Builds and runs the tests"},
    {"docs", "Builds the documents as a site"},
    {"fpga-tools",
     "Installs the tools of fpga/build.sh and fpga/package/ipxact.py, prints their folder"},
    {"litex-tools", "Installs LiteX and a RISC-V compiler, and prints the folder of its Python"}};
#define LAUNCHER (sizeof launcher / sizeof launcher[0])

static int print_usage(void) {
  printf(
      "Usage: ufp4 COMMAND [inputs] [options]\n\nAn open 4-bit training tensor core: golden model, "
      "simulated core, "
      "driver.\n\nCommands:\n");
  for (size_t i = 0; i < COMMANDS; i++) {
    int line = (int)strcspn(commands[i]->summary, "\n");
    printf("  %-11s %.*s\n", commands[i]->name, line, commands[i]->summary);
  }
  for (size_t i = 0; i < LAUNCHER; i++) {
    printf("  ./ufp4 %-11s %s; a command of the launcher.\n", launcher[i][0], launcher[i][1]);
  }
  printf(
      "\nufp4 COMMAND --help (or ufp4 help COMMAND) tells the options of a command, with an "
      "example. An option may be\n"
      "given once, by its whole name, anywhere behind the command: --name value or --name=value.\n"
      "Exit status: 0 done and equal, 1 mismatch, 2 usage or bad input, 3 device or "
      "environment.\n");
  return CLI_OK;
}

static int fail_command(const char *name) {
  for (size_t i = 0; i < LAUNCHER; i++) {
    if (strcmp(name, launcher[i][0]) != 0) continue;
    fprintf(stderr, "ufp4: %s is a command of the launcher in the source tree: ./ufp4 %s --help\n",
            name, name);
    return CLI_USAGE;
  }
  ufp4_message_t message;
  ufp4_message_set(&message, "no command is called '%s'; see ufp4 --help", name);
  fprintf(stderr, "ufp4: %s\n", message.text);
  return CLI_USAGE;
}

// Output that could not be printed is an error.
static int check_stdout(int exit_status) {
  if (exit_status > CLI_MISMATCH) return exit_status;  // it has already failed and printed why
  int end = cli_printed();
  return end == CLI_GO_ON ? exit_status : end;
}

// If a standard stream is closed, a placeholder is opened; otherwise an output file would get its
// number and receive everything printed there.
static void open_streams(void) {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; stream++) {
    if (fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
    (void)!open("/dev/null",
                stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);  // using it still fails
  }
}

static const cli_command_t *find_command(const char *name) {
  for (size_t i = 0; i < COMMANDS; i++) {
    if (strcmp(name, commands[i]->name) == 0) return commands[i];
  }
  return NULL;
}

// "ufp4 help COMMAND" means "ufp4 COMMAND --help".
static int help(int argc, char **argv) {
  if (argc < 3 || strcmp(argv[1], "help") != 0) return print_usage();
  if (argc > 3) {
    fprintf(stderr, "ufp4: help takes one command; see ufp4 --help\n");
    return CLI_USAGE;
  }
  const cli_command_t *command = find_command(argv[2]);
  char option[] = "--help", *words[] = {argv[2], option, NULL};
  return command != NULL ? command->run(2, words) : fail_command(argv[2]);
}

int main(int argc, char **argv) {
  open_streams();
  cli_signals_begin();
  if (argc < 2) {
    fprintf(stderr, "ufp4: a command is needed; see ufp4 --help\n");
    return CLI_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
      strcmp(argv[1], "help") == 0) {
    return check_stdout(help(argc, argv));
  }
  if (strcmp(argv[1], "--version") == 0) {
    printf("ufp4 %d.%d.%d\n", UFP4_VERSION_MAJOR, UFP4_VERSION_MINOR, UFP4_VERSION_PATCH);
    return check_stdout(CLI_OK);
  }
  int end = cli_kernel_check();
  if (end != CLI_GO_ON) return end;
  if (strcmp(argv[1], "--needs") == 0)
    return check_stdout(cli_needs(argc > 2 ? find_command(argv[2]) : NULL, argc - 2, argv + 2));
  const cli_command_t *command = find_command(argv[1]);
  return command != NULL ? check_stdout(command->run(argc - 1, argv + 1)) : fail_command(argv[1]);
}
