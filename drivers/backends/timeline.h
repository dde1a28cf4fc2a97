// SPDX-License-Identifier: Apache-2.0
// The timeline of a simulated core as a file in Chrome's trace format, which
// https://ui.perfetto.dev and chrome://tracing open: one track per unit, one microsecond per cycle.
#ifndef UFP4_DRIVER_TIMELINE_H
#define UFP4_DRIVER_TIMELINE_H

#include "port/backend.h"
#include "ufp4_timeline.h"

/** The number of events after which a timeline ends: about 40 MB. */
#define TIMELINE_MOST (1u << 19)

typedef struct timeline timeline_t;

/** Opens a timeline. @p path NULL: *out is NULL, which the other calls accept and ignore. @p
 * configuration and @p message must live as long as the timeline. */
ufp4_status_t timeline_open(const char *path, const char *configuration, ufp4_message_t *message,
                            timeline_t **out);
/** Returns the sink for the core, or NULL. */
const ufp4_timeline_sink_t *timeline_sink(const timeline_t *timeline);
/** Writes the file, which gets its name when it is complete; a timeline without events is not
 * written. If the timeline was cut off, the message given to timeline_open says so, with
 * UFP4_OK. */
ufp4_status_t timeline_write(const timeline_t *timeline);
void timeline_free(timeline_t *timeline);

#endif
