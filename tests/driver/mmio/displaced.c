// SPDX-License-Identifier: Apache-2.0
// PROGRAM BACKEND CALL opens a core, runs a job on it, prints "open" and waits for a line, while
// another program opens the core. Then it makes the call, resets the device, and prints the status
// of both. The call "wait" waits for the job.
#include <stdio.h>
#include <string.h>

#include "ufp4.h"

static const ufp4_descriptor_t fence = {.header = {.opcode = UFP4_OPCODE_FENCE}};

static ufp4_status_t make(const char *call, ufp4_device_t *device, uint32_t job) {
  uint64_t counters[UFP4_COUNTER_COUNT];
  int exponent;
  if (strcmp(call, "wait") == 0) return ufp4_wait(device, job, 0, NULL);
  if (strcmp(call, "submit") == 0) return ufp4_submit(device, &fence, &job);
  if (strcmp(call, "slot") == 0) return ufp4_slot_read(device, 0, &exponent);
  if (strcmp(call, "counters") == 0) return ufp4_device_counters(device, counters);
  return UFP4_ERROR_ARGUMENT;
}

static void say(const char *call, ufp4_status_t status, const ufp4_device_t *device) {
  printf("%s: %s\n", call,
         status == UFP4_ERROR_DEVICE ? ufp4_device_message(device) : ufp4_status_string(status));
}

int main(int argc, char **argv) {
  ufp4_device_options_t options = ufp4_device_options_default();
  ufp4_message_t why = {""};
  ufp4_device_t *device = NULL;
  uint32_t job = 0;
  options.message = &why;
  options.configuration = NULL;
  if (argc != 3 || ufp4_device_open(argv[1], &options, &device) != UFP4_OK)
    return puts(why.text), 3;
  ufp4_status_t status = ufp4_submit(device, &fence, &job);
  if (status == UFP4_OK && strcmp(argv[2], "wait") != 0) status = ufp4_wait(device, job, 0, NULL);
  if (status != UFP4_OK) return puts(ufp4_device_message(device)), 3;
  puts("open");
  fflush(stdout);
  (void)getchar();
  say(argv[2], make(argv[2], device, job), device);
  say("reset", ufp4_device_reset(device), device);
  ufp4_device_close(device);
  return 0;
}
