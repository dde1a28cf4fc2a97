// SPDX-License-Identifier: Apache-2.0
// Status codes of ufp4 functions, and the error message that goes with them.
#ifndef UFP4_STATUS_H
#define UFP4_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** The outcome of a call. A call that does not return UFP4_OK has changed nothing that the caller
 * can see, unless its own comment says otherwise. */
typedef enum {
  UFP4_OK = 0,
  UFP4_ERROR_ARGUMENT,     ///< an argument is out of range, or arguments contradict each other
  UFP4_ERROR_UNSUPPORTED,  ///< legal, but not supported by this device or configuration
  UFP4_ERROR_MEMORY,       ///< the memory of the host or of the device is exhausted
  UFP4_ERROR_IO,           ///< the name of a file is at fault: it does not exist, is not permitted
                           ///< or names something else
  UFP4_ERROR_FORMAT,       ///< the contents of a file are invalid
  UFP4_ERROR_DEVICE,   ///< the device is absent, is not one that this driver knows, or failed; it
                       ///< must be closed
  UFP4_ERROR_JOB,      ///< a job ended with an error; the device keeps serving
  UFP4_ERROR_TIMEOUT,  ///< the time or cycle limit passed; jobs may still be running
  UFP4_ERROR_STORAGE,  ///< a file could not be read or written completely: disk full, size limit,
                       ///< I/O error
} ufp4_status_t;

/** One line that says what was wrong, where, and what would be right. */
typedef struct {
  char text[512];
} ufp4_message_t;

/** Formats one line into @p message (may be NULL). A line that does not fit loses its beginning,
 * and control characters become question marks. */
void ufp4_message_set(ufp4_message_t *message, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Returns a static English phrase for @p status. */
const char *ufp4_status_string(ufp4_status_t status);

#ifdef __cplusplus
}
#endif

#endif
