// SPDX-License-Identifier: Apache-2.0
// Random numbers, directional derivatives and small texts for the tests of the language model.
#ifndef UFP4_TRAIN_FIXTURE_H
#define UFP4_TRAIN_FIXTURE_H

#include "check.h"
#include "train/learn/trainer.h"

/** Draws approximately normal numbers. */
void fixture_normal(check_random_t *random, float deviation, float *out, int64_t count);
/** Returns sum a_i b_i in double. */
double fixture_dot(const float *a, const float *b, int64_t count);

/** A function of an array of floats. */
typedef double (*fixture_function_t)(void *context, const float *x);
/** Compares <gradient, v> with the derivative of @p f at @p x along a random direction v of length
 * 1, from four points: (8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12h, exact up to h^4. @p tolerance
 * is relative to |gradient| / sqrt(count), the size of a typical derivative: FP32 rounding of f
 * gives about 1e-7 |f| / h. */
void fixture_check_gradient(check_random_t *random, const char *what, fixture_function_t f,
                            void *context, const float *x, const float *gradient, int64_t count,
                            double h, double tolerance);

/** Makes a text of random words from a small vocabulary, which is easy to learn; free it with
 * ufp4_text_free. */
ufp4_text_t fixture_text(int64_t bytes);
/** Makes a text that depends on the number alone, not on the seed of the run. */
ufp4_text_t fixture_text_of(int64_t bytes, uint64_t number);
/** Returns 2 blocks, d 32, 2 heads, ff 48, context 16. */
ufp4_transformer_shape_t fixture_shape(void);
/** Returns the model of fixture_shape, 4 sequences a step, @p steps steps, rate 1e-2. */
ufp4_trainer_options_t fixture_options(int64_t steps);

/** For `open` of the options: they open a golden model device of one thread, or none. */
ufp4_device_t *fixture_open(void *context);
ufp4_device_t *fixture_open_none(void *context);
/** Opens a golden model device. If that fails, the property fails and the result is NULL. */
ufp4_device_t *fixture_device(unsigned threads);

/** Creates a trainer with a recipe of that name; NULL: plain FP32, and @p device is not used. */
ufp4_trainer_t *fixture_trainer(const ufp4_trainer_options_t *options, const ufp4_text_t *text,
                                ufp4_device_t *device, const char *recipe);

/** Makes an empty folder in the temporary folder; fixture_remove removes it with its files. */
void fixture_folder(char path[256]);
void fixture_remove(const char *path);

#endif
