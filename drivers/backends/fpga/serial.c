// SPDX-License-Identifier: Apache-2.0
// Uses Linux's own terminal structures, because those of the C library accept only a list of
// speeds.
#include "serial.h"

#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/serial.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#define RETRY_US 100000u  // polling interval for a port that has vanished

struct serial {
  char *path;
  uint32_t baud;
  int file;
  ufp4_message_t message;
};

// --- Open ---------------------------------------------------------------------------------------

// Returns the process that holds the lock according to the kernel's list; 0 if unknown.
static long find_holder(int file) {
  struct stat about;
  char line[256];
  long holder = 0;
  FILE *locks = fopen("/proc/locks", "r");
  if (locks == NULL || fstat(file, &about) != 0) {
    if (locks != NULL) fclose(locks);
    return 0;
  }
  while (holder == 0 && fgets(line, sizeof line, locks) != NULL) {
    long pid;
    unsigned major_number, minor_number;
    unsigned long inode;
    if (sscanf(line, "%*s FLOCK %*s %*s %ld %x:%x:%lu", &pid, &major_number, &minor_number,
               &inode) == 4 &&
        inode == about.st_ino && makedev(major_number, minor_number) == about.st_dev)
      holder = pid;
  }
  fclose(locks);
  return holder;
}

static ufp4_status_t take(serial_t *serial) {
  if (flock(serial->file, LOCK_EX | LOCK_NB) == 0) return UFP4_OK;
  const long holder = find_holder(serial->file);
  if (holder > 0) {
    ufp4_message_set(&serial->message, "in use by the process %ld", holder);
  } else {
    ufp4_message_set(&serial->message, "in use by another program");
  }
  return UFP4_ERROR_DEVICE;
}

static ufp4_status_t fail_open(serial_t *serial) {
  const char *hint = errno == ENOENT   ? ": is the board connected?"
                     : errno == EACCES ? ": is the user in the port's group, usually dialout?"
                                       : "";
  ufp4_message_set(&serial->message, "cannot open: %s%s", strerror(errno), hint);
  return UFP4_ERROR_DEVICE;
}

// Sets raw mode: no control characters, no flow control, no modem lines.
static ufp4_status_t set_line(serial_t *serial) {
  struct termios2 line;
  if (ioctl(serial->file, TCGETS2, &line) != 0) {
    ufp4_message_set(&serial->message, "%s",
                     errno == ENOTTY ? "it is not a serial port" : strerror(errno));
    return UFP4_ERROR_ARGUMENT;
  }
  line.c_iflag = IGNBRK;
  line.c_oflag = 0;
  line.c_lflag = 0;
  line.c_cflag = CS8 | CREAD | CLOCAL | BOTHER;
  line.c_ispeed = line.c_ospeed = serial->baud;
  line.c_cc[VMIN] = 0;
  line.c_cc[VTIME] = 0;
  if (ioctl(serial->file, TCSETS2, &line) != 0) {
    ufp4_message_set(&serial->message, "cannot be set to %u baud: %s", serial->baud,
                     strerror(errno));
    return UFP4_ERROR_ARGUMENT;
  }
  ioctl(serial->file, TCFLSH, TCIOFLUSH);
  return UFP4_OK;
}

// Makes a USB adapter deliver received data every millisecond instead of every sixteen, if it
// supports that.
static void hurry(const serial_t *serial) {
  struct serial_struct about;
  if (ioctl(serial->file, TIOCGSERIAL, &about) != 0) return;
  about.flags = (int)((unsigned)about.flags | ASYNC_LOW_LATENCY);
  (void)ioctl(serial->file, TIOCSSERIAL, &about);
}

static void drop(serial_t *serial) {
  if (serial->file >= 0) close(serial->file);
  serial->file = -1;
}

