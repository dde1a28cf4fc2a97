// SPDX-License-Identifier: Apache-2.0
// Every kind of malformed descriptor, after each of which the device still serves.
#include <string.h>

#include "bench.h"
#include "port/backend.h"

#define BEYOND ((1ull << UFP4_ADDR_BITS) - 128)    // the last 128 bytes that an address can name
#define OUTSIDE (UFP4_MEMORY_BASE + (1ull << 36))  // no memory there

/** A change to one field, and the status it must end with. */
typedef struct {
  const char *name;
  unsigned offset, bytes;
  uint64_t value;
  ufp4_core_status_t want;
} change_t;

#define CHANGE(type, field, value, want)                                        \
  {#field " " #value, offsetof(type, field), sizeof(((type *)0)->field), value, \
   UFP4_CORE_STATUS_##want}
#define QUANT(field, value, want) CHANGE(ufp4_quant_descriptor_t, field, value, want)
#define GEMM(field, value, want) CHANGE(ufp4_gemm_descriptor_t, field, value, want)

// The timed model has no bus errors: it takes no such job (driver.tlm).
static int is_not_taken(ufp4_core_status_t want) {
  return bench_is_timed() &&
         (want == UFP4_CORE_STATUS_READ_ERROR || want == UFP4_CORE_STATUS_WRITE_ERROR);
}

static void check_changes(const ufp4_descriptor_t *base, const change_t *changes, int count,
                          ufp4_device_t *device, const bench_jobs_t *jobs) {
  for (int i = 0; i < count; i++) {
    ufp4_descriptor_t job = *base;
    ufp4_completion_t done = {0};
    memcpy(job.bytes + changes[i].offset, &changes[i].value, changes[i].bytes);
    ufp4_status_t want = changes[i].want == UFP4_CORE_STATUS_OK ? UFP4_OK : UFP4_ERROR_JOB;
    if (is_not_taken(changes[i].want)) {
      check_bits(i, ufp4_submit(device, &job, NULL), UFP4_ERROR_UNSUPPORTED, "%s", changes[i].name);
      continue;
    }
    check_bits(i, bench_run(device, &job, &done), want, "%s", changes[i].name);
    check_bits(i, done.status, changes[i].want, "status of %s", changes[i].name);
    if (want == UFP4_ERROR_JOB)
      check_that(i, strncmp(ufp4_device_message(device), "job ", 4) == 0, "message");
    if (i % 8 == 0) bench_check_serving(i, device, jobs);
  }
  bench_check_serving(count, device, jobs);
}

static void check_quant(const change_t *changes, int count) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  bench_check_serving(-1, device, &jobs);
  check_changes(&jobs.quant, changes, count, device, &jobs);
  ufp4_device_close(device);
}

static void check_gemm(const change_t *changes, int count) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  bench_check_serving(-1, device, &jobs);
  check_changes(&jobs.gemm, changes, count, device, &jobs);
  ufp4_device_close(device);
}

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

TEST(rejects_quant_sizes) {
  static const change_t table[] = {QUANT(rows, 0, BAD_SIZE),
                                   QUANT(rows, UFP4_MAX_DIM + 1, BAD_SIZE),
                                   QUANT(cols, 0, BAD_SIZE), QUANT(cols, 0xFFFFFFFF, BAD_SIZE)};
  check_quant(table, COUNT(table));
}

TEST(rejects_quant_alignment) {
  static const change_t table[] = {QUANT(src_addr, UFP4_MEMORY_BASE + 0x10040, MISALIGNED),
                                   QUANT(src_addr, UFP4_MEMORY_BASE + 0x10001, MISALIGNED),
                                   QUANT(src_stride_bytes, 200, MISALIGNED),
                                   QUANT(src_stride_bytes, 128, MISALIGNED),
                                   QUANT(src_stride_bytes, 0, MISALIGNED),
                                   QUANT(src_dtype, UFP4_DTYPE_I64, MISALIGNED),
                                   QUANT(row_codes_addr, UFP4_MEMORY_BASE + 0x20010, MISALIGNED),
                                   QUANT(row_scales_addr, UFP4_MEMORY_BASE + 0x20010, MISALIGNED),
                                   QUANT(col_codes_addr, UFP4_MEMORY_BASE + 0x20001, MISALIGNED),
                                   QUANT(col_scales_addr, UFP4_MEMORY_BASE + 0x20040, MISALIGNED),
                                   QUANT(row_stride_blocks, 4, MISALIGNED),
                                   QUANT(row_stride_blocks, 0, MISALIGNED),
                                   QUANT(col_stride_blocks, 12, MISALIGNED)};
  check_quant(table, COUNT(table));
}

