// SPDX-License-Identifier: Apache-2.0
// Tests signals during long work: the first one is reported, the second ends the program.
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "frame/cli.h"

static const cli_command_t command = {.name = "train"};

// The status of a process that has called @p work, and the text that it printed to stderr.
typedef struct {
  int status;
  char said[300];
} ending_t;

static ending_t end_of(void (*work)(void)) {
  ending_t out = {0};
  int ends[2];
  check_that(0, pipe(ends) == 0, "a pipe");
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    work();
    _exit(0);
  }
  close(ends[1]);
  for (ssize_t got, used = 0;
       (got = read(ends[0], out.said + used, sizeof out.said - 1 - (size_t)used)) > 0; used += got)
    continue;
  close(ends[0]);
  waitpid(child, &out.status, 0);
  return out;
}

// Works until a signal has come, as a training does.
static void catch_one(int number) {
  cli_signals_begin();
  cli_catch_interrupts();
  if (cli_interrupted() != 0) _exit(99);
  raise(number);
  _exit(cli_fail_interrupted(&command, "the same command with --resume goes on"));
}
static void catch_int(void) {
  catch_one(SIGINT);
}
static void catch_term(void) {
  catch_one(SIGTERM);
}

TEST(first_signal_is_told_of) {
  ending_t end = end_of(catch_int);
  check_that(0, WIFEXITED(end.status) && WEXITSTATUS(end.status) == 130, "status %x", end.status);
  check_that(
      1, strcmp(end.said, "ufp4 train: interrupted; the same command with --resume goes on\n") == 0,
      "said: %s", end.said);
  end = end_of(catch_term);
  check_that(2, WIFEXITED(end.status) && WEXITSTATUS(end.status) == 143, "status %x", end.status);
  check_that(3, strncmp(end.said, "ufp4 train: terminated; ", 24) == 0, "said: %s", end.said);
}

static void catch_two(void) {
  cli_signals_begin();
  cli_catch_interrupts();
  raise(SIGINT);
  raise(SIGINT);
  _exit(99);
}

TEST(second_signal_ends_at_once) {
  ending_t end = end_of(catch_two);
  check_that(0, WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGINT, "status %x", end.status);
  check_that(1, strcmp(end.said, "ufp4: interrupted\n") == 0, "said: %s", end.said);
}

static void catch_none(void) {
  cli_signals_begin();
  raise(SIGTERM);
  _exit(99);
}

TEST(signal_ends_work_that_does_not_ask) {
  ending_t end = end_of(catch_none);
  check_that(0, WIFSIGNALED(end.status) && WTERMSIG(end.status) == SIGTERM, "status %x",
             end.status);
  check_that(1, strcmp(end.said, "ufp4: terminated\n") == 0, "said: %s", end.said);
}

static void ignore(void) {
  signal(SIGHUP, SIG_IGN);
  cli_signals_begin();
  cli_catch_interrupts();
  raise(SIGHUP);
  raise(SIGHUP);
  _exit(cli_interrupted());
}

TEST(ignored_signals_stay_ignored) {
  ending_t end = end_of(ignore);
  check_that(0, WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0, "status %x", end.status);
}
