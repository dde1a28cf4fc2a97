// SPDX-License-Identifier: Apache-2.0
// Tests every kind of malformed descriptor; the device must still serve good jobs after each of
// them.
#include <string.h>

#include "port/backend.h"
#include "rules.h"
#include "stand.h"

#define OUTSIDE (UFP4_MEMORY_BASE + (1ull << 36))  // no memory there
#define DATA_BYTES 0x70000ull                      // for the tensors of the legal descriptors
#define QUANT(name) \
  offsetof(ufp4_quant_descriptor_t, name), sizeof(((ufp4_quant_descriptor_t *)0)->name)
#define GEMM(name) \
  offsetof(ufp4_gemm_descriptor_t, name), sizeof(((ufp4_gemm_descriptor_t *)0)->name)

// The timed model has no bus errors and refuses to take such a job (driver.tlm).
static int is_not_taken(ufp4_core_status_t want) {
  return stand_is_timed() && want >= READ;
}

static void check_rule(int64_t index, const ufp4_descriptor_t *good, const rule_t *rule,
                       ufp4_device_t *device) {
  ufp4_descriptor_t job = *good;
  ufp4_completion_t done = {0};
  memcpy(job.bytes + rule->offset, &rule->value, rule->bytes);  // little-endian
  if (is_not_taken(rule->want)) {
    check_bits(index, ufp4_submit(device, &job, NULL), UFP4_ERROR_UNSUPPORTED, "%s", rule->what);
    return;
  }
  check_bits(index, stand_run(device, &job, &done), rule->want == OK ? UFP4_OK : UFP4_ERROR_JOB,
             "%s", rule->what);
  check_bits(index, done.status, rule->want, "status of %s", rule->what);
  if (rule->want != OK)
    check_that(index, strncmp(ufp4_device_message(device), "job ", 4) == 0, "message");
}

static uint64_t moved(uint64_t address, uint64_t data) {
  const int inside = address - RULES_DATA < DATA_BYTES;
  return inside ? address - RULES_DATA + data : address;
}

// Returns the legal descriptor with its tensors in a buffer of the device.
static ufp4_descriptor_t moved_job(ufp4_descriptor_t job, uint64_t data) {
  uint64_t *quant[] = {&job.quant.src_addr, &job.quant.row_codes_addr, &job.quant.row_scales_addr,
                       &job.quant.col_codes_addr, &job.quant.col_scales_addr};
  uint64_t *gemm[] = {&job.gemm.a_codes_addr,  &job.gemm.a_scales_addr, &job.gemm.b_codes_addr,
                      &job.gemm.b_scales_addr, &job.gemm.d_addr,        &job.gemm.sums_addr,
                      &job.gemm.c_addr};
  if (job.header.opcode == UFP4_OPCODE_GEMM)
    for (int i = 0; i < 7; i++) *gemm[i] = moved(*gemm[i], data);
  else
    for (int i = 0; i < 5; i++) *quant[i] = moved(*quant[i], data);
  return job;
}

// Checks the rules except those with low addresses, where only the simulated core has no memory. @p
// mixed: the status of AMAX and QUANT of mixed elements.
static void check_rules_on(ufp4_device_t *device, ufp4_core_status_t mixed, ufp4_descriptor_t good,
                           const rule_t *rules) {
  stand_jobs_t jobs = stand_jobs(device);
  const uint64_t data = stand_alloc(device, DATA_BYTES);
  const ufp4_descriptor_t here = moved_job(good, data);
  int64_t i = 0;
  stand_check_serving(-1, device, &jobs);
  check_bits(-1, stand_run(device, &here, NULL), UFP4_OK, "the job as it is");
  for (; rules[i].what; i++) {
    rule_t rule = rules[i];
    rule.value = moved(rule.value, data);
    if (strcmp(rule.what, "elem mixed") == 0) rule.want = mixed;
    if (rule.want < READ || rule.bytes < 8 || rule.value >= OUTSIDE)
      check_rule(i, &here, &rule, device);
    if (i % 8 == 0) stand_check_serving(i, device, &jobs);
  }
  stand_check_serving(i, device, &jobs);
  ufp4_device_close(device);
}

