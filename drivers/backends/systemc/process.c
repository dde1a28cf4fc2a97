// SPDX-License-Identifier: Apache-2.0
#define _GNU_SOURCE  // memfd_create, dladdr
#include "process.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM_NAME "ufp4-systemc"
// Limit for the program to report that it has started; nobody waits longer.
#define START_SECONDS 60
// File numbers after those that the program is given.
#define FIRST_FILE 10

extern char **environ;
static const char here = 0;  // an address in the library that contains this code

// --- The program --------------------------------------------------------------------------------

// The program is beside the library or program that contains this code, as in a build, or in the
// installed folder for such programs, relative to that of programs or libraries.
static int find_beside(const char *file, char path[PATH_MAX]) {
  static const char *const folders[] = {"", UFP4_LIBEXEC_FOLDER "/", "../" UFP4_LIBEXEC_FOLDER "/"};
  const char *slash = strrchr(file, '/');
  for (size_t i = 0; slash != NULL && i < sizeof folders / sizeof folders[0]; i++) {
    const int above = folders[i][0] == '/' ? 0 : (int)(slash + 1 - file);
    snprintf(path, PATH_MAX, "%.*s%s" PROGRAM_NAME, above, file, folders[i]);
    if (access(path, X_OK) == 0) return 1;
  }
  return 0;
}

static ufp4_status_t find_program(char path[PATH_MAX], ufp4_message_t *message) {
  const char *named = getenv("UFP4_SYSTEMC_PROGRAM");
  if (named != NULL && named[0] != '\0') {
    snprintf(path, PATH_MAX, "%s", named);
    if (access(path, X_OK) == 0) return UFP4_OK;
    ufp4_message_set(message, "systemc: UFP4_SYSTEMC_PROGRAM: %s: %s", named, strerror(errno));
    return UFP4_ERROR_UNSUPPORTED;
  }
  char self[PATH_MAX];
  Dl_info library;
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  self[length > 0 ? length : 0] = '\0';
  if (find_beside(self, path)) return UFP4_OK;
  if (dladdr(&here, &library) != 0 && find_beside(library.dli_fname, path)) return UFP4_OK;
  ufp4_message_set(message, "systemc: the program " PROGRAM_NAME
                            " is missing; ./ufp4 in the checkout builds it when --backend names "
                            "systemc, and so does a full build where libsystemc-dev is installed");
  return UFP4_ERROR_UNSUPPORTED;
}

// --- Start --------------------------------------------------------------------------------------

// The files to be passed on must not have numbers to which files are passed.
static int lift(int file) {
  const int lifted = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, FIRST_FILE);
  if (file >= 0) close(file);
  return lifted;
}

static ufp4_status_t share_memory(process_t *process, uint64_t bytes, int *file,
                                  ufp4_message_t *message) {
  *file = lift(memfd_create("ufp4 device memory", MFD_CLOEXEC));
  void *memory = MAP_FAILED;
  if (*file >= 0 && ftruncate(*file, (off_t)bytes) == 0)
    memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, *file, 0);
  if (memory == MAP_FAILED) {
    ufp4_message_set(message, "systemc: the host cannot allocate %llu bytes for the device memory",
                     (unsigned long long)bytes);
    return UFP4_ERROR_MEMORY;
  }
  process->memory = memory;
  process->memory_bytes = bytes;
  return UFP4_OK;
}

// Starts the program with no signal blocked, because this thread may have blocked some.
static int spawn(process_t *process, const char *path, int socket, int memory) {
  char *const words[] = {(char[]){PROGRAM_NAME}, NULL};
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  sigset_t none;
  sigemptyset(&none);
  if (posix_spawn_file_actions_init(&files) != 0) return ENOMEM;
  posix_spawnattr_init(&how);
  posix_spawnattr_setsigmask(&how, &none);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSIGMASK);
  int error = posix_spawn_file_actions_adddup2(&files, socket, SYSTEMC_SOCKET);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&files, memory, SYSTEMC_MEMORY);
  if (error == 0) error = posix_spawn(&process->pid, path, &files, &how, words, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return error;
}

static ufp4_status_t start_program(process_t *process, const char *path, int memory,
                                   ufp4_message_t *message) {
  int ends[2] = {-1, -1};
  const struct timeval patience = {.tv_sec = START_SECONDS};
  int error = socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0 ? 0 : errno;
  const int theirs = lift(ends[1]);
  if (error == 0 && theirs < 0) error = errno;
  if (error == 0)
    error =
        setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 ? 0 : errno;
  if (error == 0) error = spawn(process, path, theirs, memory);
  if (theirs >= 0) close(theirs);
  if (error == 0) {
    process->socket = ends[0];
    return UFP4_OK;
  }
  if (ends[0] >= 0) close(ends[0]);
  ufp4_message_set(message, "systemc: %s cannot be started: %s", path, strerror(error));
  return UFP4_ERROR_DEVICE;
}

