// SPDX-License-Identifier: Apache-2.0
// This library is preloaded into a program and redirects /dev/uio7, /dev/udmabuf7, /dev/mem and
// their sysfs files to the stand-in whose folder UFP4_STAND_IN names. The page of registers is
// inaccessible: each access traps, goes to the stand-in, and the instruction is skipped.
// UFP4_STAND_IN_FAULT: "short" maps half of the memory twice, "none" has zeros in place of
// registers, "unlocked" grants every lock to everybody.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <ucontext.h>
#include <unistd.h>

#include "stand_in.h"

#define PAGE 4096u

static int registers_socket = -1, uio = -1, mem = -1;
static uint8_t *page;  // the registers

static int has_fault(const char *fault) {
  const char *is = getenv("UFP4_STAND_IN_FAULT");
  return is != NULL && strcmp(is, fault) == 0;
}

// --- Registers ----------------------------------------------------------------------------------

static int call_stand_in(char kind) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", getenv("UFP4_STAND_IN"));
  if (connect(file, (struct sockaddr *)&address, sizeof address) == 0 && write(file, &kind, 1) == 1)
    return file;
  close(file);
  errno = ENODEV;
  return -1;
}

// A bus without a target reads as ones.
static uint32_t access_register(uint32_t writes, uint32_t offset, uint32_t value) {
  stand_in_access_t access = {writes, offset, value};
  if (has_fault("none")) return 0;
  if (send(registers_socket, &access, sizeof access, MSG_NOSIGNAL) != (ssize_t)sizeof access ||
      recv(registers_socket, &access, sizeof access, MSG_WAITALL) != (ssize_t)sizeof access)
    return 0xFFFFFFFFu;
  return access.value;
}

#if defined(__x86_64__)
// Decodes a 32-bit mov between a register and memory. @return the bytes of the instruction, or 0 if
// it is another one.
static unsigned read_mov(const uint8_t *code, int *writes, unsigned *number) {
  static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                REG_R12, REG_R13, REG_R14, REG_R15};
  const unsigned rex = (code[0] & 0xF0) == 0x40 ? code[0] : 0, at = rex != 0;
  const uint8_t modrm = code[at + 1];
  const unsigned mode = modrm >> 6, base = modrm & 7;
  if ((code[at] != 0x8B && code[at] != 0x89) || mode == 3 || (rex & 8)) return 0;
  *writes = code[at] == 0x89;
  *number = (unsigned)order[(modrm >> 3 & 7) + (rex & 4 ? 8 : 0)];
  unsigned bytes = at + 2 + (base == 4);
  if (mode == 1) bytes += 1;
  if (mode == 2 || (mode == 0 && base == 5)) bytes += 4;
  if (mode == 0 && base == 4 && (code[at + 2] & 7) == 5) bytes += 4;
  return bytes;
}

static int pass_over(ucontext_t *context, uint32_t offset) {
  greg_t *registers = context->uc_mcontext.gregs;
  int writes = 0;
  unsigned number = 0;
  const unsigned bytes = read_mov((const uint8_t *)registers[REG_RIP], &writes, &number);
  if (bytes == 0) return 0;
  const uint32_t value = access_register((uint32_t)writes, offset, (uint32_t)registers[number]);
  if (!writes) registers[number] = value;
  registers[REG_RIP] += bytes;
  return 1;
}
#elif defined(__aarch64__)
// In the 32-bit ldr and str the lowest bits are the register, and bit 22 tells the two apart.
static int pass_over(ucontext_t *context, uint32_t offset) {
  const uint32_t code = *(const uint32_t *)context->uc_mcontext.pc, number = code & 31;
  if ((code & 0xBB000000) != 0xB9000000 && (code & 0xFF000000) != 0xB8000000) return 0;
  const int writes = !(code & 1u << 22);
  const uint64_t held = number == 31 ? 0 : context->uc_mcontext.regs[number];
  const uint32_t value = access_register((uint32_t)writes, offset, (uint32_t)held);
  if (!writes && number != 31) context->uc_mcontext.regs[number] = value;
  context->uc_mcontext.pc += 4;
  return 1;
}
#elif defined(__riscv)
// Handles lw and sw, and their compressed forms.
static int pass_over(ucontext_t *context, uint32_t offset) {
  unsigned long *registers = context->uc_mcontext.__gregs;  // the program counter is in place of x0
  const uint16_t *at = (const uint16_t *)registers[0];
  const int is_short = (at[0] & 3) != 3;
  const uint32_t code = is_short ? at[0] : at[0] | (uint32_t)at[1] << 16;
  const int loads = is_short ? (code & 0xE003) == 0x4000 : (code & 0x707F) == 0x2003;
  const int stores = is_short ? (code & 0xE003) == 0xC000 : (code & 0x707F) == 0x2023;
  const uint32_t number = is_short ? 8 + (code >> 2 & 7) : code >> (loads ? 7 : 20) & 31;
  if (!loads && !stores) return 0;
  const uint32_t held = number == 0 ? 0 : (uint32_t)registers[number];
  const uint32_t value = access_register((uint32_t)stores, offset, held);
  if (loads && number != 0) registers[number] = (unsigned long)(long)(int32_t)value;
  registers[0] += is_short ? 2 : 4;
  return 1;
}
#else
static int pass_over(ucontext_t *context, uint32_t offset) {
  (void)context, (void)offset;
  return 0;
}
#endif

