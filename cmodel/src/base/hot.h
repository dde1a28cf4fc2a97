// SPDX-License-Identifier: Apache-2.0
// Loops that are compiled for each level of x86-64 and chosen when the program is loaded.
#ifndef UFP4_HOT_H
#define UFP4_HOT_H

// Without contraction (-ffp-contract=off) and without reordering, a wider vector does the same
// operations: the same bits. The sanitizers cannot instrument code that runs while the loader still
// resolves symbols.
#if defined(__x86_64__) && defined(__ELF__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define UFP4_HOT __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define UFP4_HOT
#endif

#endif
