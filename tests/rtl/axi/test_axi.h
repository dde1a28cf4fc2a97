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
void rejects_foreign_ids();
void rejects_long_bursts();
void rejects_too_many_in_flight();
void rejects_bad_strobes();
void rejects_data_too_early();
void checker_passes_data_before_their_address();
void checker_passes_register_accesses();
void rejects_bad_register_answers();
void limits_are_those_of_the_data_sheet();

#endif
