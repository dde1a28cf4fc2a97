// SPDX-License-Identifier: Apache-2.0
// Tests the process behind the backends systemc and systemc:timed, and what happens when it or its
// host ends.
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "stand.h"

#define PROGRAM "UFP4_SYSTEMC_PROGRAM"

// --- Processes ----------------------------------------------------------------------------------

// Returns the only child of this thread, or 0.
static pid_t child(void) {
  char path[64];
  int pid = 0;
  snprintf(path, sizeof path, "/proc/self/task/%ld/children", (long)getpid());
  FILE *file = fopen(path, "r");
  check_that(0, file != NULL, "no %s", path);
  if (file != NULL && fscanf(file, "%d", &pid) != 1) pid = 0;
  if (file != NULL) fclose(file);
  return pid;
}

// Returns the number of open files of a process, or -1 if there is no such process; `.` and `..` do
// not count.
static int files_of(pid_t pid) {
  char path[64];
  int count = -2;
  snprintf(path, sizeof path, "/proc/%ld/fd", (long)pid);
  DIR *folder = opendir(path);
  if (folder == NULL) return -1;
  while (readdir(folder) != NULL) count++;
  closedir(folder);
  return count;
}

// Checks that a process ends. Its parent has ended, so this process has adopted it.
static void check_ends(int64_t index, pid_t pid) {
  int gone = 0;
  for (int i = 0; i < 1000 && !gone; i++) {
    gone = waitpid(pid, NULL, WNOHANG) == pid;
    if (!gone) usleep(10000);
  }
  check_that(index, gone, "process %ld still runs", (long)pid);
}

// Checks that a closed device leaves no file and no child.
static void check_nothing_left(int64_t index, int files) {
  check_bits(index, (uint64_t)files_of(getpid()), (uint64_t)files, "open files");
  check_that(index, waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD, "a child is left");
}

static void check_message(int64_t index, const char *text, const char *words) {
  check_that(index, strstr(text, words) != NULL, "message '%s' does not say '%s'", text, words);
  check_that(index, strchr(text, '\n') == NULL, "message '%s' is not one line", text);
}

// --- Death --------------------------------------------------------------------------------------

// Returns a job that takes some seconds on the RTL.
static ufp4_descriptor_t long_job(ufp4_device_t *device) {
  ufp4_descriptor_t job = stand_jobs(device).gemm;
  ufp4_gemm_descriptor_t *gemm = &job.gemm;
  gemm->a_mode = gemm->b_mode = 0;
  gemm->m = gemm->n = 512;
  gemm->k = 1024;
  gemm->a_stride_blocks = gemm->b_stride_blocks = 64;
  gemm->d_stride_bytes = 4 * 512;
  gemm->a_codes_addr = gemm->b_codes_addr = stand_alloc(device, 512 * 1024);
  gemm->a_scales_addr = gemm->b_scales_addr = stand_alloc(device, 512 * 1024);
  gemm->d_addr = stand_alloc(device, 512 * 4 * 512);
  return job;
}

static void check_lost(int64_t index, ufp4_device_t *device, const char *words) {
  const ufp4_descriptor_t fence = {.header = {.opcode = UFP4_OPCODE_FENCE}};
  check_bits(index, stand_run(device, &fence, NULL), UFP4_ERROR_DEVICE, "a job");
  check_message(index, ufp4_device_message(device), words);
  check_bits(index, ufp4_device_reset(device), UFP4_ERROR_DEVICE, "a reset");
  check_bits(index, stand_run(device, &fence, NULL), UFP4_ERROR_DEVICE, "a job after it");
}

TEST(a_killed_program_is_a_lost_device) {
  const int files = files_of(getpid());
  const int signals[] = {SIGKILL, SIGTERM, SIGSEGV};
  for (int i = 0; i < 3; i++) {
    ufp4_device_t *device = stand_device();
    stand_jobs_t jobs = stand_jobs(device);
    stand_check_serving(i, device, &jobs);
    const pid_t program = child();
    if (!check_that(i, program > 0, "no program")) return;
    kill(program, signals[i]);
    check_lost(i, device, "its program ufp4-systemc has ended: ");
    ufp4_device_close(device);
    check_nothing_left(i, files);
  }
}

/** The program is killed while the driver waits for the job. */
TEST(a_program_may_be_killed_amid_a_job) {
  const int files = files_of(getpid());
  ufp4_device_t *device = stand_device();
  const ufp4_descriptor_t job = long_job(device);
  const pid_t program = child();
  if (!check_that(0, program > 0, "no program")) return;
  const pid_t killer = fork();
  if (killer == 0) {
    usleep(200000);
    _exit(kill(program, SIGKILL));
  }
  ufp4_status_t status = UFP4_OK;
  for (int i = 0; i < 10000 && status == UFP4_OK; i++) status = stand_run(device, &job, NULL);
  check_bits(0, status, UFP4_ERROR_DEVICE, "a job");
  check_message(0, ufp4_device_message(device), "its program ufp4-systemc has ended: Killed");
  waitpid(killer, NULL, 0);
  ufp4_device_close(device);
  check_nothing_left(0, files);
}

