// SPDX-License-Identifier: Apache-2.0
// Tests that files are written whole or not at all, whether or not the file system has unnamed
// files, that symbolic links are followed, and that a pipe can be read like a file.
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "check.h"

// --- The folder of the test ---------------------------------------------------------------------

static char folder[PATH_MAX];
static int proc_is_hidden;

int __real_access(const char *path, int mode);
int __wrap_access(const char *path, int mode);

// Without /proc an unnamed file cannot be given a name later, so that a named one is written
// instead.
int __wrap_access(const char *path, int mode) {
  return proc_is_hidden && strcmp(path, "/proc/self/fd") == 0 ? -1 : __real_access(path, mode);
}

static void make_folder(void) {
  char here[] = "file-XXXXXX";
  if (mkdtemp(here) == NULL || realpath(here, folder) == NULL) abort();
}

/** Returns the path of @p name in the folder; the text is valid until the fourth call from now. */
static const char *in_folder(const char *name) {
  static char paths[4][PATH_MAX + 300];
  static int last;
  last = (last + 1) % 4;
  snprintf(paths[last], sizeof paths[last], "%s/%s", folder, name);
  return paths[last];
}

/** Returns the temporary name that a file of this process has until it is whole. */
static const char *beside(int attempt) {
  char name[64];
  snprintf(name, sizeof name, ".ufp4-%ld-%d.tmp", (long)getpid(), attempt);
  return in_folder(name);
}

static void put(const char *path, const char *text) {
  FILE *file = fopen(path, "w");
  if (file == NULL || fputs(text, file) < 0 || fclose(file) != 0) abort();
}

static void check_holds(int64_t index, const char *path, const char *want) {
  char got[64] = {0};
  FILE *file = fopen(path, "r");
  check_that(
      index,
      file != NULL && fread(got, 1, sizeof got - 1, file) == strlen(want) && strcmp(got, want) == 0,
      "%s holds '%s', not '%s'", path, got, want);
  if (file != NULL) fclose(file);
}

// Removes the folder, which fails if an unexpected file is left in it.
static void remove_folder(int64_t index, const char *const *names, int count) {
  for (int i = 0; i < count; i++) remove(in_folder(names[i]));
  check_that(index, rmdir(folder) == 0, "something was left behind in %s", folder);
}

static void check_message(int64_t index, const ufp4_message_t *message, const char *words) {
  check_that(index, strstr(message->text, words) != NULL, "'%s' does not say '%s'", message->text,
             words);
}

static void open_out(const char *path, file_out_t *out) {
  ufp4_message_t message = {0};
  check_bits(0, file_out_open(path, out, &message), UFP4_OK, "open: %s", message.text);
  if (out->stream == NULL) abort();
}

// --- Written whole or not at all ----------------------------------------------------------------

static const char *const out_name[] = {"out"};

TEST(takes_its_name_when_it_is_whole) {
  for (proc_is_hidden = 0; proc_is_hidden < 2; proc_is_hidden++) {
    file_out_t out;
    struct stat about = {0};
    make_folder();
    put(in_folder("out"), "old");
    chmod(in_folder("out"), 0604);
    open_out(in_folder("out"), &out);
    fputs("new", out.stream);
    check_bits(0, file_out_flush(&out, NULL), UFP4_OK, "flush");
    check_holds(proc_is_hidden, in_folder("out"), "old");
    check_that(proc_is_hidden, out.named || !proc_is_hidden, "written without a name");
    check_that(proc_is_hidden, (__real_access(beside(0), F_OK) == 0) == out.named,
               "a name while it is written");
    check_bits(0, file_out_close(&out, NULL), UFP4_OK, "close");
    check_holds(proc_is_hidden, in_folder("out"), "new");
    stat(in_folder("out"), &about);
    check_bits(proc_is_hidden, about.st_mode & 0777, 0604, "mode");
    remove_folder(proc_is_hidden, out_name, 1);
  }
}

TEST(discarded_leaves_what_was_there) {
  for (proc_is_hidden = 0; proc_is_hidden < 2; proc_is_hidden++) {
    file_out_t out;
    make_folder();
    put(in_folder("out"), "old");
    open_out(in_folder("out"), &out);
    fputs("new", out.stream);
    file_out_discard(&out);
    file_out_discard(&out);
    check_holds(proc_is_hidden, in_folder("out"), "old");
    remove_folder(proc_is_hidden, out_name, 1);
  }
}

static volatile sig_atomic_t signals;
static void count_signal(int number) {
  (void)number;
  signals++;
}