static void check_rules(ufp4_descriptor_t good, const rule_t *rules) {
  check_rules_on(stand_device(), UNSUPPORTED, good, rules);
}

TEST(rejects_bad_headers) {
  check_rules(good_quant(UFP4_OPCODE_QUANT), header_rules);
  check_rules(good_gemm(), header_rules);
}
TEST(rejects_bad_amax) {
  check_rules(good_quant(UFP4_OPCODE_AMAX), amax_rules);
  check_rules(good_quant(UFP4_OPCODE_AMAX), amax_only_rules);
}
TEST(rejects_bad_quant) {
  check_rules(good_quant(UFP4_OPCODE_QUANT), amax_rules);
  check_rules(good_quant(UFP4_OPCODE_QUANT), quant_rules);
  // The backend cuda has no QUANT with E8M0 scales.
  if (strcmp(stand_backend(), "cuda") != 0) check_rules(good_e8m0(), e8m0_rules);
}
// The core quantizes mixed elements; the model and the timed model have this configuration without
// a build.
TEST(rejects_bad_quant_of_mixed) {
  const struct {
    ufp4_descriptor_t good;
    const rule_t *rules;
    ufp4_core_status_t mixed;
  } cases[] = {{good_quant(UFP4_OPCODE_AMAX), amax_rules, OK},
               {good_quant(UFP4_OPCODE_QUANT), amax_rules, OK},
               {good_quant(UFP4_OPCODE_QUANT), quant_rules, OK},
               {good_e8m0(), e8m0_rules, UNSUPPORTED}};
  const char *backend = stand_backend();
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    ufp4_device_options_t options = stand_options();
    ufp4_device_t *device = NULL;
    options.configuration = "small-mixed";
    check_bits((int64_t)i, ufp4_device_open(backend, &options, &device), UFP4_OK, "open");
    check_rules_on(device, cases[i].mixed, cases[i].good, cases[i].rules);
  }
}

TEST(rejects_bad_gemm) {
  check_rules(good_gemm(), gemm_rules);
  check_rules(good_addends(), addend_rules);
}

SLOW_TEST(rejects_every_reserved_byte) {
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  stand_check_serving(-1, device, &jobs);
  for (unsigned offset = 2; offset < UFP4_DESCRIPTOR_BYTES; offset++) {
    int quant = offset < 4 || offset >= offsetof(ufp4_quant_descriptor_t, reserved0);
    int gemm = offset < 3 || offset >= offsetof(ufp4_gemm_descriptor_t, reserved0);
    const rule_t rule = {"reserved byte", offset, 1, 0x10, UNSUPPORTED};
    if (quant) check_rule(offset, &jobs.quant, &rule, device);
    if (gemm) check_rule(offset, &jobs.gemm, &rule, device);
    stand_check_serving(offset, device, &jobs);
  }
  ufp4_device_close(device);
}

TEST(rejects_what_is_outside_memory) {
  static const struct {
    int gemm;
    size_t offset;
    ufp4_core_status_t want;
  } fields[] = {{0, offsetof(ufp4_quant_descriptor_t, src_addr), READ},
                {0, offsetof(ufp4_quant_descriptor_t, row_codes_addr), WRITE},
                {0, offsetof(ufp4_quant_descriptor_t, row_scales_addr), WRITE},
                {0, offsetof(ufp4_quant_descriptor_t, col_codes_addr), WRITE},
                {0, offsetof(ufp4_quant_descriptor_t, col_scales_addr), WRITE},
                {1, offsetof(ufp4_gemm_descriptor_t, a_codes_addr), READ},
                {1, offsetof(ufp4_gemm_descriptor_t, a_scales_addr), READ},
                {1, offsetof(ufp4_gemm_descriptor_t, b_codes_addr), READ},
                {1, offsetof(ufp4_gemm_descriptor_t, b_scales_addr), READ},
                {1, offsetof(ufp4_gemm_descriptor_t, d_addr), WRITE}};
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  stand_check_serving(-1, device, &jobs);
  for (int i = 0; i < 10; i++) {
    const rule_t rule = {"an address", fields[i].offset, 8, OUTSIDE, fields[i].want};
    check_rule(i, fields[i].gemm ? &jobs.gemm : &jobs.quant, &rule, device);
    stand_check_serving(i, device, &jobs);
  }
  ufp4_device_close(device);
}