TEST(rejects_quant_addresses_beyond_40_bits) {
  static const change_t table[] = {QUANT(src_addr, BEYOND, BAD_ADDRESS),
                                   QUANT(src_addr, 1ull << 40, BAD_ADDRESS),
                                   QUANT(src_addr, UINT64_MAX - 127, BAD_ADDRESS),
                                   QUANT(src_stride_bytes, 0xFFFFFF80, OK),
                                   QUANT(row_codes_addr, BEYOND, BAD_ADDRESS),
                                   QUANT(row_scales_addr, BEYOND, BAD_ADDRESS),
                                   QUANT(col_codes_addr, 1ull << 63, BAD_ADDRESS),
                                   QUANT(col_scales_addr, BEYOND, BAD_ADDRESS),
                                   QUANT(row_stride_blocks, 0xFFFFFFF8, BAD_ADDRESS),
                                   QUANT(col_stride_blocks, 0xFFFFFFF8, BAD_ADDRESS)};
  change_t fixed[COUNT(table)];
  memcpy(fixed, table, sizeof table);
  fixed[3].want =
      UFP4_CORE_STATUS_READ_ERROR;  // 31 strides of 4 GiB stay under 2^40, and there is no memory
  check_quant(fixed, COUNT(table));
}

TEST(rejects_quant_fields) {
  static const change_t table[] = {QUANT(flags, 4, UNSUPPORTED),
                                   QUANT(flags, 0x80, UNSUPPORTED),
                                   QUANT(panels, 1, UNSUPPORTED),
                                   QUANT(src_dtype, 255, UNSUPPORTED),
                                   QUANT(src_dtype, 3, UNSUPPORTED),
                                   QUANT(elem, 3, UNSUPPORTED),
                                   QUANT(elem, 255, UNSUPPORTED),
                                   QUANT(round, 2, UNSUPPORTED),
                                   QUANT(scale_round, 2, UNSUPPORTED),
                                   QUANT(row_mode, 0x0D, UNSUPPORTED),
                                   QUANT(col_mode, 0x85, UNSUPPORTED),
                                   QUANT(scale, 1, UNSUPPORTED),
                                   QUANT(scale_round, UFP4_SCALE_ROUND_46, UNSUPPORTED)};
  check_quant(table, COUNT(table));
}

SLOW_TEST(rejects_every_reserved_byte) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  bench_check_serving(-1, device, &jobs);
  for (unsigned offset = 2; offset < UFP4_DESCRIPTOR_BYTES; offset++) {
    int quant = offset < 4 || offset >= offsetof(ufp4_quant_descriptor_t, reserved0);
    int gemm = offset < 3 || offset >= offsetof(ufp4_gemm_descriptor_t, reserved0);
    change_t change = {"reserved byte", offset, 1, 0x10, UFP4_CORE_STATUS_UNSUPPORTED};
    if (quant) check_changes(&jobs.quant, &change, 1, device, &jobs);
    if (gemm) check_changes(&jobs.gemm, &change, 1, device, &jobs);
  }
  ufp4_device_close(device);
}

TEST(rejects_quant_slots) {
  static const change_t table[] = {
      QUANT(row_exponent, 64, BAD_SLOT), QUANT(row_exponent, 0xFFFF, BAD_SLOT),
      QUANT(col_exponent, 4, BAD_SLOT), QUANT(col_exponent, 1000, BAD_SLOT)};
  check_quant(table, COUNT(table));
}

TEST(rejects_quant_outside_memory) {
  static const change_t table[] = {
      QUANT(src_addr, OUTSIDE, READ_ERROR), QUANT(row_codes_addr, OUTSIDE, WRITE_ERROR),
      QUANT(row_scales_addr, OUTSIDE, WRITE_ERROR), QUANT(col_codes_addr, OUTSIDE, WRITE_ERROR),
      QUANT(col_scales_addr, OUTSIDE, WRITE_ERROR)};
  check_quant(table, COUNT(table));
}

