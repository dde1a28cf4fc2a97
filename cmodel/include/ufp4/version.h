// SPDX-License-Identifier: Apache-2.0
// A program that meets the library at run time, such as a binding of another language, asks these
// first.
#ifndef UFP4_VERSION_H
#define UFP4_VERSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library that is loaded: major << 16 | minor << 8 | patch. The macros
 * UFP4_VERSION_MAJOR, .. (spec.h) are that of the headers. */
uint32_t ufp4_version(void);

/** sizeof of a public structure in this library, by its name, as in "ufp4_operand_t": a layout that
 * was typed elsewhere must be as large. 0: no such structure. */
size_t ufp4_struct_bytes(const char *name);

#ifdef __cplusplus
}
#endif

#endif