// A signal that ended the process would leave a temporary file behind.
TEST(signals_wait_while_it_has_another_name) {
  signal(SIGUSR1, count_signal);
  for (int i = 0; i < 4; i++) {
    const int discard = i / 2;
    file_out_t out;
    proc_is_hidden = i % 2;
    signals = 0;
    make_folder();
    open_out(in_folder("out"), &out);
    raise(SIGUSR1);
    check_bits(i, (uint64_t)signals, out.named ? 0 : 1, "signals while it is written");
    if (discard) file_out_discard(&out);
    if (!discard) check_bits(i, file_out_close(&out, NULL), UFP4_OK, "close");
    check_bits(i, (uint64_t)signals, 1, "signals afterwards");
    remove_folder(i, out_name, discard ? 0 : 1);
  }
}

TEST(names_that_are_taken_stay) {
  for (proc_is_hidden = 0; proc_is_hidden < 2; proc_is_hidden++) {
    file_out_t out;
    make_folder();
    put(beside(0), "another's");
    char *free_name = file_beside(in_folder("out"));
    check_that(proc_is_hidden, strcmp(free_name, beside(1)) == 0, "%s is free", free_name);
    free(free_name);
    open_out(in_folder("out"), &out);
    fputs("new", out.stream);
    check_bits(proc_is_hidden, file_out_close(&out, NULL), UFP4_OK, "close");
    check_holds(proc_is_hidden, in_folder("out"), "new");
    check_holds(proc_is_hidden, beside(0), "another's");
    remove(beside(0));
    remove_folder(proc_is_hidden, out_name, 1);
  }
}

TEST(rejects_a_folder_where_all_names_are_taken) {
  for (proc_is_hidden = 0; proc_is_hidden < 2; proc_is_hidden++) {
    ufp4_message_t message = {0};
    make_folder();
    for (int i = 0; i < 100; i++) put(beside(i), "another's");
    check_bits(proc_is_hidden, file_write(in_folder("out"), NULL, 0, &message), UFP4_ERROR_IO,
               "write");
    check_message(proc_is_hidden, &message, "File exists");
    for (int i = 0; i < 100; i++) {
      check_holds(i, beside(i), "another's");
      remove(beside(i));
    }
    remove_folder(proc_is_hidden, out_name, 0);
  }
}

TEST(rejects_a_target_that_has_become_a_folder) {
  for (proc_is_hidden = 0; proc_is_hidden < 2; proc_is_hidden++) {
    ufp4_message_t message = {0};
    file_out_t out;
    make_folder();
    open_out(in_folder("out"), &out);
    mkdir(in_folder("out"), 0777);
    check_bits(proc_is_hidden, file_out_close(&out, &message), UFP4_ERROR_IO, "close");
    check_message(proc_is_hidden, &message, "out: cannot write: Is a directory");
    remove_folder(proc_is_hidden, out_name, 1);
  }
}

// The folder is removed with its contents while a file is written there.
TEST(rejects_a_folder_that_has_gone) {
  ufp4_message_t message = {0};
  file_out_t out;
  proc_is_hidden = 0;
  make_folder();
  open_out(in_folder("out"), &out);
  remove(beside(0));
  remove_folder(0, out_name, 0);
  check_bits(0, file_out_close(&out, &message), UFP4_ERROR_IO, "close");
  check_message(0, &message, "No such file or directory");
}

// A limit on the size of files stands for a full disk.
TEST(rejects_what_does_not_fit) {
  static const char large[100000];
  const file_part_t parts[] = {{large, sizeof large}, {large, sizeof large}};
  struct rlimit before, limit;
  signal(SIGXFSZ, SIG_IGN);
  getrlimit(RLIMIT_FSIZE, &before);
  limit = (struct rlimit){1000, before.rlim_max};
  for (proc_is_hidden = 0; proc_is_hidden < 2; proc_is_hidden++) {
    ufp4_message_t messages[2] = {0};
    file_out_t out;
    make_folder();
    put(in_folder("out"), "old");
    setrlimit(RLIMIT_FSIZE, &limit);
    check_bits(0, file_write(in_folder("out"), parts, 2, &messages[0]), UFP4_ERROR_STORAGE, "all");
    open_out(in_folder("out"), &out);
    fwrite(large, 1, 2000, out.stream);
    check_bits(1, file_out_flush(&out, &messages[1]), UFP4_ERROR_STORAGE, "flush");
    file_out_discard(&out);
    setrlimit(RLIMIT_FSIZE, &before);
    for (int i = 0; i < 2; i++) check_message(i, &messages[i], "out: cannot write: File too large");
    check_holds(proc_is_hidden, in_folder("out"), "old");
    remove_folder(proc_is_hidden, out_name, 1);
  }
}

// --- Links --------------------------------------------------------------------------------------

static const char *shown(const char *target) {
  return target != NULL ? target : "nothing";
}