TEST(rejects_gemm_sizes) {
  static const change_t table[] = {
      GEMM(m, 0, BAD_SIZE),          GEMM(n, 0, BAD_SIZE),
      GEMM(k, 0, BAD_SIZE),          GEMM(m, UFP4_MAX_DIM + 1, BAD_SIZE),
      GEMM(n, 0x80000000, BAD_SIZE), GEMM(k, UFP4_MAX_DIM + 1, BAD_SIZE)};
  check_gemm(table, COUNT(table));
}

TEST(rejects_gemm_alignment) {
  static const change_t table[] = {
      GEMM(a_codes_addr, 0x80010001, MISALIGNED), GEMM(a_scales_addr, 0x80010010, MISALIGNED),
      GEMM(b_codes_addr, 0x80010040, MISALIGNED), GEMM(b_scales_addr, 0x80010010, MISALIGNED),
      GEMM(d_addr, 0x80010004, MISALIGNED),       GEMM(d_stride_bytes, 129, MISALIGNED),
      GEMM(d_stride_bytes, 0, MISALIGNED),        GEMM(n, 33, MISALIGNED),
      GEMM(d_dtype, UFP4_DTYPE_I64, MISALIGNED),  GEMM(a_stride_blocks, 1, MISALIGNED),
      GEMM(b_stride_blocks, 0, MISALIGNED),       GEMM(k, 129, MISALIGNED)};
  check_gemm(table, COUNT(table));
}

TEST(rejects_gemm_addresses_beyond_40_bits) {
  static const change_t table[] = {GEMM(a_codes_addr, BEYOND, BAD_ADDRESS),
                                   GEMM(a_scales_addr, BEYOND, BAD_ADDRESS),
                                   GEMM(b_codes_addr, BEYOND, BAD_ADDRESS),
                                   GEMM(b_scales_addr, BEYOND, BAD_ADDRESS),
                                   GEMM(d_addr, BEYOND, BAD_ADDRESS),
                                   GEMM(d_addr, 1ull << 40, BAD_ADDRESS),
                                   GEMM(a_stride_blocks, 0xFFFFFFF8, BAD_ADDRESS),
                                   GEMM(b_stride_blocks, 0xFFFFFFF8, BAD_ADDRESS)};
  check_gemm(table, COUNT(table));
}

TEST(rejects_gemm_fields) {
  static const change_t table[] = {GEMM(flags, 0x10, UNSUPPORTED), GEMM(a_elem, 3, UNSUPPORTED),
                                   GEMM(b_elem, 200, UNSUPPORTED), GEMM(d_dtype, 3, UNSUPPORTED),
                                   GEMM(d_dtype, 9, UNSUPPORTED),  GEMM(contract, 1, UNSUPPORTED),
                                   GEMM(a_mode, 1, UNSUPPORTED),   GEMM(b_mode, 6, UNSUPPORTED),
                                   GEMM(scale, 4, UNSUPPORTED),    GEMM(scale, 2, UNSUPPORTED),
                                   GEMM(d_mode, 8, UNSUPPORTED),   GEMM(d_mode, 0x80, UNSUPPORTED)};
  check_gemm(table, COUNT(table));
}

TEST(rejects_gemm_slots) {
  static const change_t table[] = {GEMM(a_exponent, 64, BAD_SLOT), GEMM(b_exponent, 5, BAD_SLOT)};
  check_gemm(table, COUNT(table));
}

TEST(rejects_gemm_outside_memory) {
  static const change_t table[] = {
      GEMM(a_codes_addr, OUTSIDE, READ_ERROR), GEMM(a_scales_addr, OUTSIDE, READ_ERROR),
      GEMM(b_codes_addr, OUTSIDE, READ_ERROR), GEMM(b_scales_addr, OUTSIDE, READ_ERROR),
      GEMM(d_addr, OUTSIDE, WRITE_ERROR)};
  check_gemm(table, COUNT(table));
}

