// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

struct timeline {
  char *path;
  const char *configuration;
  ufp4_message_t *message;
  ufp4_timeline_sink_t sink;
  ufp4_timeline_event_t *events;
  uint32_t count, room;
  uint64_t cut;  // the cycle in which it was cut off, or 0
};

static const char *const tracks[UFP4_TRACK_COUNT] = UFP4_TRACK_NAMES;
static const char *const names[UFP4_AT_COUNT] = UFP4_AT_NAMES;

// --- Events -------------------------------------------------------------------------------------

static int grow(timeline_t *t) {
  const uint32_t room = t->room == 0 ? 1024 : 2 * t->room;
  void *more = realloc(t->events, room * sizeof *t->events);
  if (more == NULL) return 0;
  t->events = more;
  t->room = room;
  return 1;
}

// Leaves room for the activities that are under way when the timeline is cut off.
static int take(void *user, const ufp4_timeline_event_t *event) {
  timeline_t *t = user;
  if (t->count == t->room && !grow(t)) {
    if (t->cut == 0) t->cut = event->end;
    return 1;
  }
  t->events[t->count++] = *event;
  if (t->cut == 0 && t->count >= TIMELINE_MOST - UFP4_TRACK_COUNT) t->cut = event->end;
  return t->cut != 0;
}

ufp4_status_t timeline_open(const char *path, const char *configuration, ufp4_message_t *message,
                            timeline_t **out) {
  *out = NULL;
  if (path == NULL) return UFP4_OK;
  timeline_t *t = calloc(1, sizeof *t);
  if (t == NULL) return UFP4_ERROR_MEMORY;
  *t = (timeline_t){
      .path = strdup(path), .configuration = configuration, .message = message, .sink = {t, take}};
  if (t->path == NULL) {
    free(t);
    return UFP4_ERROR_MEMORY;
  }
  *out = t;
  return UFP4_OK;
}

const ufp4_timeline_sink_t *timeline_sink(const timeline_t *t) {
  return t != NULL ? &t->sink : NULL;
}

void timeline_free(timeline_t *t) {
  if (t == NULL) return;
  free(t->path);
  free(t->events);
  free(t);
}

// --- The file -----------------------------------------------------------------------------------

static void put_name(FILE *out, const char *what, unsigned track, const char *name) {
  fprintf(out,
          "{\"name\":\"%s_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,\"args\":{\"name\":\"%s\"}},\n",
          what, track, name);
}

static void put_head(const timeline_t *t, FILE *out) {
  char process[96];
  fprintf(out, "{\"otherData\":{\"configuration\":\"%s\",\"time\":\"1 us is 1 cycle\"",
          t->configuration);
  if (t->cut != 0) fprintf(out, ",\"cut_off_at_cycle\":\"%" PRIu64 "\"", t->cut);
  fputs("},\n\"traceEvents\":[\n", out);
  snprintf(process, sizeof process, "ufp4 %s, 1 us = 1 cycle", t->configuration);
  put_name(out, "process", 0, process);
  for (unsigned track = 0; track < UFP4_TRACK_COUNT; track++) {
    put_name(out, "thread", track + 1, tracks[track]);
    fprintf(out,
            "{\"name\":\"thread_sort_index\",\"ph\":\"M\",\"pid\":1,\"tid\":%u,"
            "\"args\":{\"sort_index\":%u}},\n",
            track + 1, track + 1);
  }
}

static int has_job(unsigned track) {
  return track >= UFP4_TRACK_QUANT && track <= UFP4_TRACK_DRAIN;
}

static void put_event(FILE *out, const ufp4_timeline_event_t *event) {
  const char *name = names[event->at];
  fprintf(out,
          "{\"name\":\"%s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%u,\"ts\":%" PRIu64
          ",\"dur\":%" PRIu64,
          name, event->at >= UFP4_AT_STALL_JOB ? "stall" : "work", event->track + 1u, event->begin,
          event->end - event->begin);
  if (has_job(event->track)) fprintf(out, ",\"args\":{\"job\":%" PRIu32 "}", event->job);
  fputc('}', out);
}

static void put(const void *context, FILE *out) {
  const timeline_t *t = context;
  put_head(t, out);
  for (uint32_t i = 0; i < t->count; i++) {
    put_event(out, &t->events[i]);
    fputs(i + 1 < t->count ? ",\n" : "\n]}\n", out);
  }
}

ufp4_status_t timeline_write(const timeline_t *t) {
  if (t == NULL || t->count == 0) return UFP4_OK;
  const ufp4_status_t status = file_write_by(t->path, put, t, t->message);
  if (status == UFP4_OK && t->cut != 0) {
    ufp4_message_set(t->message,
                     "%s: the timeline ends at cycle %" PRIu64 ", after %" PRIu32
                     " events, the maximum",
                     t->path, t->cut, t->count);
  }
  return status;
}