// --- Calls --------------------------------------------------------------------------------------

// Ends the program if it is still running. @return its status as from waitpid; -1: another waitpid
// has taken it.
static int stop(process_t *process) {
  int how = -1;
  close(process->socket);
  process->socket = -1;
  kill(process->pid, SIGKILL);
  while (waitpid(process->pid, &how, 0) < 0) {
    if (errno != EINTR) return -1;
  }
  return how;
}

static void has_ended(process_t *process, systemc_reply_t *reply) {
  const int how = stop(process);
  const size_t size = sizeof reply->message;
  *reply = (systemc_reply_t){.status = UFP4_ERROR_DEVICE};
  if (how != -1 && WIFSIGNALED(how)) {
    snprintf(reply->message, size, "its program " PROGRAM_NAME " has ended: %s",
             strsignal(WTERMSIG(how)));
  } else if (how != -1) {
    snprintf(reply->message, size, "its program " PROGRAM_NAME " has ended with status %d",
             WEXITSTATUS(how));
  } else {
    snprintf(reply->message, size, "its program " PROGRAM_NAME " has ended");
  }
}

static void is_silent(process_t *process, systemc_reply_t *reply) {
  (void)stop(process);
  *reply = (systemc_reply_t){.status = UFP4_ERROR_DEVICE};
  snprintf(reply->message, sizeof reply->message,
           "its program " PROGRAM_NAME " has not answered within %d s", START_SECONDS);
}

/** The outcome of a message. */
typedef enum { NOBODY, SILENCE, ANSWER } exchange_t;

// Sends one message and receives the reply.
static exchange_t exchange(const process_t *process, const void *message, size_t bytes,
                           systemc_reply_t *reply) {
  ssize_t done;
  do done = send(process->socket, message, bytes, MSG_NOSIGNAL);
  while (done < 0 && errno == EINTR);
  if (done != (ssize_t)bytes) return NOBODY;
  do done = recv(process->socket, reply, sizeof *reply, 0);
  while (done < 0 && errno == EINTR);
  if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return SILENCE;
  reply->message[sizeof reply->message - 1] = '\0';
  return done == (ssize_t)sizeof *reply ? ANSWER : NOBODY;
}

ufp4_status_t process_call(process_t *process, const systemc_request_t *request,
                           systemc_reply_t *reply) {
  if (process->socket < 0) {
    *reply = (systemc_reply_t){.status = UFP4_ERROR_DEVICE,
                               .message = "its program " PROGRAM_NAME " has ended"};
  } else if (exchange(process, request, sizeof *request, reply) != ANSWER) {
    has_ended(process, reply);
  }
  return (ufp4_status_t)reply->status;
}

// --- Open and close -----------------------------------------------------------------------------

static ufp4_status_t greet(process_t *process, const systemc_open_t *open,
                           ufp4_message_t *message) {
  const struct timeval forever = {0};
  systemc_reply_t reply;
  const exchange_t what = exchange(process, open, sizeof *open, &reply);
  if (what == NOBODY) has_ended(process, &reply);
  if (what == SILENCE) is_silent(process, &reply);
  if (reply.status != UFP4_OK) {
    ufp4_message_set(message, "systemc: %s", reply.message);
  } else {
    setsockopt(process->socket, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof forever);
  }
  return (ufp4_status_t)reply.status;
}

ufp4_status_t process_start(process_t *process, const systemc_open_t *open,
                            ufp4_message_t *message) {
  char path[PATH_MAX];
  int memory = -1;
  *process = (process_t){.socket = -1};
  ufp4_status_t status = find_program(path, message);
  if (status == UFP4_OK) status = share_memory(process, open->memory_bytes, &memory, message);
  if (status == UFP4_OK) status = start_program(process, path, memory, message);
  if (memory >= 0) close(memory);
  if (status == UFP4_OK) status = greet(process, open, message);
  if (status != UFP4_OK) process_end(process);
  return status;
}

void process_end(process_t *process) {
  if (process->socket >= 0) (void)stop(process);
  if (process->memory != NULL) munmap(process->memory, process->memory_bytes);
  process->memory = NULL;
}
