// SPDX-License-Identifier: Apache-2.0
// Checkpoints of a training: a .safetensors that says what was trained, and how far.
#ifndef UFP4_TRAIN_CHECKPOINT_H
#define UFP4_TRAIN_CHECKPOINT_H

#include "train/learn/trainer.h"

/** Writes where @p trainer stands: weights, both moments and the @p losses of the steps so far; in
 * the metadata shape, schedule, seed, recipe, a checksum of the text and one of the data. Whole or
 * not at all: an earlier file at @p path stays until then.
 *  @param losses [steps taken] */
ufp4_status_t ufp4_trainer_save(const ufp4_trainer_t *trainer, const double *losses,
                                const char *path, ufp4_message_t *message);
/** Goes on where ufp4_trainer_save was: the steps to come have the bits of a training that was
 * never interrupted. The trainer must have been created with the same options, recipe and text.
 *  @param[out] losses of the steps taken; has room for all steps of the schedule
 *  @return UFP4_ERROR_FORMAT, with a line that says why: the file is cut or damaged, or of another
 * training (the first setting that differs is named); UFP4_ERROR_IO: it is not there. */
ufp4_status_t ufp4_trainer_load(ufp4_trainer_t *trainer, double *losses, const char *path,
                                ufp4_message_t *message);
/** Loads what ufp4_trainer_load does, of a training with another recipe: shape, schedule, seed and
 * text must be equal. Where the trainer's own options ask for a perturbation, the weights that it
 * goes on from get it. */
ufp4_status_t ufp4_trainer_branch(ufp4_trainer_t *trainer, double *losses, const char *path,
                                  ufp4_message_t *message);
/** Whether a whole checkpoint of any training is at @p path; its data are not looked at. */
int ufp4_checkpoint_is(const char *path);

#endif
