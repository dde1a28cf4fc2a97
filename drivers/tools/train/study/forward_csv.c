// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "base/file.h"
#include "base/names.h"
#include "train/study/forward.h"

// Values that are not numbers are left empty.
static void put_number(FILE *out, double value) {
  if (!isnan(value)) fprintf(out, "%.9g", value);
}

static void put_rows(const void *context, FILE *out) {
  const ufp4_forward_t *forward = context;
  fputs("layer,matrix,tensor,pass,grid,rht,round,alpha,sqnr_db,bucket_ratio,uniform\n", out);
  for (int64_t i = 0; i < forward->row_count; i++) {
    const ufp4_forward_row_t *r = &forward->rows[i];
    fprintf(out, "%u,%s,%s,%s,%s,%s,%s,%.9g,%.9g,", r->layer / UFP4_MATRIX_COUNT,
            ufp4_matrix_name(r->layer % UFP4_MATRIX_COUNT), ufp4_role_name(r->role),
            ufp4_pass_name(r->pass), elem_names[r->elem], r->rht ? "on" : "off",
            round_names[r->round], r->rounding.kept, r->rounding.sqnr_db);
    put_number(out, r->rounding.bucket_ratio);
    fputc(',', out);
    put_number(out, r->rounding.uniform);
    fputc('\n', out);
  }
}

ufp4_status_t ufp4_forward_write_csv(const ufp4_forward_t *forward, const char *path,
                                     ufp4_message_t *message) {
  return file_write_by(path, put_rows, forward, message);
}
