// SPDX-License-Identifier: Apache-2.0
// Verilator's waveform writer does not check whether its writes succeed. It is compiled with this
// header included first, so that each file is checked when it is closed: a stream remembers that a
// write has failed.
#ifndef UFP4_SIM_WAVEFORMS_H
#define UFP4_SIM_WAVEFORMS_H

#include <cstdio>

/** Replaces fclose, and counts files that could not be written completely in this thread's
 * waveforms_failed. */
int waveforms_fclose(std::FILE *file);
extern thread_local unsigned waveforms_failed;

#ifdef UFP4_WAVEFORMS_WRITER
#define fclose waveforms_fclose
#endif

#endif
