// SPDX-License-Identifier: Apache-2.0
#include <time.h>

#include "device.h"

static const char *const status_texts[UFP4_CORE_STATUS_COUNT] = {
    [UFP4_CORE_STATUS_OK] = "ok",
    [UFP4_CORE_STATUS_BAD_OPCODE] = "bad_opcode: the opcode is unknown",
    [UFP4_CORE_STATUS_BAD_SIZE] = "bad_size: a size is zero or over its limit",
    [UFP4_CORE_STATUS_MISALIGNED] =
        "misaligned: an address or stride is not the multiple it must be, or too short",
    [UFP4_CORE_STATUS_BAD_ADDRESS] =
        "bad_address: an address or the end of a region lies beyond the address width",
    [UFP4_CORE_STATUS_UNSUPPORTED] =
        "unsupported: a field holds a value that this configuration does not implement",
    [UFP4_CORE_STATUS_BAD_SLOT] = "bad_slot: an exponent slot is out of range or was never written",
    [UFP4_CORE_STATUS_READ_ERROR] = "read_error: the bus answered a read with an error",
    [UFP4_CORE_STATUS_WRITE_ERROR] = "write_error: the bus answered a write with an error",
    [UFP4_CORE_STATUS_MEMORY_ERROR] = "memory_error: a bit has changed in a memory of the core",
    [UFP4_CORE_STATUS_CANCELLED] = "cancelled: the device was reset before it ended",
};

static ufp4_status_t take_oldest(ufp4_device_t *device, uint64_t timeout_us) {
  ufp4_completion_t completion = {0};
  ufp4_status_t status =
      device_note(device, device->backend->take(device->state, timeout_us, &completion));
  device->overdue = status == UFP4_ERROR_TIMEOUT && timeout_us == 0;
  if (status != UFP4_OK) return status;
  uint64_t number = device->taken + 1;
  if (completion.job != (uint32_t)number) {
    return device_note(device, device_fail(device, UFP4_ERROR_DEVICE,
                                           "the core completed job %u where job %u was expected",
                                           completion.job, (uint32_t)number));
  }
  device->done[number % HISTORY_JOBS] = completion;
  device->taken = number;
  return UFP4_OK;
}

static ufp4_status_t take_all(ufp4_device_t *device) {
  ufp4_status_t status = device_check(device);
  while (status == UFP4_OK && device->taken < device->submitted) status = take_oldest(device, 0);
  return status;
}

int jobs_drain(ufp4_device_t *device) {
  return (!device->overdue && take_all(device) == UFP4_OK) || device->failed;
}

ufp4_status_t ufp4_device_reset(ufp4_device_t *device) {
  if (device == NULL) return UFP4_ERROR_ARGUMENT;
  if (device->backend->reset == NULL)
    return device_fail(device, UFP4_ERROR_UNSUPPORTED,
                       "ufp4_device_reset: this backend cannot be reset");
  ufp4_status_t status = device_note(device, device->backend->reset(device->state));
  if (status != UFP4_OK) return status;
  device->failed = device->overdue = 0;
  while (device->taken < device->submitted) {
    const uint64_t number = ++device->taken;
    device->done[number % HISTORY_JOBS] =
        (ufp4_completion_t){.job = (uint32_t)number, .status = UFP4_CORE_STATUS_CANCELLED};
  }
  return UFP4_OK;
}

// No job may have a region in the rings of a backend, or one that starts before device memory and
// reaches into them, because it would break the device instead of only failing itself.
static int starts_before(const ufp4_descriptor_t *descriptor, uint64_t first) {
  const ufp4_quant_descriptor_t *quant = &descriptor->quant;
  const ufp4_gemm_descriptor_t *gemm = &descriptor->gemm;
  switch (descriptor->header.opcode) {
    case UFP4_OPCODE_GEMM:
      return gemm->a_codes_addr < first || gemm->a_scales_addr < first ||
             gemm->b_codes_addr < first || gemm->b_scales_addr < first || gemm->d_addr < first ||
             ((gemm->d_mode & UFP4_D_MODE_SUMS) && gemm->sums_addr < first) ||
             ((gemm->d_mode & UFP4_D_MODE_C) && gemm->c_addr < first);
    case UFP4_OPCODE_AMAX:
      return quant->src_addr < first;
    case UFP4_OPCODE_QUANT:
      return quant->src_addr < first ||
             ((quant->row_mode & UFP4_MODE_ENABLE) &&
              (quant->row_codes_addr < first || quant->row_scales_addr < first)) ||
             ((quant->col_mode & UFP4_MODE_ENABLE) &&
              (quant->col_codes_addr < first || quant->col_scales_addr < first));
    default:
      return 0;
  }
}

