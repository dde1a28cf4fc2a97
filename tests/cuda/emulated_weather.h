// SPDX-License-Identifier: Apache-2.0
// How the emulated GPU behaves where CUDA leaves it open. C, so that tests can set it.
#ifndef UFP4_TESTS_CUDA_EMULATED_WEATHER_H
#define UFP4_TESTS_CUDA_EMULATED_WEATHER_H

typedef struct {
  int early_copies;     ///< asynchronous copies land when they are issued, not when they are waited
                        ///< for
  int backwards;        ///< threads, and blocks of the grid, run from the last to the first
  int fraction_bits;    ///< BF16 products are truncated to so many bits below the largest; 0: exact
  int group;            ///< BF16 products that are added at once: 16, or 8 and then 8; 0 is 16
  int multiprocessors;  ///< of the GPU, which decides the size of tiles; 0 is 1
  int fault;  ///< a fragment layout that is wrong, to test the tests: 1 to EMULATED_FAULTS; 0: none
} emulated_weather_t;

#define EMULATED_FAULTS 4
#define EMULATED_WEATHER_SYMBOL "emulated_set_weather"
typedef void (*emulated_set_weather_t)(const emulated_weather_t *weather);

#endif
