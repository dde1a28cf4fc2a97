// SPDX-License-Identifier: Apache-2.0
// JSON as the commands print it, value by value, so that the program needs no library to write it. The names keep clear
// of those of jansson, which reads it elsewhere. Kept in memory until
// all of it is known to be wanted: a command that fails prints none.
#ifndef UFP4_JSON_H
#define UFP4_JSON_H

#include <stdint.h>
#include <stdio.h>

/** All zero, or as json_begin leaves it. Where memory runs out, nothing is printed. */
typedef struct {
  FILE *out;
  char *text;
  size_t bytes;
  int depth;   ///< of lists and objects that are open
  int items;   ///< 0: the innermost has none yet
  int digits;  ///< significant ones of a real number
} json_out_t;

void json_begin(json_out_t *json, int digits);
/** Prints to stdout, with a newline, what was written since json_begin. @return 0, or -1 without memory. */
int json_print(json_out_t *json);
void json_free(json_out_t *json);

// Each of these writes one value: @p key is its name in an object, and NULL in a list and for the outermost.
void json_put_object(json_out_t *json, const char *key);
void json_put_list(json_out_t *json, const char *key);
/** Ends the innermost list or object. */
void json_end_list(json_out_t *json);
void json_end_object(json_out_t *json);
/** What is not UTF-8 in @p value becomes U+FFFD. */
void json_put_text(json_out_t *json, const char *key, const char *value);
void json_put_integer(json_out_t *json, const char *key, int64_t value);
/** null where @p value is not finite. */
void json_put_real(json_out_t *json, const char *key, double value);
void json_put_flag(json_out_t *json, const char *key, int value);
void json_put_null(json_out_t *json, const char *key);

#endif
