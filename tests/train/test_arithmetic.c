// SPDX-License-Identifier: Apache-2.0
// Tests the FP32 building blocks: accuracy of the exponential, random numbers, optimizer,
// statistics.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "train/learn/adamw.h"
#include "train/model/draw.h"
#include "train/model/elementary.h"

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

TEST(exp_is_accurate) {
  for (int i = -87 * 512; i <= 88 * 512; i++) {
    float x = (float)i / 512;
    double want = exp((double)x);
    check_that(i, fabs((double)ufp4_exp(x) - want) <= 2e-7 * want, "exp(%g): got %.9g, want %.9g",
               (double)x, (double)ufp4_exp(x), want);
  }
}

TEST(exp_of_special_values) {
  check_that(0, isnan(ufp4_exp(NAN)), "exp(NaN) is %g", (double)ufp4_exp(NAN));
  check_bits(1, bits_of(ufp4_exp(0)), bits_of(1), "exp(0)");
  check_bits(2, bits_of(ufp4_exp(-INFINITY)), bits_of(ufp4_exp(-87)), "exp(-inf) is clamped");
  check_bits(3, bits_of(ufp4_exp(INFINITY)), bits_of(ufp4_exp(88)), "exp(inf) is clamped");
}

TEST(sums_of_every_length) {
  float a[70], ones[70];
  check_random_t random = check_random();
  fixture_normal(&random, 1, a, 70);
  for (int i = 0; i < 70; i++) ones[i] = 1;
  for (int64_t count = 0; count <= 70; count++) {
    double want = fixture_dot(a, ones, count);
    check_that(count, fabs((double)ufp4_sum(a, count) - want) < 2e-5, "sum of %lld",
               (long long)count);
    check_bits(count, bits_of(ufp4_dot(a, ones, count)), bits_of(ufp4_sum(a, count)),
               "dot with ones");
  }
}

TEST(normal_numbers_have_their_moments) {
  const int count = 100000;
  ufp4_draw_t draw = ufp4_draw_start(1, UFP4_DRAW_WEIGHTS);
  double sum = 0, squares = 0, fourth = 0;
  for (int i = 0; i < count; i++) {
    double x = (double)ufp4_draw_normal(&draw);
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  // The limits are four deviations of each estimate; the fourth moment of a sum of twelve uniform
  // numbers is 3 - 1.2 / 12.
  check_that(0, fabs(sum / count) < 4.0 / sqrt(count), "mean %g", sum / count);
  check_that(1, fabs(squares / count - 1) < 4 * sqrt(2.0 / count), "variance %g", squares / count);
  check_that(2, fabs(fourth / count - 2.9) < 4 * sqrt(96.0 / count), "fourth moment %g",
             fourth / count);
}

TEST(streams_of_different_uses_differ) {
  ufp4_draw_t a = ufp4_draw_start(5, UFP4_DRAW_WEIGHTS), b = ufp4_draw_start(5, UFP4_DRAW_DATA);
  ufp4_draw_t c = ufp4_draw_start(6, UFP4_DRAW_WEIGHTS),
              same = ufp4_draw_start(5, UFP4_DRAW_WEIGHTS);
  check_that(0, ufp4_draw_at(&a, 0) != ufp4_draw_at(&b, 0), "uses");
  check_that(1, ufp4_draw_at(&a, 0) != ufp4_draw_at(&c, 0), "seeds");
  check_that(2, ufp4_draw_at(&a, 0) != ufp4_draw_at(&a, 1), "indices");
  check_bits(3, ufp4_draw_at(&a, 9), ufp4_draw_at(&same, 9), "the same draw");
}

TEST(adamw_rate_warms_up_and_falls_to_zero) {
  ufp4_adamw_t how = ufp4_adamw_default(0.5f, 100);
  for (int i = 0; i < 10; i++) {
    check_that(i, fabs((double)ufp4_adamw_rate(&how, i) - 0.05 * (i + 1)) < 1e-7,
               "step %d of the warm-up", i);
  }
  check_bits(10, bits_of(ufp4_adamw_rate(&how, 10)), bits_of(0.5f), "the peak");
  check_that(55, fabs((double)ufp4_adamw_rate(&how, 55) - 0.25) < 1e-7, "half way down");
  check_that(99, ufp4_adamw_rate(&how, 99) > 0, "the last step");
  check_bits(100, bits_of(ufp4_adamw_rate(&how, 100)), 0, "after the end");
}

// Compares with Loshchilov and Hutter's update in double, for a gradient short enough not to be
// clipped.
TEST(adamw_follows_its_formula) {
  ufp4_adamw_t how = ufp4_adamw_default(0.01f, 20);
  float w[2] = {0.5f, -0.25f}, m[2] = {0}, v[2] = {0};
  double rw[2] = {0.5, -0.25}, rm[2] = {0}, rv[2] = {0};
  for (int step = 0; step < 20; step++) {
    float g[2] = {0.3f * (float)cos(step), 0.2f * (float)sin(step)};
    double rate = (double)ufp4_adamw_rate(&how, step);
    for (int i = 0; i < 2; i++) {  // element 0 decays, element 1 does not
      rm[i] = 0.9 * rm[i] + 0.1 * (double)g[i];
      rv[i] = 0.95 * rv[i] + 0.05 * (double)g[i] * (double)g[i];
      double mean = rm[i] / (1 - pow(0.9, step + 1)), square = rv[i] / (1 - pow(0.95, step + 1));
      rw[i] = rw[i] * (i == 0 ? 1 - rate * 0.1 : 1) - rate * mean / (sqrt(square) + 1e-8);
    }
    ufp4_adamw_step(&how, step, 2, 1, w, g, m, v);
    for (int i = 0; i < 2; i++) {
      check_that(2 * step + i, fabs((double)w[i] - rw[i]) < 1e-6, "step %d: got %.8g, want %.8g",
                 step, (double)w[i], rw[i]);
    }
  }
}

TEST(adamw_clips_the_gradient) {
  ufp4_adamw_t how = ufp4_adamw_default(0.01f, 10);
  float w[3] = {0}, g[3] = {0.75f, 0, 1}, m[3] = {0}, v[3] = {0};
  check_bits(0, bits_of(ufp4_adamw_step(&how, 0, 3, 3, w, g, m, v)), bits_of(1.25f),
             "norm before clipping");
  check_bits(1, bits_of(g[0]), bits_of(0.75f * 0.8f), "clipped");
  float small[3] = {0.5f, 0, 0};
  ufp4_adamw_step(&how, 1, 3, 3, w, small, m, v);
  check_bits(2, bits_of(small[0]), bits_of(0.5f), "not clipped");
}
