// SPDX-License-Identifier: Apache-2.0
#ifndef UFP4_SIM_WAVEFORMS_H
#define UFP4_SIM_WAVEFORMS_H

#include <string>

namespace ufp4 {

/** Whether an FST file that has been closed holds all that its writer gave it. Verilator's writer does not look whether
 *  its writes succeed; one that failed leaves a chain of blocks that does not end where the file does. */
bool waveforms_whole(const std::string &path);

}  // namespace ufp4

#endif
