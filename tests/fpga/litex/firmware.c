// SPDX-License-Identifier: Apache-2.0
// Firmware for the LiteX SoC of soc.py. The bare driver runs a GEMM of operands that it packs
// itself, then the jobs of a layer's three passes, and compares the results with the golden model's
// (golden.h, written by make_golden.c). The processor waits for the core's interrupt. The SoC
// defines the register addresses as macros.
#include "golden.h"
#include "ufp4_bare.h"

#define CSR(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define RING MAIN_RAM

int main(void);
void isr(void);
void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes);
void *memset(void *to, int value, __SIZE_TYPE__ bytes);

void *memcpy(void *to, const void *from, __SIZE_TYPE__ bytes) {
  volatile uint8_t *at = to;
  for (__SIZE_TYPE__ i = 0; i < bytes; i++) at[i] = ((const uint8_t *)from)[i];
  return to;
}

void *memset(void *to, int value, __SIZE_TYPE__ bytes) {
  volatile uint8_t *at = to;
  for (__SIZE_TYPE__ i = 0; i < bytes; i++) at[i] = (uint8_t)value;
  return to;
}

// --- Text ---------------------------------------------------------------------------------------

static void say(const char *text) {
  for (; *text != '\0'; text++) {
    while (CSR(UART_TXFULL)) {
    }
    CSR(UART_RXTX) = (uint8_t)*text;
  }
}

static void say_number(const char *what, uint32_t number) {
  char digits[11] = "0000000000";
  int first = 9;
  for (int i = 9; number != 0; i--, number /= 10) digits[first = i] = (char)('0' + number % 10);
  say(what), say(" "), say(digits + first);
}

// --- The interrupt ------------------------------------------------------------------------------

static volatile uint32_t interrupts;

static void mask_interrupts(uint32_t mask) {  // VexRiscv's own register
  __asm__ volatile("csrw 0xBC0, %0" ::"r"(mask));
}

void isr(void) {
  interrupts++;
  mask_interrupts(0);  // until the driver has polled the core
}

static void wait_for_interrupt(void) {
  const uint32_t before = interrupts;
  mask_interrupts(1u << UFP4_INTERRUPT);
  while (interrupts == before)
    __asm__ volatile("" ::: "memory");  // the loop runs from ROM and leaves the SDRAM to the core
}

// --- The core -----------------------------------------------------------------------------------

static ufp4_bare_mapped_t mapped;
static ufp4_bare_t core;

// Invalidates the processor's cache, which writes through and does not see the core's writes.
static void forget_cache(void) {
  __asm__ volatile(".word 0x500F" ::: "memory");
}

static ufp4_status_t memory_read(void *user, uint64_t address, void *data, uint64_t bytes) {
  forget_cache();
  return ufp4_bare_mapped_memory_read(user, address, data, bytes);
}

static ufp4_status_t start(void) {
  ufp4_bare_identity_t is;
  int resetting = 1;
  mapped = (ufp4_bare_mapped_t){(volatile uint32_t *)UFP4_REGISTERS, (void *)MAIN_RAM, MAIN_RAM};
  core =
      (ufp4_bare_t){.io = {&mapped, ufp4_bare_mapped_register_read, ufp4_bare_mapped_register_write,
                           memory_read, ufp4_bare_mapped_memory_write},
                    .ring = RING,
                    .ring_log2 = 4};
  ufp4_status_t status = ufp4_bare_identify(&core, &is);
  if (status == UFP4_OK && (is.id != UFP4_CORE_ID || !UFP4_BARE_KNOWS(is.version)))
    return UFP4_ERROR_DEVICE;
  if (status == UFP4_OK) status = ufp4_bare_reset(&core);
  while (status == UFP4_OK && resetting) status = ufp4_bare_resetting(&core, &resetting);
  return status == UFP4_OK ? ufp4_bare_set_up(&core) : status;
}