/** The program ends with its host, whether a job runs or not. */
TEST(a_killed_host_leaves_no_program) {
  pid_t *program =
      mmap(NULL, sizeof *program, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  for (int busy = 0; busy < 2; busy++) {
    *program = 0;
    const pid_t host = fork();
    if (host == 0) {
      ufp4_device_t *device = stand_device();
      const ufp4_descriptor_t job = long_job(device);
      *program = child();
      while (busy) stand_run(device, &job, NULL);
      pause();
    }
    for (int i = 0; i < 1000 && *program == 0; i++) usleep(10000);
    const int there = check_that(busy, *program > 0, "no program");
    usleep(50000);
    kill(host, SIGKILL);
    waitpid(host, NULL, 0);
    if (there) check_ends(busy, *program);
  }
  munmap(program, sizeof *program);
}

// --- Several ------------------------------------------------------------------------------------

/** Each device has its own process, which inherits no file of another. */
TEST(devices_have_nothing_in_common) {
  const int files = files_of(getpid());
  ufp4_device_t *first = stand_device();
  const pid_t one = child();
  if (!check_that(0, one > 0, "no program")) return;
  const int its_files = files_of(one);
  ufp4_device_t *second = stand_device();
  stand_jobs_t jobs[] = {stand_jobs(first), stand_jobs(second)};
  stand_check_serving(0, first, &jobs[0]);
  kill(one, SIGKILL);
  stand_check_serving(1, second, &jobs[1]);
  check_lost(2, first, "has ended: Killed");
  ufp4_device_close(first);
  check_bits(3, (uint64_t)files_of(child()), (uint64_t)its_files, "open files of the second");
  stand_check_serving(3, second, &jobs[1]);
  ufp4_device_close(second);
  check_nothing_left(4, files);
}

// --- Start --------------------------------------------------------------------------------------

static void check_refused(int64_t index, const ufp4_device_options_t *how, ufp4_status_t want,
                          const char *words) {
  const int files = files_of(getpid());
  ufp4_device_options_t options = *how;
  ufp4_message_t why = {0};
  ufp4_device_t *device = NULL;
  options.message = &why;
  check_bits(index, ufp4_device_open(stand_backend(), &options, &device), want, "status");
  check_that(index, device == NULL, "a device was made");
  check_message(index, why.text, words);
  check_nothing_left(index, files);
}

TEST(rejects_a_program_that_is_none) {
  const struct {
    const char *path, *words;
    ufp4_status_t want;
  } cases[] = {
      {"/nowhere/ufp4-systemc", "/nowhere/ufp4-systemc: No such file", UFP4_ERROR_UNSUPPORTED},
      {"/etc/passwd", "/etc/passwd: Permission denied", UFP4_ERROR_UNSUPPORTED},
      {"/", "/ cannot be started", UFP4_ERROR_DEVICE},
      {"/bin/false", "ended with status 1", UFP4_ERROR_DEVICE},
      {"/bin/true", "ended with status 0", UFP4_ERROR_DEVICE},
      {"", "libsystemc-dev", UFP4_ERROR_UNSUPPORTED}};
  const ufp4_device_options_t options = stand_options();
  for (int i = 0; i < 6; i++) {
    setenv(PROGRAM, cases[i].path, 1);
    check_refused(i, &options, cases[i].want, cases[i].words);
  }
}

/** cat waits for its input and prints nothing. */
FULL_TEST(rejects_a_program_that_does_not_answer) {
  const ufp4_device_options_t options = stand_options();
  int ends[2];
  check_that(0, pipe(ends) == 0 && dup2(ends[0], 0) == 0, "no pipe");
  setenv(PROGRAM, "/bin/cat", 1);
  check_refused(0, &options, UFP4_ERROR_DEVICE, "has not answered within 60 s");
}

TEST(rejects_what_only_the_simulator_has) {
  ufp4_device_options_t stall = stand_options(), trace = stall, timeline = stall;
  stall.stall_seed = 3;
  trace.trace_path = "t.fst";
  timeline.timeline_path = "t.json";
  check_refused(0, &stall, UFP4_ERROR_ARGUMENT, "back-pressure");
  check_refused(1, &trace, UFP4_ERROR_ARGUMENT, "waveforms");
  check_refused(2, &timeline, UFP4_ERROR_ARGUMENT, "timelines");
}
