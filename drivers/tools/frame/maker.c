// SPDX-License-Identifier: Apache-2.0
#include "maker.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE "ufp4.report"
enum { FIRST_WORDS = 4, MAX_WORDS = 8 };
// As -m, without the folder in which the user happens to be, whose csv.py it would run; -P does so
// from Python 3.11 on.
static const char START[] =
    "import sys; sys.path[:] = [p for p in sys.path if p]; import runpy; "
    "runpy.run_module('" MODULE "', run_name='__main__', alter_sys=True)";

extern char **environ;

static const char *interpreter(void) {
  const char *name = getenv("UFP4_PYTHON");
  return name != NULL && name[0] != '\0' ? name : NULL;
}

int maker_is_there(void) {
  return interpreter() != NULL;
}

// A file without a name, at its beginning. @return an errno
static int write_document(json_t *document, FILE **file) {
  const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(17);
  errno = 0;
  *file = tmpfile();
  const int whole = *file != NULL && json_dumpf(document, *file, flags) == 0 && fflush(*file) == 0;
  if (whole) rewind(*file);
  return whole ? 0 : errno != 0 ? errno : ENOMEM;
}

// @return an errno. @param[out] status as of waitpid
static int run(const char *const *words, FILE *in, int *status) {
  const char *argv[FIRST_WORDS + MAX_WORDS + 1] = {interpreter(), "-B", "-c", START};
  posix_spawn_file_actions_t actions;
  pid_t process;
  for (int i = 0; i < MAX_WORDS && words[i] != NULL; i++) argv[FIRST_WORDS + i] = words[i];
  fflush(stdout);
  if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  int failed = 0;
  if (in != NULL) failed = posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  // The words are not written to: posix_spawn's type is older than const.
  if (failed == 0)
    failed =
        posix_spawnp(&process, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  while (failed == 0 && waitpid(process, status, 0) < 0) failed = errno == EINTR ? 0 : errno;
  return failed;
}

static int fail(const cli_command_t *command, const char *words, int error, int status) {
  const char *python = interpreter();
  if (error != 0)
    return cli_fail(command, CLI_DEVICE, "UFP4_PYTHON: %s: %s", python, strerror(error));
  if (WIFEXITED(status) && (WEXITSTATUS(status) == CLI_USAGE || WEXITSTATUS(status) == CLI_DEVICE))
    return CLI_DEVICE;  // it has said why
  if (WIFSIGNALED(status))
    return cli_fail(command, CLI_DEVICE, "%s -m " MODULE " %s was ended by signal %d", python,
                    words, WTERMSIG(status));
  return cli_fail(command, CLI_DEVICE, "%s -m " MODULE " %s has failed", python, words);
}

int maker_run(const cli_command_t *command, json_t *document, const char *const *words) {
  int status = 0, error = 0;
  FILE *in = NULL;
  if (document != NULL) error = write_document(document, &in);
  if (error == 0) error = run(words, in, &status);
  if (in != NULL) fclose(in);
  json_decref(document);
  if (error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return CLI_GO_ON;
  return fail(command, words[0], error, status);
}

int maker_draw(const cli_command_t *command, const char *document, const char *page) {
  if (maker_is_there()) {
    const int end = maker_run(command, NULL, (const char *const[]){document, NULL});
    if (end != CLI_GO_ON) (void)remove(page);
    return end;
  }
  (void)remove(page);
  fprintf(stderr,
          "ufp4 %s: UFP4_PYTHON names no Python to draw report.html with; one with ufp4[report] "
          "does: python3 -m " MODULE " %s\n",
          command->name, document);
  return CLI_GO_ON;
}