TEST(links_lead_to_their_end) {
  static const char *const links[][2] = {{"near", "file"},
                                         {"over", "near"},
                                         {"into", "there/later"},
                                         {"up", "there/down"},
                                         {"there/down", "../file"}};
  static const char *const all[] = {"near", "over", "into", "up", "far", "there/down", "there"};
  static const char *const ends[][2] = {
      {"file", "file"}, {"near", "file"}, {"over", "file"},         {"into", "there/later"},
      {"up", "file"},   {"far", "file"},  {"there/../file", "file"}};
  make_folder();
  mkdir(in_folder("there"), 0777);
  for (int i = 0; i < 5; i++)
    if (symlink(links[i][1], in_folder(links[i][0])) != 0) abort();
  if (symlink(in_folder("near"), in_folder("far")) != 0) abort();
  for (int i = 0; i < 7; i++) {
    char *target = NULL;
    check_bits(i, file_target(in_folder(ends[i][0]), &target, NULL), UFP4_OK, "%s", ends[i][0]);
    check_that(i, target != NULL && strcmp(target, in_folder(ends[i][1])) == 0, "%s leads to %s",
               ends[i][0], shown(target));
    free(target);
  }
  remove_folder(0, all, 7);
}

TEST(the_root_and_shared_memory_have_files) {
  static const char *const paths[] = {"/ufp4-none", "/dev/shm/ufp4-none"};
  for (int i = 0; i < 2; i++) {
    char *target = NULL;
    check_bits(i, file_target(paths[i], &target, NULL), UFP4_OK, "%s", paths[i]);
    check_that(i, target != NULL && strcmp(target, paths[i]) == 0, "%s became %s", paths[i],
               shown(target));
    free(target);
  }
}

TEST(rejects_names_that_lead_to_no_file) {
  static const char *const links[][2] = {
      {"self", "self"}, {"null", "/dev/null"}, {"folder", "."}, {"lost", "nowhere/file"}};
  static const char *const words[] = {"too many symbolic links", "device or stream",
                                      "links to something that is not a regular file",
                                      "No such file or directory"};
  static const char *const names[] = {"self", "null", "folder", "lost"};
  char *target;
  make_folder();
  for (int i = 0; i < 4; i++) {
    ufp4_message_t message = {0};
    if (symlink(links[i][1], in_folder(names[i])) != 0) abort();
    check_bits(i, file_target(in_folder(names[i]), &target, &message), UFP4_ERROR_IO, "status");
    check_message(i, &message, words[i]);
    check_that(i, target == NULL, "a target was named");
  }
  ufp4_message_t message = {0};
  check_bits(4, file_target("/proc/self/fd/1", &target, &message), UFP4_ERROR_IO, "a stream");
  check_message(4, &message, "device or stream");
  check_bits(5, file_target(folder, &target, &message), UFP4_ERROR_IO, "a folder");
  check_message(5, &message, "already exists and is not a regular file");
  remove_folder(0, names, 4);
}

// --- Reading ------------------------------------------------------------------------------------

static char sent(size_t index) {
  return (char)(index * 7 + index / 1000);
}

// Writes to the pipe in a process of its own, because the writer waits for the reader.
static void send(const char *path, size_t size) {
  FILE *file = fopen(path, "wb");
  for (size_t i = 0; i < size; i++) fputc(sent(i), file);
  fclose(file);
  _exit(0);
}

TEST(a_pipe_reads_as_a_file_does) {
  static const size_t sizes[] = {0, 1, 1 << 16, 200000};
  static const char *const names[] = {"pipe"};
  make_folder();
  if (mkfifo(in_folder("pipe"), 0600) != 0) abort();
  for (int i = 0; i < 4; i++) {
    static char got[200000];
    file_ranges_t file;
    const size_t from = sizes[i] / 3, size = sizes[i] - from;
    const pid_t sender = fork();
    if (sender == 0) send(in_folder("pipe"), sizes[i]);
    check_bits(i, file_ranges_open(in_folder("pipe"), &file, NULL), UFP4_OK, "open");
    check_bits(i, file.size, sizes[i], "size");
    check_bits(i, file_range_read(&file, from, size, got, NULL), UFP4_OK, "read");
    size_t equal = 0;
    while (equal < size && got[equal] == sent(from + equal)) equal++;
    check_bits(i, equal, size, "bytes that are equal");
    file_ranges_close(&file);
    waitpid(sender, NULL, 0);
  }
  remove_folder(0, names, 1);
}

TEST(rejects_a_file_that_is_cut_while_it_is_read) {
  char got[8];
  ufp4_message_t message = {0};
  file_ranges_t file;
  make_folder();
  put(in_folder("out"), "twelve bytes");
  check_bits(0, file_ranges_open(in_folder("out"), &file, NULL), UFP4_OK, "open");
  if (truncate(in_folder("out"), 6) != 0) abort();
  check_bits(1, file_range_read(&file, 4, 8, got, &message), UFP4_ERROR_IO, "read");
  check_message(1, &message, "out: truncated while it was read");
  file_ranges_close(&file);
  remove_folder(0, out_name, 1);
}
