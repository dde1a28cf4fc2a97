// SPDX-License-Identifier: Apache-2.0
// Whole operands in host memory. A backend with its own functions for them has these in its table.
// A backend that takes only descriptors gets them if they can express the job; the host quantizes
// whatever the core's engine cannot.
#include <string.h>

#include "base/names.h"
#include "device.h"
#include "job/check.h"

// --- Quantizing ---------------------------------------------------------------------------------

static ufp4_status_t check_quantize(ufp4_device_t *device, const ufp4_matrix_t *in,
                                    const ufp4_quantize_t *how) {
  ufp4_message_t why = {0};
  ufp4_status_t status = ufp4_quantize_check(in, how, &why);
  if (status == UFP4_OK) status = ufp4_combination_quantize(how, 0, device->backend->name, &why);
  return status == UFP4_OK ? status : device_fail(device, status, "%s", why.text);
}

ufp4_status_t quantize_whole(ufp4_device_t *device, const ufp4_matrix_t *in,
                             const ufp4_quantize_t *asked, ufp4_operand_t *out) {
  ufp4_quantize_t how = *asked;
  how.kernel = device->kernel;
  how.threads = device->threads;
  if (device->backend->quantize != NULL)
    return device_note(device, device->backend->quantize(device->state, in, &how, out));
  const ufp4_status_t status = ufp4_quantize(in, &how, out);
  return status == UFP4_OK
             ? status
             : device_fail(device, status, "quantize: %s", ufp4_status_string(status));
}

// Quantizes on a core if it can; otherwise on the host, and stats->why has the reason.
static ufp4_status_t quantize_on_core(ufp4_device_t *device, const ufp4_matrix_t *in,
                                      const ufp4_quantize_t *how, ufp4_operand_t *out,
                                      ufp4_quantize_stats_t *stats) {
  ufp4_status_t status = ufp4_quantize_on_core(how, &device->info.configuration, &stats->why);
  if (status != UFP4_OK) return quantize_whole(device, in, how, out);
  status = quantize_by_descriptor(device, in, how, out, stats);
  if (status != UFP4_ERROR_MEMORY || stats->on_core) return status;
  stats->why = device->message;
  device->message.text[0] = '\0';
  return quantize_whole(device, in, how, out);
}

