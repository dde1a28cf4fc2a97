// SPDX-License-Identifier: Apache-2.0
// The time line of a simulated core as a file in Chrome's trace format, which
// https://ui.perfetto.dev and chrome://tracing open: a track a unit, a microsecond a cycle.
#ifndef UFP4_DRIVER_TIMELINE_H
#define UFP4_DRIVER_TIMELINE_H

#include "port/backend.h"
#include "ufp4_timeline.h"

/** A time line ends after so many events: about 40 MB. */
#define TIMELINE_MOST (1u << 19)

typedef struct timeline timeline_t;

/** @p path NULL: *out is NULL, of which the other calls take no notice. @p configuration and
 * @p message live as long. */
ufp4_status_t timeline_open(const char *path, const char *configuration, ufp4_message_t *message,
                            timeline_t **out);
/** The sink to be given to the core, or NULL. */
const ufp4_timeline_sink_t *timeline_sink(const timeline_t *timeline);
/** Writes the file, which takes its name when it is whole; one without events is not written. Where
 * the line was cut off the message that timeline_open was given says so, with UFP4_OK. */
ufp4_status_t timeline_write(const timeline_t *timeline);
void timeline_free(timeline_t *timeline);

#endif