static void on_fault(int number, siginfo_t *info, void *context) {
  const uintptr_t offset = (uintptr_t)info->si_addr - (uintptr_t)page;
  if (page != NULL && offset < PAGE && pass_over(context, (uint32_t)offset)) return;
  signal(number, SIG_DFL);
}

static void *map_registers(void) {
  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &action, NULL);
  if (registers_socket < 0) registers_socket = call_stand_in('R');
  page = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return page;
}

// --- Files --------------------------------------------------------------------------------------

// Returns the stand-in's file for a path that it provides, or NULL.
static const char *path_there(const char *path, char *target, size_t size) {
  static const char *const prefixes[] = {"/sys/class/", "/run/lock/"};
  const char *folder = getenv("UFP4_STAND_IN");
  if (folder == NULL) return NULL;
  for (int i = 0; i < 2; i++) {
    if (strncmp(path, prefixes[i], strlen(prefixes[i])) != 0) continue;
    snprintf(target, size, "%s%s", folder, path);
    return target;
  }
  if (strcmp(path, "/dev/udmabuf7") != 0) return NULL;
  snprintf(target, size, "%s/memory", folder);
  return target;
}

static int next_open(const char *path, int flags, mode_t mode) {
  static int (*next)(const char *, int, ...);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "open64");
  return next(path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  char there[512];
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = flags & O_CREAT ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (getenv("UFP4_STAND_IN") != NULL) {
    if (strcmp(path, "/dev/uio7") == 0) return uio = call_stand_in('I');
    if (strcmp(path, "/dev/mem") == 0)
      return mem = next_open(getenv("UFP4_STAND_IN"), O_RDONLY | O_DIRECTORY, 0);
  }
  const char *found = path_there(path, there, sizeof there);
  return next_open(found != NULL ? found : path, flags, mode);
}

int access(const char *path, int mode) {
  static int (*next)(const char *, int);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "access");
  return getenv("UFP4_STAND_IN") != NULL && strcmp(path, "/dev/uio7") == 0 ? 0 : next(path, mode);
}

int flock(int file, int operation) {
  static int (*next)(int, int);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "flock");
  return has_fault("unlocked") ? 0 : next(file, operation);
}

FILE *fopen64(const char *path, const char *mode) {
  static FILE *(*next)(const char *, const char *);
  char there[512];
  const char *found = path_there(path, there, sizeof there);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "fopen64");
  return next(found != NULL ? found : path, mode);
}

static void *next_mmap(void *address, size_t bytes, int protection, int flags, int file,
                       off_t offset) {
  static void *(*next)(void *, size_t, int, int, int, off_t);
  if (next == NULL) *(void **)&next = dlsym(RTLD_NEXT, "mmap64");
  return next(address, bytes, protection, flags, file, offset);
}

static void *map_memory(size_t bytes, off_t offset) {
  char path[512];
  snprintf(path, sizeof path, "%s/memory", getenv("UFP4_STAND_IN"));
  const int file = next_open(path, O_RDWR, 0);
  uint8_t *at = next_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, offset);
  if (has_fault("short"))
    next_mmap(at + bytes / 2, bytes / 2, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
              offset);
  close(file);
  return at;
}

void *mmap64(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (file >= 0 && file == uio) return offset == 0 ? map_registers() : map_memory(bytes, 0);
  if (file >= 0 && file == mem)
    return offset == (off_t)STAND_IN_REGISTERS ? map_registers()
                                               : map_memory(bytes, offset - (off_t)STAND_IN_MEMORY);
  return next_mmap(address, bytes, protection, flags, file, offset);
}
