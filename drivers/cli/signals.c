// SPDX-License-Identifier: Apache-2.0
// Signals that end the program say so, and those that tell of a full disk become an error or a
// line.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

// A handler may call only what is async-signal-safe: write, unlink, _exit and the like.
static void say(const char *text) {
  (void)!write(STDERR_FILENO, text, strlen(text));
}

// What the waveforms are called until they are whole, and what their writer keeps beside.
static char waveforms[4096], hierarchy[4096 + 8], waveforms_line[4096 + 128];

static void remove_waveforms(void) {
  if (waveforms[0] == '\0') return;
  unlink(waveforms);
  unlink(hierarchy);
}

// SA_RESETHAND: raised again, it ends the program, with the exit status that belongs to it.
static void on_end(int number) {
  say(number == SIGINT    ? "ufp4: interrupted\n"
      : number == SIGTERM ? "ufp4: terminated\n"
                          : "ufp4: the terminal is gone\n");
  remove_waveforms();
  raise(number);
}

void cli_signals_begin(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    struct sigaction before, handler = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND};
    // nohup, and what a shell runs in the background, ignore some.
    if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
      sigaction(numbers[i], &handler, NULL);
  }
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
