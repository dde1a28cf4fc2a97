// SPDX-License-Identifier: Apache-2.0
// Verilator's writer of waveforms does not look whether its writes succeed. It is compiled with
// this file in front, so that each of its files is asked when it is closed: a stream remembers that
// a write has failed.
#ifndef UFP4_SIM_WAVEFORMS_H
#define UFP4_SIM_WAVEFORMS_H

#include <cstdio>

/** fclose, which counts in this thread's waveforms_failed what could not be written whole. */
int waveforms_fclose(std::FILE *file);
extern thread_local unsigned waveforms_failed;

#ifdef UFP4_WAVEFORMS_WRITER
#define fclose waveforms_fclose
#endif

#endif