ufp4_status_t ufp4_device_quantize_stats(ufp4_device_t *device, const ufp4_matrix_t *in,
                                         const ufp4_quantize_t *how, ufp4_operand_t *out,
                                         ufp4_quantize_stats_t *stats) {
  ufp4_quantize_stats_t own = {0};
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  status = check_quantize(device, in, how);
  if (status != UFP4_OK) return status;
  if (out == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_device_quantize: out is NULL");
  memset(out, 0, sizeof *out);
  status = device_takes_descriptors(device) ? quantize_on_core(device, in, how, out, &own)
                                            : quantize_whole(device, in, how, out);
  if (status == UFP4_OK && stats != NULL) *stats = own;
  return status;
}

ufp4_status_t ufp4_device_quantize(ufp4_device_t *device, const ufp4_matrix_t *in,
                                   const ufp4_quantize_t *how, ufp4_operand_t *out) {
  return ufp4_device_quantize_stats(device, in, how, out, NULL);
}

// --- Multiplying --------------------------------------------------------------------------------

int device_takes_descriptors(const ufp4_device_t *device) {
  return device->backend->gemm == NULL;
}

// Suggests a configuration that can do the job, preferably one with the same array.
static const char *another_core(const ufp4_configuration_t *core, ufp4_contract_t contract,
                                ufp4_elem_t a, ufp4_elem_t b) {
  static const ufp4_configuration_t all[UFP4_CONFIGURATION_COUNT] = UFP4_CONFIGURATIONS;
  const char *found = NULL;
  for (int i = 0; i < UFP4_CONFIGURATION_COUNT; i++) {
    const int does = all[i].contract == (uint32_t)contract &&
                     configuration_multiplies(&all[i], a) && configuration_multiplies(&all[i], b);
    if (does && all[i].rows == core->rows && all[i].cols == core->cols) return all[i].name;
    if (does && found == NULL) found = all[i].name;
  }
  return found != NULL ? found : "none";
}

// A device that takes only descriptors multiplies and accumulates as its configuration does;
// another backend may check the contract itself.
ufp4_status_t device_check_core(ufp4_device_t *device, ufp4_contract_t contract, ufp4_elem_t a,
                                ufp4_elem_t b) {
  const ufp4_configuration_t *core = &device->info.configuration;
  if (!device_takes_descriptors(device)) {
    return device->backend->check_contract == NULL
               ? UFP4_OK
               : device_note(device, device->backend->check_contract(device->state, contract));
  }
  if (core->contract != (uint32_t)contract) {
    return device_fail(device, UFP4_ERROR_UNSUPPORTED,
                       "configuration %s accumulates by contract %s, not %s; %s does", core->name,
                       contract_names[core->contract], contract_names[contract],
                       another_core(core, contract, a, b));
  }
  if (configuration_multiplies(core, a) && configuration_multiplies(core, b)) return UFP4_OK;
  return device_fail(
      device, UFP4_ERROR_UNSUPPORTED, "configuration %s does not multiply %s; %s does", core->name,
      elem_names[configuration_multiplies(core, a) ? b : a], another_core(core, contract, a, b));
}

static ufp4_status_t check_gemm(ufp4_device_t *device, const ufp4_operand_t *a,
                                const ufp4_operand_t *b, const ufp4_gemm_t *how, const void *d,
                                int64_t d_ld) {
  ufp4_message_t why = {0};
  ufp4_status_t status = ufp4_gemm_check(a, b, how, &why);
  if (status == UFP4_OK && d == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_device_gemm: d is NULL");
  if (status == UFP4_OK && d_ld < b->rows) {
    return device_fail(device, UFP4_ERROR_ARGUMENT,
                       "ufp4_device_gemm: d_ld is %lld; it must be at least N = %lld",
                       (long long)d_ld, (long long)b->rows);
  }
  if (status == UFP4_OK) {
    status = ufp4_combination_gemm(a->elem, b->elem, a->scale, how->contract, device->backend->name,
                                   &why);
  }
  if (status == UFP4_OK && (ufp4_operand_is_wide(a) || ufp4_operand_is_wide(b)) &&
      !device->backend->in_host_memory) {
    ufp4_message_set(
        &why,
        "backend %s does not support blocks larger than 16 or transforms of 32 points; model does",
        device->backend->name);
    status = UFP4_ERROR_UNSUPPORTED;
  }
  if (status != UFP4_OK) return device_fail(device, status, "%s", why.text);
  status = device_check_core(device, how->contract, a->elem, b->elem);
  if (status == UFP4_OK && how->contract == UFP4_CONTRACT_NV && how->c != NULL &&
      device_takes_descriptors(device)) {
    return device_fail(device, UFP4_ERROR_UNSUPPORTED,
                       "a core cannot start its sums with C, as contract nv does; leave out C, or "
                       "use backend model");
  }
  return status;
}

ufp4_status_t ufp4_device_gemm(ufp4_device_t *device, const ufp4_operand_t *a,
                               const ufp4_operand_t *b, const ufp4_gemm_t *asked, void *d,
                               int64_t d_ld, ufp4_gemm_stats_t *stats) {
  ufp4_gemm_stats_t own = {0};
  ufp4_status_t status = device_check(device);
  if (status != UFP4_OK) return status;
  if (asked == NULL)
    return device_fail(device, UFP4_ERROR_ARGUMENT, "ufp4_device_gemm: how is NULL");
  ufp4_gemm_t how = *asked;
  how.threads = device->threads;
  how.kernel = device->kernel;
  status = check_gemm(device, a, b, &how, d, d_ld);
  if (status != UFP4_OK) return status;
  if (device->backend->gemm != NULL) {
    status = device_note(device, device->backend->gemm(device->state, a, b, &how, d, d_ld));
  } else {
    status = gemm_by_descriptor(device, a, b, &how, d, d_ld, &own);
  }
  own.m = a->rows;
  own.n = b->rows;
  own.k = a->cols;
  if (status == UFP4_OK && stats != NULL) *stats = own;
  return status;
}
