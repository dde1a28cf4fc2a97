// SPDX-License-Identifier: Apache-2.0
// Signals that end the program print a line first, and those caused by a full disk become an error
// or a line.
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

// A handler may call only async-signal-safe functions such as write, unlink and _exit.
static void say(const char *text) {
  (void)!write(STDERR_FILENO, text, strlen(text));
}

// The temporary name of the waveforms, and that of the file which their writer keeps beside them.
static char waveforms[4096], hierarchy[4096 + 8], waveforms_line[4096 + 128];

static void remove_waveforms(void) {
  if (waveforms[0] == '\0') return;
  unlink(waveforms);
  unlink(hierarchy);
}

static const cli_command_t *volatile resumed;

void cli_signals_resume(const cli_command_t *command) {
  resumed = command;
}

static void add(char line[128], const char *text) {
  const size_t length = strlen(line), more = strlen(text);
  if (length + more < 128) memcpy(line + length, text, more + 1);
}

// Because of SA_RESETHAND, raising the signal again ends the program with the right exit status.
static void on_end(int number) {
  const cli_command_t *command = resumed;
  char line[128] = "ufp4";  // a single write, because ranks of one mpirun share standard error
  add(line, command != NULL ? " " : "");
  add(line, command != NULL ? command->name : "");
  add(line, number == SIGINT    ? ": interrupted"
            : number == SIGTERM ? ": terminated"
                                : ": the terminal is gone");
  add(line, command != NULL ? "; --resume continues it\n" : "\n");
  say(line);
  remove_waveforms();
  raise(number);
}

// Ignored signals stay ignored, as set by nohup and by shells for background programs.
static void handle_ends(void (*call)(int), int flags) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before, handler = {.sa_handler = call, .sa_flags = flags};
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
      sigaction(numbers[i], &handler, NULL);
  }
}

// Read by threads, written by a handler.
static atomic_int interrupted;
_Static_assert(ATOMIC_INT_LOCK_FREE == 2, "a handler may use an atomic only where it has no lock");

static void on_interrupt(int number) {
  int none = 0;
  if (atomic_compare_exchange_strong(&interrupted, &none, number)) return;
  signal(number, SIG_DFL);
  on_end(number);
}

// With SA_RESTART an interrupted system call continues, and no file is left half read.
void cli_catch_interrupts(void) {
  handle_ends(on_interrupt, SA_RESTART);
}

int cli_interrupted(void) {
  return atomic_load(&interrupted);
}

int cli_fail_interrupted(const cli_command_t *command, const char *how) {
  return cli_fail(command, 128 + cli_interrupted(), "%s; %s",
                  cli_interrupted() == SIGINT ? "interrupted" : "terminated", how);
}

void cli_signals_begin(void) {
  handle_ends(on_end, (int)SA_RESETHAND);
  // If the parent ignores SIGCHLD, waiting for children would fail.
  signal(SIGCHLD, SIG_DFL);
  signal(SIGXFSZ,
         SIG_IGN);  // a write beyond ulimit -f then fails with EFBIG, like any other error
}

// The writer of waveforms maps files into memory, so a full disk raises a signal.
static void on_bus_error(int number) {
  (void)number;
  say(waveforms_line);
  remove_waveforms();
  _exit(CLI_DEVICE);
}

void cli_signals_trace(const char *path, const char *beside) {
  struct sigaction handler = {.sa_handler = on_bus_error};
  snprintf(waveforms, sizeof waveforms, "%s", beside);
  snprintf(hierarchy, sizeof hierarchy, "%s.hier", beside);
  snprintf(waveforms_line, sizeof waveforms_line,
           "ufp4: %s: the waveforms could not be written completely: no space there, or in the "
           "folder for temporary files\n",
           path);
  sigaction(SIGBUS, &handler, NULL);
}