// A job that adds sums and C, which lie where D does, and multiplies by alpha.
static void check_addends(const change_t *changes, int count, ufp4_elem_t elem,
                          ufp4_scale_t scale) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  bench_check_serving(-1, device, &jobs);
  ufp4_descriptor_t job = jobs.gemm;
  ufp4_gemm_descriptor_t *gemm = &job.gemm;
  gemm->a_elem = gemm->b_elem = (uint8_t)elem;
  gemm->scale = (uint8_t)scale;
  gemm->d_mode = UFP4_D_MODE_SUMS | UFP4_D_MODE_ALPHA | UFP4_D_MODE_C;
  gemm->sums_stride_bytes = 2 * gemm->d_stride_bytes;
  gemm->c_stride_bytes = gemm->d_stride_bytes;
  gemm->alpha = 0x40000000;
  gemm->tensor_scale = 0x3F000000;
  check_bits(
      -1, ufp4_buffer_alloc(device, (uint64_t)gemm->m * gemm->sums_stride_bytes, &gemm->sums_addr),
      UFP4_OK, "a buffer");
  gemm->c_addr = gemm->sums_addr;
  check_bits(-1, bench_run(device, &job, NULL), UFP4_OK, "the job as it is");
  check_changes(&job, changes, count, device, &jobs);
  ufp4_device_close(device);
}

TEST(rejects_gemm_addends) {
  static const change_t table[] = {GEMM(sums_addr, 0x80010040, MISALIGNED),
                                   GEMM(c_addr, 0x80010004, MISALIGNED),
                                   GEMM(sums_stride_bytes, 128, MISALIGNED),
                                   GEMM(sums_stride_bytes, 260, MISALIGNED),
                                   GEMM(c_stride_bytes, 0, MISALIGNED),
                                   GEMM(c_stride_bytes, 132, MISALIGNED),
                                   GEMM(sums_addr, BEYOND, BAD_ADDRESS),
                                   GEMM(sums_addr, 1ull << 40, BAD_ADDRESS),
                                   GEMM(c_addr, BEYOND, BAD_ADDRESS),
                                   GEMM(c_addr, 1ull << 63, BAD_ADDRESS),
                                   GEMM(d_mode, 15, UNSUPPORTED),
                                   GEMM(sums_addr, OUTSIDE, READ_ERROR),
                                   GEMM(c_addr, OUTSIDE, READ_ERROR)};
  check_addends(table, COUNT(table), UFP4_ELEM_E1M2, UFP4_SCALE_E4M3);
  // What no mode bit asks for is not looked at.
  static const change_t ignored[] = {GEMM(c_addr, 1, OK), GEMM(c_stride_bytes, 3, OK),
                                     GEMM(sums_addr, BEYOND, OK), GEMM(sums_stride_bytes, 1, OK),
                                     GEMM(tensor_scale, 0xFFFFFFFF, OK)};
  check_gemm(ignored, COUNT(ignored));
}

TEST(rejects_gemm_tensor_scales) {
  static const change_t table[] = {
      GEMM(tensor_scale, 0x80000000, UNSUPPORTED), GEMM(tensor_scale, 0x7FC00000, UNSUPPORTED),
      GEMM(tensor_scale, 0x7F800001, UNSUPPORTED), GEMM(a_elem, UFP4_ELEM_E1M2, UNSUPPORTED),
      GEMM(b_elem, UFP4_ELEM_INT4, UNSUPPORTED),   GEMM(tensor_scale, 0, OK),
      GEMM(tensor_scale, 0x7F800000, OK)};
  check_addends(table, COUNT(table), UFP4_ELEM_E2M1, UFP4_SCALE_NVFP4);
}

TEST(rejects_unrounded_sums_with_a_factor) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  bench_check_serving(-1, device, &jobs);
  ufp4_descriptor_t job = jobs.gemm;
  ufp4_gemm_descriptor_t *gemm = &job.gemm;
  gemm->d_dtype = UFP4_DTYPE_I64;
  gemm->d_stride_bytes *= 2;
  gemm->c_stride_bytes = gemm->d_stride_bytes;
  gemm->c_addr = gemm->d_addr;
  check_bits(-1, ufp4_buffer_alloc(device, (uint64_t)gemm->m * gemm->d_stride_bytes, &gemm->d_addr),
             UFP4_OK, "a buffer");
  static const change_t table[] = {GEMM(d_mode, UFP4_D_MODE_ALPHA, UNSUPPORTED),
                                   GEMM(d_mode, UFP4_D_MODE_C, UNSUPPORTED), GEMM(d_mode, 0, OK)};
  check_changes(&job, table, COUNT(table), device, &jobs);
  ufp4_device_close(device);
}

