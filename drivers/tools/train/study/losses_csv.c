// SPDX-License-Identifier: Apache-2.0
#include "base/file.h"
#include "train/study/experiment.h"

static void write_run(FILE *out, const char *name, uint64_t seed, int64_t from, int64_t steps,
                      const ufp4_run_t *run) {
  for (int64_t i = from; i < steps; i++) {
    fprintf(out, "%s,%llu,%lld,%.9g,", name, (unsigned long long)seed, (long long)i, run->loss[i]);
    if (i == steps - 1) fprintf(out, "%.9g", run->held_loss);
    fputc('\n', out);
  }
}

ufp4_status_t ufp4_experiment_write_csv(const ufp4_experiment_t *experiment, ufp4_run_kind_t kind,
                                        const char *path, ufp4_message_t *message) {
  const ufp4_experiment_options_t *o = experiment->options;
  const int64_t from = kind == UFP4_RUN_BRANCHED ? o->branch_step : 0;
  file_out_t file;
  ufp4_status_t status = file_out_open(path, &file, message);
  if (status) return status;
  fputs("recipe,seed,step,train_loss,held_loss\n", file.stream);
  for (int v = 0; v < o->variant_count; v++) {
    if (!ufp4_experiment_shows(o, kind, v)) continue;
    for (int s = 0; s < o->seeds; s++) {
      write_run(file.stream, o->variants[v].name, o->trainer.seed + (uint64_t)s, from,
                o->trainer.steps, ufp4_experiment_at(experiment, kind, v, s));
    }
  }
  return file_out_close(&file, message);
}
