// SPDX-License-Identifier: Apache-2.0
// Checkpoints of training runs: a .safetensors with the settings and the state of a run.
#ifndef UFP4_TRAIN_CHECKPOINT_H
#define UFP4_TRAIN_CHECKPOINT_H

#include "train/learn/trainer.h"

/** Writes the state of @p trainer: weights, both moments and the @p losses of the steps so far;
 * the metadata have shape, schedule, seed, recipe, a checksum of the text and one of the data. The
 * file is written completely or not at all, and an existing file at @p path stays until then.
 *  @param losses [steps taken] */
ufp4_status_t ufp4_trainer_save(const ufp4_trainer_t *trainer, const double *losses,
                                const char *path, ufp4_message_t *message);
/** Restores the state that ufp4_trainer_save wrote: later steps have the bits of an uninterrupted
 * run. The trainer must have been created with the same options, recipe and text.
 *  @param[out] losses of the steps taken; has room for all steps of the schedule
 *  @return UFP4_ERROR_FORMAT, with a line that says why: the file is truncated or damaged, or
 * belongs to another run (the first setting that differs is named); UFP4_ERROR_IO: it does not
 * exist. */
ufp4_status_t ufp4_trainer_load(ufp4_trainer_t *trainer, double *losses, const char *path,
                                ufp4_message_t *message);
/** Loads the state of a run with another recipe as ufp4_trainer_load does: shape, schedule, seed
 * and text must be equal. If the trainer's own options request a perturbation, it is applied to the
 * loaded weights. */
ufp4_status_t ufp4_trainer_branch(ufp4_trainer_t *trainer, double *losses, const char *path,
                                  ufp4_message_t *message);
/** Returns whether a complete checkpoint of any run is at @p path; its data are not checked. */
int ufp4_checkpoint_is(const char *path);

#endif
