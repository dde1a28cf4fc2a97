// SPDX-License-Identifier: Apache-2.0
// Configurations of the core, by name or by parameters.
//
// rows=8:cols=16:tile=128x256:chunk=16:bus=128:quant=64:contract=exact is a list of parameters;
// those left out have the defaults of ufp4_top, whose rules apply. Its name is
// 8x16-128x256-c16-b128-q64, which means the same.
#ifndef UFP4_CONFIGURATION_H
#define UFP4_CONFIGURATION_H

#include "ufp4/spec.h"
#include "ufp4/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Finds a configuration by its name, or makes one from its parameters.
 *  @param[out] target the target whose form of the arithmetic is simulated; may be NULL
 *  @return UFP4_ERROR_ARGUMENT if there is no such name or parameter, UFP4_ERROR_UNSUPPORTED if
 * ufp4_top would refuse the configuration; the message is ufp4_top's
 */
ufp4_status_t configuration_find(const char *text, ufp4_configuration_t *configuration,
                                 ufp4_target_t *target, ufp4_message_t *message);

#ifdef __cplusplus
}
#endif

#endif
