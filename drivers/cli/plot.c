// SPDX-License-Identifier: Apache-2.0
#include "plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int is_png(const char *path) {
  size_t length = strlen(path);
  return length > 4 && strcmp(path + length - 4, ".png") == 0;
}

static int is_svg(const char *path) {
  size_t length = strlen(path);
  return length > 4 && strcmp(path + length - 4, ".svg") == 0;
}

// Runs gnuplot on standard input @p input (-1: none). @return its exit status, or -1.
static int run_gnuplot(char *argument, int input) {
  char *const arguments[] = {"gnuplot", argument, NULL};
  posix_spawn_file_actions_t actions;
  pid_t child;
  int status;
  posix_spawn_file_actions_init(&actions);
  if (input >= 0) posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  int failed = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

int plot_check(const cli_command_t *command, const char *path) {
  if (!is_png(path) && !is_svg(path)) {
    return cli_fail(command, CLI_USAGE, "--plot: '%s' ends neither in .svg nor in .png", path);
  }
  // The name goes into gnuplot's script between quotes.
  if (strpbrk(path, "'\n") != NULL) return cli_fail(command, CLI_USAGE, "--plot: no quotes in the name, please");
  int end = cli_output_file(command, path, CLI_ANY_FILE, NULL, 0);
  if (end != CLI_GO_ON) return end;
  char version[] = "--version";
  if (run_gnuplot(version, -1) == 0) return CLI_GO_ON;
  return cli_fail(command, CLI_DEVICE, "--plot needs gnuplot: apt-get install gnuplot-nox");
}

int plot_begin(plot_t *plot, const cli_command_t *command, const char *path, int width, int height) {
  size_t size = strlen(path) + 8;
  *plot = (plot_t){.command = command, .path = path, .beside = malloc(size), .script = tmpfile()};
  int made = -1;
  if (plot->beside != NULL && plot->script != NULL) {
    snprintf(plot->beside, size, "%s.XXXXXX", path);
    made = mkstemp(plot->beside);
  }
  if (made < 0) {
    int end = cli_fail(command, CLI_DEVICE, "--plot: no temporary file: %s", strerror(errno));
    if (plot->script != NULL) fclose(plot->script);
    free(plot->beside);
    return end;
  }
  mode_t mask = umask(0);
  umask(mask);
  (void)fchmod(made, 0666 & ~mask);  // as any other output
  close(made);
  fprintf(plot->script, "set terminal %s size %d,%d font 'sans,11'\nset output '%s'\n",
          is_png(path) ? "pngcairo" : "svg", width, height, plot->beside);
  return CLI_GO_ON;
}

int plot_end(plot_t *plot) {
  char input[] = "-";
  int good = fflush(plot->script) == 0 && !ferror(plot->script);
  rewind(plot->script);
  good = good && run_gnuplot(input, fileno(plot->script)) == 0 && rename(plot->beside, plot->path) == 0;
  int end = good ? CLI_GO_ON : cli_fail(plot->command, CLI_DEVICE, "%s: gnuplot could not draw it", plot->path);
  if (!good) unlink(plot->beside);
  fclose(plot->script);
  free(plot->beside);
  return end;
}