TEST(rejects_tensor_scales_and_unrounded_sums_with_a_factor) {
  static const rule_t of_nvfp4[] = {{"-0", GEMM(tensor_scale), 0x80000000, UNSUPPORTED},
                                    {"NaN", GEMM(tensor_scale), 0x7FC00000, UNSUPPORTED},
                                    {"NaN", GEMM(tensor_scale), 0x7F800001, UNSUPPORTED},
                                    {"E1M2", GEMM(a_elem), UFP4_ELEM_E1M2, UNSUPPORTED},
                                    {"INT4", GEMM(b_elem), UFP4_ELEM_INT4, UNSUPPORTED},
                                    {"mixed", GEMM(b_elem), UFP4_ELEM_MIXED, OK},
                                    {"0", GEMM(tensor_scale), 0, OK},
                                    {"infinity", GEMM(tensor_scale), 0x7F800000, OK},
                                    {0}};
  static const rule_t of_sums[] = {{"alpha", GEMM(d_mode), UFP4_D_MODE_ALPHA, UNSUPPORTED},
                                   {"C", GEMM(d_mode), UFP4_D_MODE_C, UNSUPPORTED},
                                   {0}};
  ufp4_descriptor_t gemm = good_addends();
  gemm.gemm.a_elem = gemm.gemm.b_elem = UFP4_ELEM_E2M1;
  gemm.gemm.scale = UFP4_SCALE_NVFP4;
  gemm.gemm.tensor_scale = 0x3F000000;
  check_rules(gemm, of_nvfp4);
  gemm = good_addends();
  gemm.gemm.d_dtype = UFP4_DTYPE_I64;
  gemm.gemm.d_mode = UFP4_D_MODE_SUMS;
  gemm.gemm.d_stride_bytes = 384;
  check_rules(gemm, of_sums);
}

TEST(rejects_slots) {
  static const rule_t of_quant[] = {{"row 64", QUANT(row_exponent), 64, SLOT},
                                    {"row 65535", QUANT(row_exponent), 0xFFFF, SLOT},
                                    {"col never written", QUANT(col_exponent), 4, SLOT},
                                    {"col 1000", QUANT(col_exponent), 1000, SLOT},
                                    {0}};
  static const rule_t of_gemm[] = {
      {"a 64", GEMM(a_exponent), 64, SLOT}, {"b never written", GEMM(b_exponent), 5, SLOT}, {0}};
  ufp4_descriptor_t quant = good_quant(UFP4_OPCODE_QUANT), gemm = good_gemm();
  quant.quant.row_mode |= UFP4_MODE_SLOT;
  quant.quant.col_mode |= UFP4_MODE_SLOT;
  gemm.gemm.a_mode = gemm.gemm.b_mode = UFP4_MODE_SLOT;
  quant.quant.row_exponent = gemm.gemm.a_exponent = 3;  // the serving jobs write this slot
  quant.quant.col_exponent = gemm.gemm.b_exponent = 63;
  check_rules(quant, of_quant);
  check_rules(gemm, of_gemm);
}

