// SPDX-License-Identifier: Apache-2.0
#include "maker.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE "ufp4.report"
enum { FIRST_WORDS = 4, MAX_WORDS = 8, ENDS = 3 };

// Runs -m MODULE without the working directory in the module path, because a file there could
// shadow ours. (Python 3.11 has -P for this.)
static const char run_module[] =
    "import sys\n"
    "sys.path[:] = filter(None, sys.path)\n"
    "try:\n"
    "  from " MODULE
    ".__main__ import main\n"
    "except ImportError as error:\n"
    "  print(f'" MODULE
    ": UFP4_PYTHON: {error}; name a Python that has ufp4[report]', file=sys.stderr)\n"
    "  sys.exit(3)\n"
    "sys.exit(main())\n";

extern char **environ;

static const char *interpreter(void) {
  const char *name = getenv("UFP4_PYTHON");
  return name != NULL && name[0] != '\0' ? name : NULL;
}

int maker_is_there(void) {
  return interpreter() != NULL;
}

// --- Signals ------------------------------------------------------------------------------------

static const int ends[ENDS] = {SIGINT, SIGTERM, SIGHUP};
static volatile sig_atomic_t process;  // the interpreter while it runs
static volatile sig_atomic_t ended;    // the signal that arrived meanwhile

// Forwards signals that end this program to the interpreter.
static void pass_on(int number) {
  const int before = errno;
  ended = number;
  if (process > 0) kill((pid_t)process, SIGTERM);
  errno = before;
}

static void catch_ends(struct sigaction before[ENDS]) {
  const struct sigaction handler = {.sa_handler = pass_on};
  for (int i = 0; i < ENDS; i++) {
    if (sigaction(ends[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
      sigaction(ends[i], &handler, NULL);
  }
}

// The signal then also applies to this program, which continues only if its command handles it.
static int settle(const cli_command_t *command, int end) {
  if (ended == 0) return end;
  raise(ended);
  return end == CLI_GO_ON ? end : cli_fail_interrupted(command, "the report is incomplete");
}

// --- The run ------------------------------------------------------------------------------------

// Makes a nameless file, positioned at its beginning.
static int write_document(const cli_command_t *command, json_t *document, FILE **file) {
  const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(17);
  const char *folder = getenv("TMPDIR");
  char path[PATH_MAX];
  if (folder == NULL || folder[0] == '\0') folder = "/tmp";
  errno = ENAMETOOLONG;
  const int fits = snprintf(path, sizeof path, "%s/ufp4-XXXXXX", folder) < (int)sizeof path;
  const int handle = fits ? mkstemp(path) : -1;
  if (handle >= 0) {
    errno = 0;
    unlink(path);
    *file = fdopen(handle, "w+");
    if (*file == NULL) close(handle);
  }
  const int whole = *file != NULL && json_dumpf(document, *file, flags) == 0 && fflush(*file) == 0;
  if (whole) rewind(*file);
  return whole ? CLI_GO_ON
               : cli_fail(command, CLI_DEVICE, "cannot write a temporary file in %s: %s", folder,
                          strerror(errno != 0 ? errno : ENOMEM));
}

// Starts Python with these words. @return an errno.
static int start(const char *const *words, FILE *in, pid_t *pid) {
  const char *argv[FIRST_WORDS + MAX_WORDS + 1] = {interpreter(), "-B", "-c", run_module};
  posix_spawn_file_actions_t actions;
  for (int i = 0; i < MAX_WORDS && words[i] != NULL; i++) argv[FIRST_WORDS + i] = words[i];
  fflush(stdout);
  if (posix_spawn_file_actions_init(&actions) != 0) return ENOMEM;
  int failed = 0;
  if (in != NULL) failed = posix_spawn_file_actions_adddup2(&actions, fileno(in), STDIN_FILENO);
  // The words are not modified; the type of posix_spawn's parameter is older than const.
  if (failed == 0)
    failed = posix_spawnp(pid, argv[0], &actions, NULL, (char *const *)(uintptr_t)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  return failed;
}

// The process number must stay reserved until signals are no longer forwarded to it. @return an
// errno
static int wait_for(pid_t pid, int *status) {
  siginfo_t about;
  process = pid;
  if (ended != 0) kill(pid, SIGTERM);
  while (waitid(P_PID, (id_t)pid, &about, WEXITED | WNOWAIT) < 0 && errno == EINTR) continue;
  process = 0;
  while (waitpid(pid, status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return 0;
}

static int fail(const cli_command_t *command, const char *const *words, int error, int status) {
  const char *python = interpreter();
  while (words[1] != NULL) words++;
  if (ended != 0) return 128 + ended;
  if (error != 0)
    return cli_fail(command, CLI_DEVICE, "UFP4_PYTHON: %s: %s", python, strerror(error));
  if (WIFEXITED(status) && (WEXITSTATUS(status) == CLI_USAGE || WEXITSTATUS(status) == CLI_DEVICE))
    return CLI_DEVICE;  // it has printed the reason
  if (WIFSIGNALED(status))
    return cli_fail(command, CLI_DEVICE, "%s -m " MODULE " %s was ended by signal %d", python,
                    *words, WTERMSIG(status));
  return cli_fail(command, CLI_DEVICE, "%s -m " MODULE " %s has failed", python, *words);
}

static int make(const cli_command_t *command, FILE *in, const char *const *words) {
  struct sigaction before[ENDS];
  pid_t pid;
  int status = 0;
  ended = 0;
  catch_ends(before);
  int error = start(words, in, &pid);
  if (error == 0) error = wait_for(pid, &status);
  for (int i = 0; i < ENDS; i++) sigaction(ends[i], &before[i], NULL);
  if (error == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return CLI_GO_ON;
  return fail(command, words, error, status);
}

int maker_run(const cli_command_t *command, json_t *document, const char *const *words) {
  FILE *in = NULL;
  int end = write_document(command, document, &in);
  json_decref(document);
  if (end == CLI_GO_ON) end = settle(command, make(command, in, words));
  if (in != NULL) fclose(in);
  return end;
}

// Searches for a program as posix_spawnp does. @return an errno
static int find(const char *name) {
  char path[PATH_MAX];
  const char *folders = getenv("PATH");
  if (strchr(name, '/') != NULL || folders == NULL) return access(name, X_OK) == 0 ? 0 : errno;
  for (;; folders++) {
    const int length = (int)strcspn(folders, ":");
    const int size = snprintf(path, sizeof path, "%.*s/%s", length, folders, name);
    if (size < (int)sizeof path && access(length > 0 ? path : name, X_OK) == 0) return 0;
    folders += length;
    if (*folders == '\0') return ENOENT;
  }
}

int maker_check(const cli_command_t *command) {
  const int error = find(interpreter());
  return error == 0
             ? CLI_GO_ON
             : cli_fail(command, CLI_DEVICE, "UFP4_PYTHON: %s: %s", interpreter(), strerror(error));
}

int maker_draw(const cli_command_t *command, const char *document, const char *page) {
  if (maker_is_there()) {
    const int end = make(command, NULL, (const char *const[]){"--", document, NULL});
    if (end != CLI_GO_ON) (void)remove(page);
    return settle(command, end);
  }
  (void)remove(page);
  char quoted[4 * PATH_MAX];
  (void)cli_quote(document, quoted, sizeof quoted);
  fprintf(stderr,
          "ufp4 %s: report.html is not drawn, because UFP4_PYTHON names no Python; with one that "
          "has ufp4[report]: python3 -m " MODULE " %s%s\n",
          command->name, document[0] == '-' ? "-- " : "", quoted);
  return CLI_GO_ON;
}
