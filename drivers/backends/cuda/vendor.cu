// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>

#include "vendor.h"

#if defined(__CUDACC__) && __has_include(<cublasLt.h>) && __has_include(<cublas_v2.h>)

#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>

#define WORKSPACE_BYTES ((size_t)32 << 20)

// The header overloads this function.
typedef cublasStatus_t (*gemm_ex_t)(cublasHandle_t handle, cublasOperation_t transa,
                                    cublasOperation_t transb, int m, int n, int k,
                                    const void *alpha, const void *a, cudaDataType a_type, int lda,
                                    const void *b, cudaDataType b_type, int ldb, const void *beta,
                                    void *c, cudaDataType c_type, int ldc,
                                    cublasComputeType_t compute, cublasGemmAlgo_t algorithm);

struct vendor {
  void *blas, *lt;
  cublasHandle_t handle;
  cublasLtHandle_t lt_handle;
  void *workspace;
  decltype(&cublasDestroy) destroy;
  gemm_ex_t gemm;
  decltype(&cublasLtDestroy) lt_destroy;
  decltype(&cublasLtMatmul) matmul;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic;
  decltype(&cublasLtMatmulDescCreate) desc_create;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set;
  decltype(&cublasLtMatrixLayoutCreate) layout_create;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set;
};