// Submits @p count jobs at once and waits for all. @return how many ended well
static uint32_t run(const uint8_t jobs[][UFP4_DESCRIPTOR_BYTES], uint32_t count) {
  uint32_t good = 0, ended = 0, fatal = 0;
  for (uint32_t i = 0; i < count; i++) {
    ufp4_descriptor_t job;
    memcpy(&job, jobs[i], sizeof job);
    if (ufp4_bare_submit(&core, &job) != UFP4_OK) return good;
  }
  for (uint32_t taken = 0; taken < count && fatal == 0;) {
    wait_for_interrupt();
    for (ufp4_bare_poll(&core, &ended, &fatal); ended > 0; ended--, taken++) {
      ufp4_completion_t done;
      ufp4_bare_take(&core, &done);
      good += done.status == UFP4_CORE_STATUS_OK;
    }
  }
  return good;
}

// --- Comparison ---------------------------------------------------------------------------------

static void clear(const golden_data_t *of) {
  static const uint8_t zero[4];
  for (uint32_t at = 0; at < of->bytes; at += 4)
    ufp4_bare_mapped_memory_write(&mapped, of->address + at, zero, sizeof zero);
}

static void write_tensors(void) {
  clear(&golden_product);
  for (unsigned i = 0; i < 3; i++) clear(&golden_outputs[i]);
  for (unsigned i = 0; i < sizeof golden_inputs / sizeof golden_inputs[0]; i++)
    ufp4_bare_mapped_memory_write(&mapped, golden_inputs[i].address, golden_inputs[i].data,
                                  golden_inputs[i].bytes);
}

static uint32_t differing(const golden_data_t *of) {
  uint32_t count = 0;
  for (uint32_t at = 0; at < of->bytes; at++) {
    uint8_t got;
    ufp4_bare_mapped_memory_read(&mapped, of->address + at, &got, 1);
    count += got != of->data[at];
  }
  return count;
}

static int check(const golden_data_t *of, uint32_t good, uint32_t jobs) {
  forget_cache();
  const uint32_t wrong = differing(of);
  say(of->name);
  say_number(":", of->bytes), say_number(" bytes,", wrong), say_number(" differ,", good);
  say_number(" of", jobs), say(" jobs\n");
  return wrong == 0 && good == jobs;
}

// Packs an operand into panels.
static void pack(const golden_operand_t *operand) {
  const ufp4_operand_t in = {.rows = operand->rows,
                             .cols = operand->cols,
                             .blocks = operand->blocks,
                             .block = 16,
                             .scale_blocks = operand->blocks,
                             .codes = (uint8_t *)(uintptr_t)operand->codes,
                             .scales = (uint8_t *)(uintptr_t)operand->scales};
  ufp4_panel_pack(&in, ufp4_panel_stride_blocks(in.cols), (uint8_t *)operand->codes_address,
                  (uint8_t *)operand->scales_address);
}

int main(void) {
  int equal = 1;
  CSR(SDRAM_DFII_CONTROL) = 0x1;  // LiteDRAM's controller takes over the SDRAM, which needs no
                                  // set-up in this model
  if (start() != UFP4_OK) return say("end: no core\n"), 1;
  __asm__ volatile("csrs mstatus, %0" ::"r"(8));
  write_tensors();
  for (unsigned i = 0; i < 2; i++) pack(&golden_operands[i]);
  // Reading puts these bytes into the processor's cache before the core writes others.
  equal &= differing(&golden_product) != 0;
  equal &= check(&golden_product, run(golden_product_jobs, 1), 1);
  const uint32_t jobs = sizeof golden_jobs / sizeof golden_jobs[0];
  const uint32_t good = run(golden_jobs, jobs);
  for (unsigned i = 0; i < 3; i++) equal &= check(&golden_outputs[i], good, jobs);
  say_number("interrupts", interrupts), say("\n");
  say(equal && interrupts > 0 ? "end: equal\n" : "end: different\n");
  return 0;
}
