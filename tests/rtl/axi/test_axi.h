// SPDX-License-Identifier: Apache-2.0
// The properties of the protocol checker, defined in test_checker.cpp.
#ifndef UFP4_TEST_AXI_H
#define UFP4_TEST_AXI_H

void checker_passes_legal_bursts();
void rejects_unstable_addresses();
void rejects_unstable_data();
void rejects_bad_bursts();
void rejects_wrong_last();
void checker_forgets_in_reset();
void rejects_valid_in_reset();

#endif