namespace {

/** Opens a library of the version of the headers. */
void *open_library(const char *name) {
  char versioned[64];
  snprintf(versioned, sizeof versioned, "%s.%d", name, CUBLAS_VER_MAJOR);
  void *library = dlopen(versioned, RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? library : dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

template <typename FUNCTION>
bool find(void *library, const char *name, FUNCTION *out) {
  *out = library != nullptr ? (FUNCTION)dlsym(library, name) : nullptr;
  return *out != nullptr;
}

bool find_all(vendor_t *v) {
  return find(v->blas, "cublasDestroy_v2", &v->destroy) &&
         find(v->blas, "cublasGemmEx", &v->gemm) &&
         find(v->lt, "cublasLtDestroy", &v->lt_destroy) &&
         find(v->lt, "cublasLtMatmul", &v->matmul) &&
         find(v->lt, "cublasLtMatmulAlgoGetHeuristic", &v->heuristic) &&
         find(v->lt, "cublasLtMatmulDescCreate", &v->desc_create) &&
         find(v->lt, "cublasLtMatmulDescDestroy", &v->desc_destroy) &&
         find(v->lt, "cublasLtMatmulDescSetAttribute", &v->desc_set) &&
         find(v->lt, "cublasLtMatrixLayoutCreate", &v->layout_create) &&
         find(v->lt, "cublasLtMatrixLayoutDestroy", &v->layout_destroy) &&
         find(v->lt, "cublasLtMatmulPreferenceCreate", &v->preference_create) &&
         find(v->lt, "cublasLtMatmulPreferenceDestroy", &v->preference_destroy) &&
         find(v->lt, "cublasLtMatmulPreferenceSetAttribute", &v->preference_set);
}

bool start(vendor_t *v) {
  decltype(&cublasCreate) create;
  decltype(&cublasLtCreate) lt_create;
  return find(v->blas, "cublasCreate_v2", &create) && find(v->lt, "cublasLtCreate", &lt_create) &&
         find_all(v) && create(&v->handle) == CUBLAS_STATUS_SUCCESS &&
         lt_create(&v->lt_handle) == CUBLAS_STATUS_SUCCESS &&
         cudaMalloc(&v->workspace, WORKSPACE_BYTES) == cudaSuccess;
}

}  // namespace

vendor_t *vendor_open(ufp4_message_t *message) {
  vendor_t *vendor = (vendor_t *)calloc(1, sizeof *vendor);
  if (vendor == nullptr) return nullptr;
  vendor->blas = open_library("libcublas.so");
  vendor->lt = open_library("libcublasLt.so");
  if (start(vendor)) return vendor;
  vendor_close(vendor);
  (void)cudaGetLastError();  // otherwise the next launch would report it
  snprintf(message->text, sizeof message->text, "cuda: cuBLAS %d was not found or does not start",
           CUBLAS_VER_MAJOR);
  return nullptr;
}

// The libraries stay loaded, because CUDA does not survive being unloaded and loaded again.
void vendor_close(vendor_t *vendor) {
  if (vendor == nullptr) return;
  (void)cudaFree(vendor->workspace);
  if (vendor->handle != nullptr) vendor->destroy(vendor->handle);
  if (vendor->lt_handle != nullptr) vendor->lt_destroy(vendor->lt_handle);
  free(vendor);
}

ufp4_status_t vendor_gemm(vendor_t *vendor, ufp4_cuda_vendor_t what, int64_t m, int64_t n,
                          int64_t k, const void *a, const void *b, void *d,
                          ufp4_message_t *message) {
  const float one_f = 1, zero_f = 0;
  const double one_d = 1, zero_d = 0;
  const bool wide = what == UFP4_CUDA_VENDOR_FP64;
  const cudaDataType in = wide ? CUDA_R_64F : CUDA_R_16BF, out = wide ? CUDA_R_64F
                                                                 : what == UFP4_CUDA_VENDOR_BF16_ALL
                                                                     ? CUDA_R_16BF
                                                                     : CUDA_R_32F;
  // Column-major: D^T [n][m] = B A^T.
  const cublasStatus_t error =
      vendor->gemm(vendor->handle, CUBLAS_OP_T, CUBLAS_OP_N, (int)n, (int)m, (int)k,
                   wide ? (const void *)&one_d : &one_f, b, in, (int)k, a, in, (int)k,
                   wide ? (const void *)&zero_d : &zero_f, d, out, (int)n,
                   wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  if (error == CUBLAS_STATUS_SUCCESS) return UFP4_OK;
  snprintf(message->text, sizeof message->text, "cuda: cuBLAS refused a GEMM with status %d",
           (int)error);
  return UFP4_ERROR_DEVICE;
}

// --- FP8 and FP4 --------------------------------------------------------------------------------

namespace {

/** The descriptors of one product for cuBLASLt. */
typedef struct {
  cublasLtMatmulDesc_t product;
  cublasLtMatrixLayout_t a, b, d;
  cublasLtMatmulPreference_t preference;
} narrow_t;

void narrow_free(const vendor_t *v, narrow_t *x) {
  if (x->product != nullptr) v->desc_destroy(x->product);
  if (x->a != nullptr) v->layout_destroy(x->a);
  if (x->b != nullptr) v->layout_destroy(x->b);
  if (x->d != nullptr) v->layout_destroy(x->d);
  if (x->preference != nullptr) v->preference_destroy(x->preference);
}

template <typename T>
bool set(const vendor_t *v, narrow_t *x, cublasLtMatmulDescAttributes_t what, T value) {
  return v->desc_set(x->product, what, &value, sizeof value) == CUBLAS_STATUS_SUCCESS;
}

/** Sets the scales of blocks of 16; cuBLASLt's A is our B. */
bool set_block_scales(const vendor_t *v, narrow_t *x, const ufp4_cuda_narrow_gemm_t *job) {
#if CUBLAS_VERSION >= 120800
  return set(v, x, CUBLASLT_MATMUL_DESC_A_SCALE_MODE,
             (int32_t)CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3) &&
         set(v, x, CUBLASLT_MATMUL_DESC_B_SCALE_MODE,
             (int32_t)CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3) &&
         set(v, x, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, job->b_scales) &&
         set(v, x, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, job->a_scales);
#else
  (void)v, (void)x, (void)job;
  return false;
#endif
}

cudaDataType narrow_type(ufp4_cuda_narrow_t kind) {
#if CUBLAS_VERSION >= 120800
  if (kind == UFP4_CUDA_NARROW_FP4) return CUDA_R_4F_E2M1;
#endif
  (void)kind;
  return CUDA_R_8F_E4M3;
}

bool narrow_describe(const vendor_t *v, const ufp4_cuda_narrow_gemm_t *job, narrow_t *x) {
  const cudaDataType type = narrow_type(job->kind);
  const uint64_t m = (uint64_t)job->m, n = (uint64_t)job->n, k = (uint64_t)job->k;
  const size_t workspace = WORKSPACE_BYTES;
  return v->desc_create(&x->product, CUBLAS_COMPUTE_32F, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS &&
         set(v, x, CUBLASLT_MATMUL_DESC_TRANSA, (int32_t)CUBLAS_OP_T) &&
         set(v, x, CUBLASLT_MATMUL_DESC_FAST_ACCUM, (int8_t)job->fast) &&
         (job->kind != UFP4_CUDA_NARROW_FP4 || set_block_scales(v, x, job)) &&
         v->layout_create(&x->a, type, k, n, (int64_t)k) == CUBLAS_STATUS_SUCCESS &&
         v->layout_create(&x->b, type, k, m, (int64_t)k) == CUBLAS_STATUS_SUCCESS &&
         v->layout_create(&x->d, CUDA_R_32F, n, m, (int64_t)n) == CUBLAS_STATUS_SUCCESS &&
         v->preference_create(&x->preference) == CUBLAS_STATUS_SUCCESS &&
         v->preference_set(x->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &workspace,
                           sizeof workspace) == CUBLAS_STATUS_SUCCESS;
}

}  // namespace

ufp4_status_t vendor_gemm_narrow(vendor_t *v, const ufp4_cuda_narrow_gemm_t *job,
                                 ufp4_message_t *message) {
  const float one = 1, zero = 0;
  narrow_t x = {};
  cublasLtMatmulHeuristicResult_t found = {};
  int count = 0;
  cublasStatus_t error = CUBLAS_STATUS_NOT_SUPPORTED;
  if (narrow_describe(v, job, &x)) {
    error =
        v->heuristic(v->lt_handle, x.product, x.a, x.b, x.d, x.d, x.preference, 1, &found, &count);
    if (error == CUBLAS_STATUS_SUCCESS && count == 0) error = CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (error == CUBLAS_STATUS_SUCCESS) {
    error = v->matmul(v->lt_handle, x.product, &one, job->b, x.a, job->a, x.b, &zero, job->d, x.d,
                      job->d, x.d, &found.algo, v->workspace, WORKSPACE_BYTES, nullptr);
  }
  narrow_free(v, &x);
  if (error == CUBLAS_STATUS_SUCCESS) return UFP4_OK;
  snprintf(message->text, sizeof message->text, "cuBLASLt does not take this product (status %d)",
           (int)error);
  return UFP4_ERROR_UNSUPPORTED;
}

#else

// Without the headers, or on the emulated GPU, there is nothing to compare with.
struct vendor {
  int unused;
};

vendor_t *vendor_open(ufp4_message_t *message) {
  snprintf(message->text, sizeof message->text, "cuda: built without cuBLAS");
  return nullptr;
}

void vendor_close(vendor_t *) {}

ufp4_status_t vendor_gemm(vendor_t *, ufp4_cuda_vendor_t, int64_t, int64_t, int64_t, const void *,
                          const void *, void *, ufp4_message_t *) {
  return UFP4_ERROR_UNSUPPORTED;
}

ufp4_status_t vendor_gemm_narrow(vendor_t *, const ufp4_cuda_narrow_gemm_t *, ufp4_message_t *) {
  return UFP4_ERROR_UNSUPPORTED;
}

#endif
