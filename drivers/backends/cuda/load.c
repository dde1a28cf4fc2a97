// SPDX-License-Identifier: Apache-2.0
// Finds libufp4_cuda.so at run time, so that no other part of ufp4 depends on CUDA.
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda.h"
#include "measure.h"

#define LIBRARY_NAME "libufp4_cuda.so"

// Places of the library: beside the program, as in a build; in the library folder beside the
// program's bin folder, as installed; or the linker's default path.
static void *open_library(ufp4_message_t *message) {
  static const char *const folders[] = {"", UFP4_LIBRARY_FOLDER "/"};
  const char *named = getenv("UFP4_CUDA_LIBRARY");
  if (named != NULL && named[0] != '\0') {
    void *library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) ufp4_message_set(message, "cuda: UFP4_CUDA_LIBRARY: %s", dlerror());
    return library;
  }
  char program[PATH_MAX], path[PATH_MAX + 64];
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  char *slash = strrchr(program, '/');
  if (slash != NULL) slash[1] = '\0';
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) {
    snprintf(path, sizeof path, "%s%s%s", folders[i][0] == '/' ? "" : program, folders[i],
             LIBRARY_NAME);
    if (access(path, R_OK) != 0) continue;
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) ufp4_message_set(message, "cuda: %s", dlerror());
    return library;
  }
  void *library = dlopen(LIBRARY_NAME, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    ufp4_message_set(message, "cuda: " LIBRARY_NAME
                              " is missing; ./ufp4 builds it where nvcc and a GPU are, and `cmake "
                              "--build build/release --target ufp4_cuda` anywhere with nvcc");
  }
  return library;
}

// The library stays loaded, because CUDA does not survive being unloaded and loaded again.
ufp4_status_t ufp4_cuda_load(ufp4_message_t *message, const ufp4_cuda_table_t **out) {
  typedef const ufp4_cuda_table_t *(*table_function_t)(void);
  table_function_t function;
  *out = NULL;
  void *library = open_library(message);
  if (library == NULL) return UFP4_ERROR_UNSUPPORTED;
  void *symbol = dlsym(library, UFP4_CUDA_TABLE_SYMBOL);
  memcpy(&function, &symbol, sizeof function);  // POSIX allows a symbol to be a function
  const ufp4_cuda_table_t *table = symbol != NULL ? function() : NULL;
  if (table == NULL || table->version != UFP4_CUDA_TABLE_VERSION) {
    ufp4_message_set(message,
                     "cuda: " LIBRARY_NAME " belongs to another version of ufp4; build it again");
    return UFP4_ERROR_UNSUPPORTED;
  }
  *out = table;
  return UFP4_OK;
}

ufp4_status_t ufp4_cuda_available(ufp4_message_t *message) {
  const ufp4_cuda_table_t *table;
  ufp4_cuda_t *cuda = NULL;
  ufp4_status_t status = ufp4_cuda_load(message, &table);
  if (status == UFP4_OK) status = table->open(message, &cuda);
  if (status == UFP4_OK) table->close(cuda);
  return status;
}