static ufp4_status_t open_file(serial_t *serial) {
  serial->file = open(serial->path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (serial->file < 0) return fail_open(serial);
  ufp4_status_t status = take(serial);
  if (status == UFP4_OK) status = set_line(serial);
  if (status == UFP4_OK) {
    hurry(serial);
  } else {
    drop(serial);
  }
  return status;
}

ufp4_status_t serial_open(const char *path, uint32_t baud, ufp4_message_t *message,
                          serial_t **out) {
  serial_t *serial = calloc(1, sizeof *serial);
  *out = NULL;
  if (serial == NULL || (serial->path = strdup(path)) == NULL) {
    free(serial);
    return UFP4_ERROR_MEMORY;
  }
  serial->baud = baud;
  const ufp4_status_t status = open_file(serial);
  if (status != UFP4_OK) {
    ufp4_message_set(message, "%s: %s", path, serial->message.text);
    serial_close(serial);
    return status;
  }
  *out = serial;
  return UFP4_OK;
}

void serial_close(serial_t *serial) {
  if (serial == NULL) return;
  drop(serial);
  free(serial->path);
  free(serial);
}

// --- The stream ---------------------------------------------------------------------------------

static uint64_t serial_now(void *user) {
  struct timespec time;
  (void)user;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000u + (uint64_t)time.tv_nsec / 1000u;
}

static const char *serial_message(void *user) {
  const serial_t *serial = user;
  return serial->message.text;
}

// The cable has been unplugged. The file is closed, because while it is open the port would come
// back under another name. A port that opens but fails immediately is also polled with a pause.
static link_stream_status_t come_back(serial_t *serial, const char *why) {
  const struct timespec pause = {.tv_nsec = 1000 * (long)RETRY_US};
  const uint64_t began = serial_now(serial);
  ufp4_message_set(&serial->message, "%s", why);
  drop(serial);
  do {
    nanosleep(&pause, NULL);
    if (open_file(serial) == UFP4_OK) return LINK_STREAM_ANEW;
  } while (serial_now(serial) - began < SERIAL_RETURN_US);
  const ufp4_message_t last = serial->message;
  ufp4_message_set(&serial->message, "the port has vanished and has not come back within %u s: %s",
                   SERIAL_RETURN_US / 1000000u, last.text);
  return LINK_STREAM_LOST;
}

static int is_later(ssize_t result) {
  return result < 0 && (errno == EAGAIN || errno == EINTR);
}

static int wait_for(const serial_t *serial, int out, uint64_t timeout_us) {
  struct pollfd file = {.fd = serial->file, .events = (short)(out ? POLLIN | POLLOUT : POLLIN)};
  const uint64_t ms = (timeout_us + 999) / 1000;
  return poll(&file, 1, ms > 60000 ? 60000 : (int)ms) <= 0 ? 0 : file.revents;
}

// Writing is tried before poll, because poll reports room only when the buffer is almost empty.
static link_stream_status_t serial_exchange(void *user, const uint8_t *out, size_t out_bytes,
                                            size_t *taken, uint8_t *in, size_t in_bytes,
                                            size_t *got, uint64_t timeout_us) {
  serial_t *serial = user;
  if (out_bytes > 0) {
    const ssize_t bytes = write(serial->file, out, out_bytes);
    if (bytes < 0 && !is_later(bytes)) return come_back(serial, strerror(errno));
    if (bytes > 0) *taken = (size_t)bytes;
  }
  const int ready = wait_for(serial, *taken < out_bytes, *taken > 0 ? 0 : timeout_us);
  if (ready & POLLIN) {
    const ssize_t bytes = read(serial->file, in, in_bytes);
    if (bytes <= 0 && !is_later(bytes))
      return come_back(serial, bytes == 0 ? "it hangs up" : strerror(errno));
    if (bytes > 0) *got = (size_t)bytes;
  } else if (ready & (POLLHUP | POLLERR | POLLNVAL)) {
    return come_back(serial, "it hangs up");
  }
  return LINK_STREAM_OK;
}

link_stream_t serial_stream(serial_t *serial) {
  return (link_stream_t){
      .user = serial, .exchange = serial_exchange, .now = serial_now, .message = serial_message};
}
