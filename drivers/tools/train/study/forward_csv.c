// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "base/names.h"
#include "train/study/forward.h"

static void put_rows(const void *context, FILE *out) {
  const ufp4_forward_t *forward = context;
  fputs("layer,matrix,tensor,pass,grid,rht,round,alpha,sqnr_db,bucket_ratio\n", out);
  for (int64_t i = 0; i < forward->row_count; i++) {
    const ufp4_forward_row_t *r = &forward->rows[i];
    fprintf(out, "%u,%s,%s,%s,%s,%s,%s,%.9g,%.9g,%.9g\n", r->layer / UFP4_MATRIX_COUNT,
            ufp4_matrix_name(r->layer % UFP4_MATRIX_COUNT), ufp4_role_name(r->role),
            ufp4_pass_name(r->pass), elem_names[r->elem], r->rht ? "on" : "off",
            round_names[r->round], r->rounding.kept, r->rounding.sqnr_db, r->rounding.bucket_ratio);
  }
}

ufp4_status_t ufp4_forward_write_csv(const ufp4_forward_t *forward, const char *path,
                                     ufp4_message_t *message) {
  return file_write_by(path, put_rows, forward, message);
}
