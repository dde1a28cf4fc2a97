// SPDX-License-Identifier: Apache-2.0
#include "place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FORMS                                                       \
  "use mmio:NAME, mmio:/dev/uio0, mmio:/dev/uio0,/dev/udmabuf0 or " \
  "mmio:/dev/mem@REGISTERS+SIZE,MEMORY+SIZE"

#define UIO_DEVICES 256

// Reads a number from a file of sysfs.
static int read_number(const char *path, uint64_t *number) {
  char line[64], *end = line;
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  if (fgets(line, sizeof line, file) != NULL) *number = strtoull(line, &end, 0);
  fclose(file);
  return end != line;
}

static const char *base_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

static int read_line(const char *path, char line[64]) {
  FILE *file = fopen(path, "r");
  if (file == NULL) return 0;
  const int got = fgets(line, 64, file) != NULL;
  fclose(file);
  if (got) line[strcspn(line, "\n")] = '\0';
  return got;
}

// Finds the device file for a name without a folder: that of the UIO device with this name in the
// device tree, because UIO numbers depend on the order of detection, or that of a u-dma-buf, which
// is named after it.
static ufp4_status_t find_name(place_t *place, unsigned map, ufp4_message_t *message) {
  char path[320], line[64], name[sizeof place->device];
  memcpy(name, place->device, sizeof name);
  if (strchr(name, '/') != NULL) return UFP4_OK;
  for (int i = 0; i < UIO_DEVICES; i++) {
    snprintf(path, sizeof path, "/sys/class/uio/uio%d/name", i);
    if (!read_line(path, line) || strcmp(line, name) != 0) continue;
    snprintf(place->device, sizeof place->device, "/dev/uio%d", i);
    return UFP4_OK;
  }
  if (map == 1 && strlen(name) < sizeof place->device - 5) {
    snprintf(place->device, sizeof place->device, "/dev/%.*s", (int)sizeof place->device - 6, name);
    return UFP4_OK;
  }
  ufp4_message_set(message, "mmio: no UIO device is called '%s' (/sys/class/uio/uio*/name); " FORMS,
                   name);
  return UFP4_ERROR_DEVICE;
}

ufp4_status_t place_check_loaded(ufp4_message_t *message) {
  static const char path[] = "/sys/class/fpga_manager/fpga0/state";
  char line[64];
  if (!read_line("/sys/class/fpga_manager/fpga0/name", line) || strstr(line, "Zynq") == NULL)
    return UFP4_OK;
  if (!read_line(path, line) || strcmp(line, "operating") == 0) return UFP4_OK;
  ufp4_message_set(
      message,
      "mmio: %s is '%s', not 'operating': load the bitstream first; an access of logic "
      "that is not there would hang the processor",
      path, line);
  return UFP4_ERROR_DEVICE;
}

// Reads map @p map of a UIO device.
static int find_uio(place_t *place, unsigned map) {
  char path[320];
  uint64_t skipped = 0;
  const char *name = base_name(place->device);
  snprintf(path, sizeof path, "/sys/class/uio/%s/maps/map%u/addr", name, map);
  if (!read_number(path, &place->address)) return 0;
  snprintf(path, sizeof path, "/sys/class/uio/%s/maps/map%u/size", name, map);
  if (!read_number(path, &place->bytes)) return 0;
  snprintf(path, sizeof path, "/sys/class/uio/%s/maps/map%u/offset", name, map);
  place->offset = map * (uint64_t)sysconf(_SC_PAGESIZE);
  place->is_uio = 1;
  return !read_number(path, &skipped) || skipped == 0;  // otherwise it begins within a page
}

static int find_udmabuf(place_t *place) {
  static const char *const classes[] = {"u-dma-buf", "udmabuf"};
  for (int i = 0; i < 2; i++) {
    char path[320];
    snprintf(path, sizeof path, "/sys/class/%s/%s/phys_addr", classes[i], base_name(place->device));
    if (!read_number(path, &place->address)) continue;
    snprintf(path, sizeof path, "/sys/class/%s/%s/size", classes[i], base_name(place->device));
    return read_number(path, &place->bytes);
  }
  return 0;
}

static ufp4_status_t find_device(place_t *place, unsigned map, ufp4_message_t *message) {
  const ufp4_status_t status = find_name(place, map, message);
  if (status != UFP4_OK) return status;
  if (find_uio(place, map) || (map == 1 && find_udmabuf(place))) return UFP4_OK;
  if (access(place->device, F_OK) != 0) {
    ufp4_message_set(message, "mmio: cannot open %s: %s: is its kernel driver loaded?",
                     place->device, strerror(errno));
    return UFP4_ERROR_DEVICE;
  }
  ufp4_message_set(
      message,
      map == 0
          ? "mmio: %s is not a UIO device with a map that starts on a page boundary; for another "
            "device append @ADDRESS+SIZE"
          : "mmio: %s has no memory as its second map; name the memory, as mmio:REGISTERS,MEMORY",
      place->device);
  return UFP4_ERROR_ARGUMENT;
}

// Parses ADDRESS+SIZE.
static int read_range(const char *text, place_t *place) {
  char *end;
  errno = 0;
  if (text[0] < '0' || text[0] > '9') return 0;
  place->address = place->offset = strtoull(text, &end, 0);
  if (end[0] != '+' || end[1] < '0' || end[1] > '9') return 0;
  place->bytes = strtoull(end + 1, &end, 0);
  return end[0] == '\0' && errno == 0;
}

static ufp4_status_t refuse(const char *text, ufp4_message_t *message) {
  ufp4_message_set(message, "mmio: '%s' does not say where the core is; " FORMS, text);
  return UFP4_ERROR_ARGUMENT;
}

// Parses one of the two places. A range without a device belongs to the device in @p place.
static ufp4_status_t find(char *text, unsigned map, place_t *place, ufp4_message_t *message) {
  char *at = strrchr(text, '@');
  if (map == 1 && at == NULL && read_range(text, place)) {
    place->is_uio = 0;
    return UFP4_OK;
  }
  if (at != NULL) *at = '\0';
  if (text[0] == '\0' || strlen(text) >= sizeof place->device) return refuse(text, message);
  *place = (place_t){.device = ""};
  memcpy(place->device, text, strlen(text) + 1);
  if (at == NULL) return find_device(place, map, message);
  return read_range(at + 1, place) ? UFP4_OK : refuse(at + 1, message);
}

ufp4_status_t places_find(const char *text, place_t *registers, place_t *memory,
                          ufp4_message_t *message) {
  char *own = strdup(text);
  if (own == NULL) return UFP4_ERROR_MEMORY;
  char *comma = strchr(own, ',');
  if (comma != NULL) *comma = '\0';
  *registers = (place_t){.device = ""};
  ufp4_status_t status = find(own, 0, registers, message);
  *memory = *registers;
  if (status == UFP4_OK && comma != NULL) status = find(comma + 1, 1, memory, message);
  if (status == UFP4_OK && comma == NULL)
    status = registers->is_uio ? find_device(memory, 1, message) : refuse(text, message);
  free(own);
  return status;
}
