// SPDX-License-Identifier: Apache-2.0
// JSON as the program writes it, against what it must be byte by byte, and against jansson, which reads it.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "bench.h"
#include "json.h"

// What was written, and that jansson takes it.
static void check_text(json_out_t *json, const char *want) {
  fflush(json->out);
  check_that(0, strcmp(json->text, want) == 0, "got %s, want %s", json->text, want);
  json_t *read = json_loads(json->text, JSON_DECODE_ANY, NULL);
  check_that(1, read != NULL, "jansson does not read %s", json->text);
  json_decref(read);
  json_free(json);
}

TEST(groups) {
  json_out_t json;
  json_begin(&json, 6);
  json_put_object(&json, NULL);
  json_put_list(&json, "a");
  json_put_integer(&json, NULL, INT64_MIN);
  json_put_object(&json, NULL);
  json_end_object(&json);
  json_put_list(&json, NULL);
  json_put_null(&json, NULL);
  json_end_list(&json);
  json_end_list(&json);
  json_put_flag(&json, "b", 1);
  json_put_flag(&json, "c", 0);
  json_end_object(&json);
  check_text(&json,
             "{\n  \"a\": [\n    -9223372036854775808,\n    {},\n    [\n      null\n    ]\n  ],\n  \"b\": true,\n"
             "  \"c\": false\n}");
}

TEST(real_numbers) {
  static const struct {
    double value;
    const char *want;
  } table[] = {{1.0, "1.0"},   {-0.0, "-0.0"},       {0.1, "0.1"},  {2.0 / 3, "0.666667"}, {1e300, "1e+300"},
               {1e6, "1e+06"}, {123456, "123456.0"}, {NAN, "null"}, {INFINITY, "null"},    {-INFINITY, "null"}};
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
    json_out_t json;
    json_begin(&json, 6);
    json_put_real(&json, NULL, table[i].value);
    check_text(&json, table[i].want);
  }
}

TEST(text_is_escaped) {
  json_out_t json;
  json_begin(&json, 6);
  json_put_text(&json, NULL, "a \"quote\" \\ \n\x01\x7f \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80");
  check_text(&json, "\"a \\\"quote\\\" \\\\ \\u000A\\u0001\x7f \xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
}

// Stray and missing continuations, forms that are too long, surrogates, past the last code point.
TEST(what_is_not_utf8_is_replaced) {
  static const char *const bad[] = {"\x80",
                                    "\xC3",
                                    "\xC3(",
                                    "\xC0\xAF",
                                    "\xE2\x82",
                                    "\xE0\x9F\xBF",
                                    "\xED\xA0\x80",
                                    "\xF0\x8F\xBF\xBF",
                                    "\xF4\x90\x80\x80",
                                    "\xF5\x80\x80\x80",
                                    "\xFF"};
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    json_out_t json;
    json_begin(&json, 6);
    json_put_text(&json, NULL, bad[i]);
    fflush(json.out);
    check_that((int64_t)i, strncmp(json.text, "\"\\uFFFD", 7) == 0, "%s", json.text);
    json_t *read = json_loads(json.text, JSON_DECODE_ANY, NULL);
    check_that((int64_t)i, read != NULL, "jansson does not read %s", json.text);
    json_decref(read);
    json_free(&json);
  }
}

int main(int argc, char **argv) {
  static const check_test_t tests[] = {
      CHECK_TEST(groups),
      CHECK_TEST(real_numbers),
      CHECK_TEST(text_is_escaped),
      CHECK_TEST(what_is_not_utf8_is_replaced),
  };
  return check_main(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
