// SPDX-License-Identifier: Apache-2.0
// Signals that end the program say so, and those that tell of a full disk become an error or a
// line.
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

// A handler may call only what is async-signal-safe: write, unlink, _exit and the like.
static void say(const char *text) {
  (void)!write(STDERR_FILENO, text, strlen(text));
}

// The name of the waveforms until they are whole, and that of the file which their writer keeps
// beside.
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

// SA_RESETHAND: raised again, it ends the program, with the exit status that belongs to it.
static void on_end(int number) {
  const cli_command_t *command = resumed;
  char line[128] = "ufp4";  // one write, for ranks of one mpirun share standard error
  add(line, command != NULL ? " " : "");
  add(line, command != NULL ? command->name : "");
  add(line, number == SIGINT    ? ": interrupted"
            : number == SIGTERM ? ": terminated"
                                : ": the terminal is gone");
  add(line, command != NULL ? "; --resume goes on with it\n" : "\n");
  say(line);
  remove_waveforms();
  raise(number);
}

// Not those that are ignored: nohup, and what a shell runs in the background, ignore some.
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

// SA_RESTART: a system call that was under way goes on, and no file is left half read.
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
  // Ignored by who has started this, ends of children could not be waited for.
  signal(SIGCHLD, SIG_DFL);
  signal(SIGXFSZ,
         SIG_IGN);  // a write beyond ulimit -f fails with EFBIG, and is reported as any other
}

// The writer of waveforms maps files into memory: a disk that is full comes as a signal.
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
           "ufp4: %s: the waveforms could not be written whole: no room there, or in the folder of "
           "temporary files\n",
           path);
  sigaction(SIGBUS, &handler, NULL);
}
