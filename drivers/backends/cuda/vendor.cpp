// SPDX-License-Identifier: Apache-2.0
#include "vendor.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>

// Of cublas_api.h and library_types.h; the library's interface is stable within what is used here.
enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUDA_R_32F = 0, CUDA_R_64F = 1, CUDA_R_16BF = 14 };
enum { CUBLAS_COMPUTE_32F = 68, CUBLAS_COMPUTE_64F = 70, CUBLAS_GEMM_DEFAULT = -1 };

typedef int (*create_t)(void **handle);
typedef int (*destroy_t)(void *handle);
typedef int (*gemm_ex_t)(void *handle, int transa, int transb, int m, int n, int k, const void *alpha, const void *a,
                         int a_type, int lda, const void *b, int b_type, int ldb, const void *beta, void *c, int c_type,
                         int ldc, int compute, int algorithm);

struct vendor {
  void *library, *handle;
  destroy_t destroy;
  gemm_ex_t gemm;
};

static void *open_library() {
  static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11", "libcublas.so"};
  for (const char *name : names) {
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) return library;
  }
  return nullptr;
}

vendor_t *vendor_open(ufp4_message_t *message) {
  vendor_t *vendor = (vendor_t *)calloc(1, sizeof *vendor);
  if (vendor == nullptr) return nullptr;
  vendor->library = open_library();
  if (vendor->library != nullptr) {
    create_t create = (create_t)dlsym(vendor->library, "cublasCreate_v2");
    vendor->destroy = (destroy_t)dlsym(vendor->library, "cublasDestroy_v2");
    vendor->gemm = (gemm_ex_t)dlsym(vendor->library, "cublasGemmEx");
    if (create != nullptr && vendor->destroy != nullptr && vendor->gemm != nullptr && create(&vendor->handle) == 0) {
      return vendor;
    }
    dlclose(vendor->library);
  }
  free(vendor);
  snprintf(message->text, sizeof message->text, "cuda: cuBLAS was not found or does not start");
  return nullptr;
}

void vendor_close(vendor_t *vendor) {
  if (vendor == nullptr) return;
  vendor->destroy(vendor->handle);
  dlclose(vendor->library);
  free(vendor);
}

ufp4_status_t vendor_gemm(vendor_t *vendor, ufp4_cuda_vendor_t what, int64_t m, int64_t n, int64_t k, const void *a,
                          const void *b, void *d, ufp4_message_t *message) {
  const float one_f = 1, zero_f = 0;
  const double one_d = 1, zero_d = 0;
  const bool wide = what == UFP4_CUDA_VENDOR_FP64;
  const int in = wide ? CUDA_R_64F : CUDA_R_16BF, out = wide ? CUDA_R_64F : CUDA_R_32F;
  // Column-major: D^T [n][m] = B A^T.
  int error = vendor->gemm(vendor->handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)n, (int)m, (int)k,
                           wide ? (const void *)&one_d : &one_f, b, in, (int)k, a, in, (int)k,
                           wide ? (const void *)&zero_d : &zero_f, d, out, (int)n,
                           wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  if (error == 0) return UFP4_OK;
  snprintf(message->text, sizeof message->text, "cuda: cuBLAS refused a GEMM with status %d", error);
  return UFP4_ERROR_DEVICE;
}
