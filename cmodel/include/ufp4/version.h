// SPDX-License-Identifier: Apache-2.0
// Version and structure sizes, which a program that loads the library at run time, such as a
// binding of another language, checks first.
#ifndef UFP4_VERSION_H
#define UFP4_VERSION_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Returns the version of the loaded library: major << 16 | minor << 8 | patch. The macros
 * UFP4_VERSION_MAJOR, ... (spec.h) give the version of the headers. */
uint32_t ufp4_version(void);

/** Returns sizeof of a public structure in this library by its name, such as "ufp4_operand_t", so
 * that a binding can check its own declaration of the layout. 0: no such structure. */
size_t ufp4_struct_bytes(const char *name);

#ifdef __cplusplus
}
#endif

#endif
