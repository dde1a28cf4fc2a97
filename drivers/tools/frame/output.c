// SPDX-License-Identifier: Apache-2.0
// Checks the files of -o before the work, so that it does not fail after it.
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli.h"

int cli_fail_errno(const cli_command_t *command, const char *path, const char *doing) {
  ufp4_message_t message;
  ufp4_status_t status = file_fail(path, doing, &message);
  return cli_fail_status(command, status, message.text);
}

// Checks that a new file can be created in the path's folder.
static int check_parent(const cli_command_t *command, const char *path) {
  char *parent = strdup(path);
  if (parent == NULL) return cli_fail_status(command, UFP4_ERROR_MEMORY, NULL);
  size_t end = strlen(parent);
  while (end > 1 && parent[end - 1] == '/') end--;
  while (end > 0 && parent[end - 1] != '/') end--;
  parent[end] = '\0';
  const char *folder = end == 0 ? "." : parent;
  struct stat about;
  int result = CLI_GO_ON;
  if (stat(folder, &about) != 0 || access(folder, W_OK | X_OK) != 0) {
    result = cli_fail_errno(command, path, "create");
  } else if (!S_ISDIR(about.st_mode)) {
    errno = ENOTDIR;
    result = cli_fail_errno(command, path, "create");
  }
  free(parent);
  return result;
}

static int is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static int ends_in(const char *path, const char *suffix) {
  const size_t length = strlen(path), end = strlen(suffix);
  return length >= end && strcmp(path + length - end, suffix) == 0;
}

// Returns whether it is one of the files that are read from a checkpoint in @p folder.
static int is_of_checkpoint(const char *target, const char *parent, const struct stat *folder) {
  struct stat about;
  return (ends_in(target, ".safetensors") || ends_in(target, ".json")) &&
         stat(parent, &about) == 0 && is_same(&about, folder);
}

// Inputs are FILE, FILE:NAME, or FOLDER and FOLDER:NAME of a checkpoint.
static int is_same_file(const struct stat *output, const char *target, const char *input) {
  struct stat about;
  char *file = strdup(input), *parent = strdup(target);
  if (parent != NULL) *(strrchr(parent, '/') + 1) = '\0';
  int same = 0;
  for (char *end = file != NULL ? file + strlen(file) : NULL;
       end != NULL && parent != NULL && !same;) {
    if (stat(file, &about) == 0) {
      same = S_ISDIR(about.st_mode) ? is_of_checkpoint(target, parent, &about)
                                    : is_same(&about, output);
    }
    end = strrchr(file, ':');
    if (end != NULL) *end = '\0';
  }
  free(file);
  free(parent);
  return same;
}

// The name must have an ending that readers of this kind of file accept. "-" is refused, because
// nothing is written to standard output.
static int check_name(const cli_command_t *command, const char *path, cli_file_t kind) {
  const char *slash = strrchr(path, '/'), *file = slash != NULL ? slash + 1 : path;
  if (path[0] == '\0') return cli_fail(command, CLI_USAGE, "the name of the output is empty");
  if (strcmp(path, "-") == 0) {
    return cli_fail(
        command, CLI_USAGE,
        "-: this command does not write to standard output; name a file (./- for one called '-')");
  }
  if (path[0] == '=') {
    return cli_fail(command, CLI_USAGE,
                    "'%s' begins with '='; leave it out, or write ./%s for a file of that name",
                    path, path);
  }
  if (kind == CLI_NPY && (ends_in(path, ".safetensors") || strstr(file, ".safetensors:") != NULL)) {
    return cli_fail(command, CLI_USAGE,
                    "%s: this command writes a .npy file; choose a name that ends in .npy", path);
  }
  if (kind == CLI_SAFETENSORS && (ends_in(path, ".npy") || strstr(file, ".safetensors:") != NULL)) {
    return cli_fail(
        command, CLI_USAGE,
        "%s: this command writes a .safetensors file; choose a name that ends in .safetensors",
        path);
  }
  return CLI_GO_ON;
}

// Finds the file to which a write to @p path goes. @return CLI_GO_ON, or the exit status.
static int find_target(const cli_command_t *command, const char *path, char **target) {
  ufp4_message_t message;
  ufp4_status_t status = file_target(path, target, &message);
  return status == UFP4_OK ? CLI_GO_ON : cli_fail_status(command, status, message.text);
}

// Finds the folder that @p path leads to, which may end in slashes. Prints nothing.
static ufp4_status_t find_folder(const char *path, char **target, ufp4_message_t *message) {
  size_t length = strlen(path);
  while (length > 1 && path[length - 1] == '/') length--;
  char *name = strndup(path, length);
  if (name == NULL) return UFP4_ERROR_MEMORY;
  ufp4_status_t status = file_target(name, target, message);
  free(name);
  return status;
}