TEST(rejects_opcodes) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  bench_check_serving(-1, device, &jobs);
  for (unsigned opcode = 0; opcode < 256; opcode += opcode < 8 ? 1 : 31) {
    ufp4_descriptor_t job = {.header = {.opcode = (uint8_t)opcode, .flags = 0xFE}};
    ufp4_completion_t done;
    if (opcode >= UFP4_OPCODE_QUANT && opcode <= UFP4_OPCODE_FENCE) continue;
    check_bits(opcode, bench_run(device, &job, &done), UFP4_ERROR_JOB, "opcode %u", opcode);
    check_bits(opcode, done.status, UFP4_CORE_STATUS_BAD_OPCODE, "status");
  }
  bench_check_serving(0, device, &jobs);
  ufp4_device_close(device);
}

TEST(rejects_with_the_lowest_status) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  bench_check_serving(-1, device, &jobs);
  ufp4_descriptor_t job = jobs.gemm;
  ufp4_gemm_descriptor_t *gemm = &job.gemm;
  ufp4_completion_t done;
  gemm->b_codes_addr = OUTSIDE;
  gemm->a_exponent = 64;
  bench_run(device, &job, &done);
  check_bits(0, done.status, UFP4_CORE_STATUS_BAD_SLOT, "slot before read error");
  gemm->reserved0[7] = 1;
  bench_run(device, &job, &done);
  check_bits(1, done.status, UFP4_CORE_STATUS_UNSUPPORTED, "reserved before slot");
  gemm->d_addr = BEYOND;
  bench_run(device, &job, &done);
  check_bits(2, done.status, UFP4_CORE_STATUS_BAD_ADDRESS, "address before reserved");
  gemm->a_stride_blocks = 3;
  bench_run(device, &job, &done);
  check_bits(3, done.status, UFP4_CORE_STATUS_MISALIGNED, "alignment before address");
  gemm->k = 0;
  bench_run(device, &job, &done);
  check_bits(4, done.status, UFP4_CORE_STATUS_BAD_SIZE, "size before alignment");
  gemm->opcode = 77;
  bench_run(device, &job, &done);
  check_bits(5, done.status, UFP4_CORE_STATUS_BAD_OPCODE, "opcode before all");
  bench_check_serving(6, device, &jobs);
  ufp4_device_close(device);
}

TEST(amax_ignores_what_follows_its_fields) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  ufp4_descriptor_t job = jobs.amax;
  size_t from = offsetof(ufp4_quant_descriptor_t, row_codes_addr);
  memset(job.bytes + from, 0xFF, sizeof job - from);
  job.quant.round = job.quant.scale_round = 0xEE;
  check_bits(0, bench_run(device, &job, NULL), UFP4_OK, "AMAX: %s", ufp4_device_message(device));
  job.quant.row_mode = 0;
  job.quant.row_exponent = 999;
  check_bits(1, bench_run(device, &job, NULL), UFP4_OK, "column only: %s",
             ufp4_device_message(device));
  ufp4_device_close(device);
}

TEST(rejects_amax_without_a_slot_or_copy) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  ufp4_descriptor_t job = jobs.amax;
  ufp4_completion_t done;
  int exponent;
  job.quant.row_exponent = 64;
  bench_run(device, &job, &done);
  check_bits(0, done.status, UFP4_CORE_STATUS_BAD_SLOT, "slot 64");
  check_bits(0, ufp4_slot_read(device, 63, &exponent), UFP4_ERROR_ARGUMENT,
             "the other slot was not written");
  job.quant.row_mode = job.quant.col_mode = UFP4_MODE_RHT;
  bench_run(device, &job, &done);
  check_bits(1, done.status, UFP4_CORE_STATUS_UNSUPPORTED, "no copy");
  ufp4_device_close(device);
}

TEST(rejects_amax_outside_memory_and_writes_no_slot) {
  ufp4_device_t *device = bench_device();
  bench_jobs_t jobs = bench_jobs(device);
  ufp4_descriptor_t job = jobs.amax;
  ufp4_completion_t done = {.status = UFP4_CORE_STATUS_READ_ERROR};
  int exponent;
  job.quant.src_addr = OUTSIDE;
  check_that(0, bench_run(device, &job, &done) != UFP4_OK, "it was done");
  check_bits(0, done.status, UFP4_CORE_STATUS_READ_ERROR, "status");
  check_bits(0, ufp4_slot_read(device, 3, &exponent), UFP4_ERROR_ARGUMENT, "slot 3");
  bench_check_serving(1, device, &jobs);
  ufp4_device_close(device);
}
