// SPDX-License-Identifier: Apache-2.0
#include "ufp4/status.h"

const char *ufp4_status_string(ufp4_status_t status) {
  switch (status) {
    case UFP4_OK:
      return "ok";
    case UFP4_ERROR_ARGUMENT:
      return "invalid argument";
    case UFP4_ERROR_UNSUPPORTED:
      return "not supported by this device or configuration";
    case UFP4_ERROR_MEMORY:
      return "out of memory";
    case UFP4_ERROR_IO:
      return "the file cannot be opened";
    case UFP4_ERROR_FORMAT:
      return "malformed file";
    case UFP4_ERROR_DEVICE:
      return "device failure";
    case UFP4_ERROR_JOB:
      return "the job ended with an error";
    case UFP4_ERROR_TIMEOUT:
      return "timed out";
    case UFP4_ERROR_STORAGE:
      return "a file could not be read or written completely";
  }
  return "unknown status";
}
