// SPDX-License-Identifier: Apache-2.0
// Configurations of the core by their names, and those that are made of parameters.
//
// rows=8:cols=16:tile=128x256:chunk=16:bus=128:quant=64:contract=exact is one; what is left out is
// as in ufp4_top, whose rules it must keep. The name that is made of it, 8x16-128x256-c16-b128-q64,
// says the same.
#ifndef UFP4_CONFIGURATION_H
#define UFP4_CONFIGURATION_H

#include "ufp4/spec.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Finds a configuration by its name, or makes it of its parameters.
 * @param[out] target form of the arithmetic in which it is simulated; may be NULL
 * @return UFP4_ERROR_ARGUMENT if there is no such name or parameter, UFP4_ERROR_UNSUPPORTED if
 * ufp4_top would refuse what they make, in its words
 */
ufp4_status_t configuration_find(const char *text, ufp4_configuration_t *configuration,
                                 ufp4_target_t *target, ufp4_message_t *message);

#ifdef __cplusplus
}
#endif

#endif
