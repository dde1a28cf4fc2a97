// SPDX-License-Identifier: Apache-2.0
// test_threads.c, compiled as C++.
#include "test_threads.c"