// Each step breaks one more rule.
TEST(rejects_with_the_lowest_status) {
  static const rule_t broken[] = {
      {"memory", GEMM(b_codes_addr), OUTSIDE, READ},
      {"a slot", GEMM(a_exponent), 64, SLOT},
      {"a reserved byte", offsetof(ufp4_gemm_descriptor_t, reserved0), 1, 1, UNSUPPORTED},
      {"40 bits", GEMM(d_addr), TOP, ADDRESS},
      {"a stride", GEMM(a_stride_blocks), 3, MISALIGNED},
      {"a size", GEMM(k), 0, SIZE},
      {"the opcode", GEMM(opcode), 77, UFP4_CORE_STATUS_BAD_OPCODE}};
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  ufp4_descriptor_t job = jobs.gemm;
  stand_check_serving(-1, device, &jobs);
  for (int i = 0; i < 7; i++) {
    check_rule(i, &job, &broken[i], device);
    memcpy(job.bytes + broken[i].offset, &broken[i].value, broken[i].bytes);
  }
  stand_check_serving(7, device, &jobs);
  ufp4_device_close(device);
}

TEST(amax_ignores_what_follows_its_fields) {
  ufp4_device_t *device = stand_device();
  ufp4_descriptor_t job = stand_jobs(device).amax;
  const size_t from = offsetof(ufp4_quant_descriptor_t, row_codes_addr);
  memset(job.bytes + from, 0xFF, sizeof job - from);
  job.quant.round = job.quant.scale_round = 0xEE;
  check_bits(0, stand_run(device, &job, NULL), UFP4_OK, "%s", ufp4_device_message(device));
  job.quant.row_mode = 0;
  job.quant.row_exponent = 999;
  check_bits(1, stand_run(device, &job, NULL), UFP4_OK, "column only: %s",
             ufp4_device_message(device));
  ufp4_device_close(device);
}

TEST(rejects_opcodes) {
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  stand_check_serving(-1, device, &jobs);
  for (unsigned opcode = 0; opcode < 256; opcode += opcode < 8 ? 1 : 31) {
    ufp4_descriptor_t job = {.header = {.opcode = (uint8_t)opcode, .flags = 0xFE}};
    ufp4_completion_t done;
    if (opcode >= UFP4_OPCODE_QUANT && opcode <= UFP4_OPCODE_FENCE) continue;
    check_bits(opcode, stand_run(device, &job, &done), UFP4_ERROR_JOB, "opcode %u", opcode);
    check_bits(opcode, done.status, UFP4_CORE_STATUS_BAD_OPCODE, "status");
  }
  stand_check_serving(0, device, &jobs);
  ufp4_device_close(device);
}

TEST(rejects_amax_without_a_slot_or_copy) {
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  ufp4_descriptor_t job = jobs.amax;
  ufp4_completion_t done;
  int exponent;
  job.quant.row_exponent = 64;
  stand_run(device, &job, &done);
  check_bits(0, done.status, UFP4_CORE_STATUS_BAD_SLOT, "slot 64");
  check_bits(0, ufp4_slot_read(device, 63, &exponent), UFP4_ERROR_ARGUMENT,
             "the other slot was not written");
  job.quant.row_mode = job.quant.col_mode = UFP4_MODE_RHT;
  stand_run(device, &job, &done);
  check_bits(1, done.status, UFP4_CORE_STATUS_UNSUPPORTED, "no copy");
  ufp4_device_close(device);
}

TEST(rejects_amax_outside_memory_and_writes_no_slot) {
  ufp4_device_t *device = stand_device();
  stand_jobs_t jobs = stand_jobs(device);
  ufp4_descriptor_t job = jobs.amax;
  ufp4_completion_t done = {.status = UFP4_CORE_STATUS_READ_ERROR};
  int exponent;
  job.quant.src_addr = OUTSIDE;
  check_that(0, stand_run(device, &job, &done) != UFP4_OK, "it was done");
  check_bits(0, done.status, UFP4_CORE_STATUS_READ_ERROR, "status");
  check_bits(0, ufp4_slot_read(device, 3, &exponent), UFP4_ERROR_ARGUMENT, "slot 3");
  stand_check_serving(1, device, &jobs);
  ufp4_device_close(device);
}
