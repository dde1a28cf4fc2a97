// SPDX-License-Identifier: Apache-2.0
// The functions that check.h needs and the program entry, for a machine without a C library under a
// kernel with Linux system calls, such as qemu-user. The program prints a line per property and
// ends with status 1 if one fails.
#include <stdarg.h>

#include "check.h"

void *memcpy(void *target, const void *from, size_t bytes);
void *memset(void *target, int value, size_t bytes);
void start_program(void);

// The pointer is volatile so that the compiler does not turn the loop into a call of the function
// itself.
void *memcpy(void *target, const void *from, size_t bytes) {
  volatile uint8_t *at = target;
  for (size_t i = 0; i < bytes; i++) at[i] = ((const uint8_t *)from)[i];
  return target;
}

void *memset(void *target, int value, size_t bytes) {
  volatile uint8_t *at = target;
  for (size_t i = 0; i < bytes; i++) at[i] = (uint8_t)value;
  return target;
}

#if defined(__riscv)
#define SYSTEM_WRITE 64
#define SYSTEM_EXIT 93
__asm__(
    ".globl _start\n_start:\n.option push\n.option norelax\n  la gp, __global_pointer$\n.option "
    "pop\n"
    "  andi sp, sp, -16\n  call start_program\n");
static long system_call(long number, long a, const void *b, long c) {
  register long a7 __asm__("a7") = number, a0 __asm__("a0") = a, a2 __asm__("a2") = c;
  register const void *a1 __asm__("a1") = b;
  __asm__ volatile("ecall" : "+r"(a0) : "r"(a1), "r"(a2), "r"(a7) : "memory");
  return a0;
}
#elif defined(__aarch64__)
#define SYSTEM_WRITE 64
#define SYSTEM_EXIT 93
__asm__(".globl _start\n_start:\n  bl start_program\n");
static long system_call(long number, long a, const void *b, long c) {
  register long x8 __asm__("x8") = number, x0 __asm__("x0") = a, x2 __asm__("x2") = c;
  register const void *x1 __asm__("x1") = b;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x1), "r"(x2), "r"(x8) : "memory");
  return x0;
}
#elif defined(__s390x__)
#define SYSTEM_WRITE 4
#define SYSTEM_EXIT 1
__asm__(".globl _start\n_start:\n  aghi %r15, -160\n  brasl %r14, start_program\n");
static long system_call(long number, long a, const void *b, long c) {
  register long r1 __asm__("r1") = number, r2 __asm__("r2") = a, r4 __asm__("r4") = c;
  register const void *r3 __asm__("r3") = b;
  __asm__ volatile("svc 0" : "+d"(r2) : "d"(r1), "d"(r3), "d"(r4) : "memory");
  return r2;
}
#else
#error "no start of a program for this machine"
#endif

static int compared, differ;

static void say(const char *text) {
  long length = 0;
  while (text[length] != '\0') length++;
  system_call(SYSTEM_WRITE, 1, text, length);
}

int check_that(int64_t index, int ok, const char *operands, ...) {
  (void)index;
  compared++;
  if (ok) return 1;
  if (differ++ == 0) say("  first mismatch: "), say(operands), say("\n");
  return 0;
}

int check_bits(int64_t index, uint64_t got, uint64_t want, const char *operands, ...) {
  compared++;
  (void)index;
  if (got == want) return 1;
  if (differ++ == 0) say("  first mismatch: "), say(operands), say("\n");
  return 0;
}

static check_test_t *first_test;

void check_register(check_test_t *test) {
  test->next = first_test;
  first_test = test;
}

static int run_tests(void) {
  int good = 1;
  for (const check_test_t *test = first_test; test != NULL; test = test->next) {
    compared = differ = 0;
    test->run();
    const int equal = compared > 0 && differ == 0;
    say(test->name), say(equal ? ": equal\n" : ": FAILED\n");
    good &= equal;
  }
  return !(good && first_test != NULL);
}

// The linker defines these bounds of the constructors, which register the tests.
extern void (*__init_array_start[])(void), (*__init_array_end[])(void);

void start_program(void) {
  for (void (**constructor)(void) = __init_array_start; constructor < __init_array_end;
       constructor++)
    (*constructor)();
  system_call(SYSTEM_EXIT, run_tests(), NULL, 0);
  __builtin_unreachable();
}