ufp4_status_t ufp4_submit(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                          uint32_t *job) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (descriptor == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_submit: descriptor is NULL");
  if (starts_before(descriptor, device_buffers_base(device))) {
    return device_fail(
        device, UFP4_ERROR_ARGUMENT,
        "ufp4_submit: an address in the descriptor is below the buffers, which start at 0x%llx",
        (unsigned long long)device_buffers_base(device));
  }
  if (device->submitted - device->taken == UFP4_QUEUE_JOBS) status = take_oldest(device, 0);
  if (status != UFP4_OK) return status;
  ufp4_descriptor_t numbered = *descriptor;
  numbered.header.job = (uint32_t)(device->submitted + 1);
  status = device_note(device, device->backend->submit(device->state, &numbered));
  if (status != UFP4_OK) return status;
  device->submitted++;
  if (job != NULL) *job = numbered.header.job;
  return UFP4_OK;
}

static uint64_t now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000u + (uint64_t)t.tv_nsec / 1000u;
}

// The limit applies to the whole wait, regardless of the jobs that end meanwhile.
static ufp4_status_t take_until(ufp4_device_t *device, uint64_t number, uint64_t timeout_us) {
  const uint64_t start = now_us();
  for (uint64_t spent = 0; device->taken < number; spent = now_us() - start) {
    if (timeout_us != 0 && spent >= timeout_us) {
      return device_fail(device, UFP4_ERROR_TIMEOUT,
                         "ufp4_wait: job %u has not ended within the time limit", (uint32_t)number);
    }
    ufp4_status_t status = take_oldest(device, timeout_us == 0 ? 0 : timeout_us - spent);
    if (status != UFP4_OK) return status;
  }
  return UFP4_OK;
}

ufp4_status_t ufp4_wait(ufp4_device_t *device, uint32_t job, uint64_t timeout_us,
                        ufp4_completion_t *completion) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  uint32_t age = (uint32_t)device->submitted - job;
  if (age >= device->submitted)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_wait: job %u was not submitted", job);
  uint64_t number = device->submitted - age;
  if (number + HISTORY_JOBS <= device->taken) {
    return device_fail(
        device, UFP4_ERROR_ARGUMENT,
        "ufp4_wait: job %u ended more than %u jobs ago, so its completion is no longer kept", job,
        HISTORY_JOBS);
  }
  status = take_until(device, number, timeout_us);
  if (status != UFP4_OK) return status;
  const ufp4_completion_t *done = &device->done[number % HISTORY_JOBS];
  if (completion != NULL) *completion = *done;
  if (done->status == UFP4_CORE_STATUS_OK) return UFP4_OK;
  const char *text =
      done->status < UFP4_CORE_STATUS_COUNT ? status_texts[done->status] : "which is unknown";
  return device_fail(device, UFP4_ERROR_JOB, "job %u ended with status %u, %s", job, done->status,
                     text);
}

ufp4_status_t ufp4_slot_read(ufp4_device_t *device, unsigned slot, int *exponent) {
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (exponent == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_slot_read: exponent is NULL");
  if (slot >= UFP4_SLOTS) {
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "ufp4_slot_read: slot is %u; it must be from 0 to %d", slot, UFP4_SLOTS - 1);
  }
  status = take_all(device);
  if (status != UFP4_OK) return status;
  return device_note(device, device->backend->slot_read(device->state, slot, exponent));
}

ufp4_status_t job_measure(ufp4_device_t *device, const ufp4_descriptor_t *descriptor,
                          ufp4_gemm_stats_t *stats, unsigned *flags) {
  uint64_t before[UFP4_COUNTER_COUNT] = {0}, after[UFP4_COUNTER_COUNT] = {0};
  ufp4_completion_t done;
  uint32_t job;
  // Queued jobs must end first, because the counters would include them.
  ufp4_status_t status = take_all(device);
  if (status == UFP4_OK) status = ufp4_device_counters(device, before);
  if (status == UFP4_OK) status = ufp4_submit(device, descriptor, &job);
  if (status == UFP4_OK) status = ufp4_wait(device, job, 0, &done);
  if (status == UFP4_OK) status = ufp4_device_counters(device, after);
  if (status != UFP4_OK) return status;
  stats->cycles = done.cycles;
  if (flags != NULL) *flags = done.flags;
  for (int i = 0; i < UFP4_COUNTER_COUNT; i++) stats->counters[i] = after[i] - before[i];
  return UFP4_OK;
}
