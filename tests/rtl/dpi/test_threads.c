// SPDX-License-Identifier: Apache-2.0
// ufp4_dpi_message() from two threads; C and C++. There is no simulator, nor an array.
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <svdpi.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *ufp4_dpi_message(void);
int ufp4_dpi_threefry4x32(int rounds, const svBitVecVal *key, const svBitVecVal *counter,
                          svBitVecVal *words);

int svDimensions(const svOpenArrayHandle array) {
  (void)array;
  return 0;
}

int svSize(const svOpenArrayHandle array, int dimension) {
  (void)array;
  return dimension - 1;
}

int svLow(const svOpenArrayHandle array, int dimension) {
  (void)array;
  return dimension;
}

void *svGetArrElemPtr1(const svOpenArrayHandle array, int index) {
  return index == 0 ? array : NULL;
}

#ifdef __cplusplus
}
#endif

static int says(const char *words) {
  if (strcmp(ufp4_dpi_message(), words) == 0) return 1;
  printf("the message is '%s', not '%s'\n", ufp4_dpi_message(), words);
  return 0;
}

static int refuse(int rounds) {
  svBitVecVal words[4] = {0, 0, 0, 0};
  return ufp4_dpi_threefry4x32(rounds, words, words, words) == 1;
}

// Sees no message of the other thread, and then its own.
static void *run_other(void *good) {
  *(int *)good = says("") && refuse(-1) && says("rounds is -1; it must be from 0 to 72");
  return NULL;
}

int main(void) {
  int good = 0;
  pthread_t other;
  if (!says("") || !refuse(99) || pthread_create(&other, NULL, run_other, &good) != 0) return 1;
  pthread_join(other, NULL);
  return good && says("rounds is 99; it must be from 0 to 72") ? 0 : 1;
}