// Checks an existing file that is to be replaced.
static int check_present(const cli_command_t *command, const char *path, const char *target,
                         const struct stat *about, const char *const *inputs, int count) {
  struct stat printed;
  for (int i = 0; i < count; i++) {
    if (inputs[i] == NULL || !is_same_file(about, target, inputs[i])) continue;
    return cli_fail(command, CLI_USAGE, "%s: this output is also an input (%s); name another", path,
                    inputs[i]);
  }
  if (fstat(STDOUT_FILENO, &printed) == 0 && is_same(&printed, about)) {
    return cli_fail(command, CLI_USAGE,
                    "%s: standard output goes to this file; name another output", path);
  }
  // Renaming could replace a read-only file, but its owner has protected it.
  return access(path, W_OK) == 0 ? CLI_GO_ON : cli_fail_errno(command, path, "write");
}

int cli_output_file(const cli_command_t *command, const char *path, cli_file_t kind,
                    const char *const *inputs, int count) {
  struct stat about;
  char *target = NULL;
  int end = check_name(command, path, kind);
  if (end == CLI_GO_ON) end = find_target(command, path, &target);
  if (end == CLI_GO_ON && stat(target, &about) == 0)
    end = check_present(command, path, target, &about, inputs, count);
  if (end == CLI_GO_ON) end = check_parent(command, target);
  free(target);
  return end;
}

// Returns whether a target is this file of a folder, even if the file does not exist.
static int is_in(char *target, const struct stat *folder, const char *file) {
  struct stat about;
  char *slash = strrchr(target, '/');
  const char *name = slash != NULL ? slash + 1 : target;
  if (strcmp(name, file) != 0) return 0;
  if (slash == NULL) return stat(".", &about) == 0 && is_same(&about, folder);
  const char after = slash[1];
  slash[1] = '\0';
  const int same = stat(target, &about) == 0 && is_same(&about, folder);
  slash[1] = after;
  return same;
}

int cli_output_apart(const cli_command_t *command, const char *path, const char *folder,
                     const char *const *files, int count) {
  struct stat about;
  char *target = NULL;
  if (path == NULL || stat(folder, &about) != 0) return CLI_GO_ON;
  int end = find_target(command, path, &target);
  for (int i = 0; i < count && end == CLI_GO_ON; i++) {
    if (is_in(target, &about, files[i]))
      end = cli_fail(command, CLI_USAGE, "%s: -o %s writes a file of this name; name another", path,
                     folder);
  }
  free(target);
  return end;
}

// Checks an existing folder.
static int check_directory(const cli_command_t *command, const char *path,
                           const struct stat *about) {
  if (!S_ISDIR(about->st_mode)) {
    return cli_fail(command, CLI_USAGE, "%s: already exists and is not a directory", path);
  }
  return access(path, W_OK | X_OK) == 0 ? CLI_GO_ON : cli_fail_errno(command, path, "write into");
}

// Finds the target of a folder name that does not exist yet; another process may create it
// meanwhile.
static int find_new_folder(const cli_command_t *command, const char *path, char **target) {
  struct stat about;
  ufp4_message_t message;
  ufp4_status_t status = find_folder(path, target, &message);
  if (status == UFP4_OK) return CLI_GO_ON;
  if (stat(path, &about) == 0) return check_directory(command, path, &about);
  return cli_fail_status(command, status, message.text);
}

int cli_output_directory(const cli_command_t *command, const char *path) {
  struct stat about;
  char *target = NULL;
  int end = check_name(command, path, CLI_ANY_FILE);
  if (end != CLI_GO_ON) return end;
  if (stat(path, &about) == 0) return check_directory(command, path, &about);
  end = find_new_folder(command, path, &target);
  if (end == CLI_GO_ON && target != NULL) end = check_parent(command, target);
  free(target);
  return end;
}

// The lock ends with the process. If a file system has no locks, nothing is checked.
int cli_output_lock(const cli_command_t *command, const char *path) {
  const int file = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0 || flock(file, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return CLI_GO_ON;
  close(file);
  return cli_fail(command, CLI_USAGE, "%s: another process is using this folder", path);
}

void cli_output_remove_directory(const char *path) {
  char *target = realpath(path, NULL);
  if (target != NULL) rmdir(target);
  free(target);
}

int cli_output_make_directory(const cli_command_t *command, const char *path, int *made) {
  struct stat about;
  char *target = NULL;
  *made = 0;
  if (stat(path, &about) == 0) return check_directory(command, path, &about);
  int end = find_new_folder(command, path, &target);
  if (end != CLI_GO_ON || target == NULL) return end;
  *made = mkdir(target, 0777) == 0;
  if (!*made && errno != EEXIST) end = cli_fail_errno(command, path, "make this directory");
  free(target);
  return end;
}
