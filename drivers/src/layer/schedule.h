// SPDX-License-Identifier: Apache-2.0
// Functions shared by the files of a schedule.
#ifndef UFP4_SCHEDULE_SHARED_H
#define UFP4_SCHEDULE_SHARED_H

#include "linear.h"
#include "ufp4_schedule.h"

/** Returns the shape of a layer within one micro-batch. */
ufp4_linear_shape_t schedule_shape(const ufp4_schedule_plan_t *plan, int layer, int batch);
/** Checks a plan as far as is possible before its list is made; sets a message. */
ufp4_status_t schedule_check(ufp4_device_t *device, const ufp4_schedule_plan_t *plan,
                             const ufp4_schedule_buffers_t *buffers);
unsigned schedule_source_bytes(const ufp4_schedule_plan_t *plan);

#endif
