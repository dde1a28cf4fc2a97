// SPDX-License-Identifier: Apache-2.0
// Tests text: whitespace, held-out chunks, plain and compressed files, batches.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "fixture.h"

TEST(collapse_leaves_single_spaces) {
  char text[] = " a\t\n b  c\r\n\v\fd ";
  int64_t count = ufp4_text_collapse((uint8_t *)text, (int64_t)strlen(text));
  check_bits(0, (uint64_t)count, 9, "length");
  check_that(1, !memcmp(text, " a b c d ", 9), "got '%.*s'", (int)count, text);
}

// Each byte of the text is the number of its chunk.
TEST(every_40th_chunk_is_held_out) {
  const int64_t count = 121 * (int64_t)UFP4_TEXT_CHUNK + 5;
  uint8_t *bytes = malloc((size_t)count);
  for (int64_t i = 0; i < count; i++) bytes[i] = (uint8_t)(i / UFP4_TEXT_CHUNK);
  ufp4_text_t text;
  check_bits(0, ufp4_text_split(bytes, count, &text), UFP4_OK, "split");
  check_bits(1, (uint64_t)text.held_bytes, 3 * UFP4_TEXT_CHUNK, "held out");
  check_bits(2, (uint64_t)(text.held_bytes + text.train_bytes), (uint64_t)count, "all");
  for (int64_t i = 0; i < text.held_bytes; i++)
    check_bits(i, text.held[i], (uint64_t)(39 + 40 * (i / UFP4_TEXT_CHUNK)), "held");
  for (int64_t i = 0; i < text.train_bytes; i++)
    check_that(i, text.train[i] % 40 != 39, "train has %d", text.train[i]);
  ufp4_text_free(&text);
  free(bytes);
}

TEST(short_text_is_cut_in_40_parts) {
  uint8_t bytes[407];
  for (int i = 0; i < 407; i++) bytes[i] = (uint8_t)(i / 10);
  ufp4_text_t text;
  ufp4_text_split(bytes, 407, &text);
  check_bits(0, (uint64_t)text.held_bytes, 10, "held out");
  for (int i = 0; i < 10; i++) check_bits(i, text.held[i], 39, "held");
  check_bits(1, (uint64_t)text.train_bytes, 397, "train");
  ufp4_text_free(&text);
}

static void write_plain(const char *path, const ufp4_text_t *text) {
  FILE *file = fopen(path, "wb");
  check_that(0, file != NULL, "%s", path);
  if (!file) return;
  fwrite(text->train, 1, (size_t)text->train_bytes, file);
  fclose(file);
}

static void write_gzip(const char *path, const ufp4_text_t *text) {
  gzFile file = gzopen(path, "wb");
  check_that(0, file != NULL, "%s", path);
  if (!file) return;
  gzwrite(file, text->train, (unsigned)text->train_bytes);
  gzclose(file);
}

static void check_same(const ufp4_text_t *a, const ufp4_text_t *b) {
  check_bits(0, (uint64_t)a->train_bytes, (uint64_t)b->train_bytes, "train bytes");
  check_bits(1, (uint64_t)a->held_bytes, (uint64_t)b->held_bytes, "held bytes");
  check_that(2, a->train && b->train && !memcmp(a->train, b->train, (size_t)a->train_bytes),
             "train");
  check_that(3, a->held && b->held && !memcmp(a->held, b->held, (size_t)a->held_bytes), "held");
}

TEST(gzip_reads_as_plain) {
  char folder[256], plain[300], packed[300];
  ufp4_text_t source = fixture_text(3000000), a = {0}, b = {0};
  ufp4_message_t message;
  fixture_folder(folder);
  snprintf(plain, sizeof plain, "%s/a.txt", folder);
  snprintf(packed, sizeof packed, "%s/a.gz", folder);
  write_plain(plain, &source);
  write_gzip(packed, &source);
  check_bits(0, ufp4_text_read(plain, 128, &a, &message), UFP4_OK, "plain");
  check_bits(0, ufp4_text_read(packed, 128, &b, &message), UFP4_OK, "gzip");
  check_same(&a, &b);
  ufp4_text_free(&a), ufp4_text_free(&b), ufp4_text_free(&source);
  fixture_remove(folder);
}

TEST(batch_depends_on_seed_step_and_row_only) {
  enum { CONTEXT = 20, BATCH = 6 };
  ufp4_text_t text = fixture_text(50000);
  uint8_t in[BATCH * CONTEXT], out[BATCH * CONTEXT], again[BATCH * CONTEXT], other[BATCH * CONTEXT];
  ufp4_text_batch(&text, 1, 5, BATCH, CONTEXT, in, out);
  ufp4_text_batch(&text, 1, 5, 2, CONTEXT, again, other);
  check_that(0, !memcmp(in, again, 2 * CONTEXT), "a smaller batch has the same first rows");
  for (int row = 0; row < BATCH; row++) {
    check_that(row, !memcmp(in + row * CONTEXT + 1, out + row * CONTEXT, CONTEXT - 1),
               "targets are the next tokens");
  }
  ufp4_text_batch(&text, 1, 6, BATCH, CONTEXT, again, other);
  check_that(1, memcmp(in, again, sizeof in) != 0, "another step");
  for (int row = 0; row < BATCH * BATCH; row++) {
    const uint8_t *earlier = in + row / BATCH * CONTEXT, *later = again + row % BATCH * CONTEXT;
    check_that(row, memcmp(earlier, later, CONTEXT) != 0,
               "no sequence comes again in the next step");
  }
  ufp4_text_batch(&text, 2, 5, BATCH, CONTEXT, again, other);
  check_that(2, memcmp(in, again, sizeof in) != 0, "another seed");
  ufp4_text_free(&text);
}

TEST(held_sequences_do_not_overlap) {
  enum { CONTEXT = 16 };
  ufp4_text_t text = {0};
  uint8_t bytes[40 * 100], in[CONTEXT], out[CONTEXT];
  for (int i = 0; i < 4000; i++) bytes[i] = (uint8_t)(i % 100);
  ufp4_text_split(bytes, 4000, &text);
  int64_t count = ufp4_text_held_sequences(&text, CONTEXT, 1000);
  check_bits(0, (uint64_t)count, 6, "(100 - 1) / 16 sequences");
  check_bits(1, (uint64_t)ufp4_text_held_sequences(&text, CONTEXT, 4), 4, "no more than wanted");
  for (int64_t i = 0; i < count; i++) {
    ufp4_text_held_sequence(&text, i, count, CONTEXT, in, out);
    check_bits(i, in[0], (uint64_t)(i * 16), "first token");
    check_bits(i, out[CONTEXT - 1], (uint64_t)(i * 16 + 16), "last target");
  }
  ufp4_text_free(&text);
}

static void check_rejected(const char *path, int64_t context, ufp4_status_t want,
                           const char *words) {
  ufp4_text_t text;
  ufp4_message_t message;
  check_bits(0, ufp4_text_read(path, context, &text, &message), want, "%s", path);
  check_that(1, strstr(message.text, path) && strstr(message.text, words),
             "message '%s' lacks '%s'", message.text, words);
  check_that(2, !text.train && !text.held, "nothing is allocated");
}

TEST(rejects_missing_file) {
  check_rejected("/nowhere/at/all", 16, UFP4_ERROR_IO, "No such file");
}

TEST(rejects_folder) {
  char folder[256];
  fixture_folder(folder);
  check_rejected(folder, 16, UFP4_ERROR_FORMAT, "cannot be read");
  fixture_remove(folder);
}

static void check_rejected_bytes(const char *name, const uint8_t *bytes, size_t count,
                                 const char *words) {
  char folder[256], path[300];
  fixture_folder(folder);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "wb");
  if (file) {
    fwrite(bytes, 1, count, file);
    fclose(file);
  }
  check_rejected(path, 16, UFP4_ERROR_FORMAT, words);
  fixture_remove(folder);
}

TEST(rejects_empty_text) {
  check_rejected_bytes("empty", (const uint8_t *)"", 0, "at least 680 are needed");
}

TEST(rejects_short_text) {
  uint8_t bytes[679];
  memset(bytes, 'x', sizeof bytes);
  check_rejected_bytes("short", bytes, sizeof bytes, "679 characters are too few");
}

TEST(rejects_text_of_spaces) {
  uint8_t bytes[5000];
  memset(bytes, ' ', sizeof bytes);
  check_rejected_bytes("spaces", bytes, sizeof bytes, "1 characters are too few");
}

TEST(rejects_truncated_gzip) {
  char folder[256], path[300];
  ufp4_text_t source = fixture_text(100000);
  uint8_t bytes[2000];
  fixture_folder(folder);
  snprintf(path, sizeof path, "%s/whole.gz", folder);
  write_gzip(path, &source);
  FILE *file = fopen(path, "rb");
  size_t got = file ? fread(bytes, 1, sizeof bytes, file) : 0;
  if (file) fclose(file);
  check_bits(0, got, sizeof bytes, "the file is longer than its part");
  check_rejected_bytes("part.gz", bytes, got, "gzip");
  ufp4_text_free(&source);
  fixture_remove(folder);
}

// --- Bytes that are not characters -------------------------------------------------------------

// Encodes the text in characters of @p unit bytes, lowest byte first or last, with or without a
// byte order mark. @return its bytes.
static size_t encode(const char *text, int unit, int little, int mark, uint8_t *out) {
  size_t count = 0;
  for (int at = mark ? -1 : 0; at < 0 || text[at]; at++) {
    uint32_t c = at < 0 ? 0xFEFF : (uint8_t)text[at];
    for (int i = 0; i < unit; i++) out[count++] = (uint8_t)(c >> 8 * (little ? i : unit - 1 - i));
  }
  return count;
}

TEST(rejects_utf_16_and_utf_32) {
  enum { COUNT = 2000 };
  char text[COUNT + 1] = "";
  uint8_t bytes[4 * COUNT + 4];
  for (int i = 0; i < COUNT; i++) text[i] = "The cat sat.\n"[i % 13];
  for (int i = 0; i < 8; i++) {
    int unit = i & 1 ? 4 : 2, little = i >> 1 & 1, mark = i >> 2;
    char words[64];
    snprintf(words, sizeof words, "UTF-%d%s, according to its %s", 8 * unit, little ? "LE" : "BE",
             mark ? "byte order mark" : "zeros");
    check_rejected_bytes("text", bytes, encode(text, unit, little, mark, bytes), words);
  }
  // Characters without zero bytes are recognized by the mark alone.
  check_rejected_bytes("text", (const uint8_t *)"\xFF\xFE\x16\x04\x43\x04", 6,
                       "convert it with iconv -f UTF-16 -t UTF-8");
}

// Checks the note about an accepted text.
static void check_note(const uint8_t *bytes, size_t count, const char *words) {
  char folder[256], path[300];
  ufp4_text_t text, source = {.train = (uint8_t *)(uintptr_t)bytes, .train_bytes = (int64_t)count};
  ufp4_message_t message;
  fixture_folder(folder);
  snprintf(path, sizeof path, "%s/text", folder);
  write_plain(path, &source);
  check_bits(0, ufp4_text_read(path, 16, &text, &message), UFP4_OK, "%s", message.text);
  check_that(1, words ? strstr(message.text, words) != NULL : message.text[0] == '\0',
             "note '%s', not '%s'", message.text, words ? words : "");
  ufp4_text_free(&text);
  fixture_remove(folder);
}

TEST(bytes_that_are_no_text_get_a_note) {
  enum { COUNT = 66000 };
  static uint8_t bytes[COUNT];
  check_random_t random = {check_stream(1)};
  for (int i = 0; i < COUNT; i++) bytes[i] = (uint8_t)check_next(&random);
  check_note(bytes, COUNT, "of the first 65536 bytes are not printable UTF-8");
  memset(bytes, 'x', COUNT);
  memset(bytes, 0, 32768);
  check_note(bytes, COUNT, NULL);
  bytes[32768] = 0;
  check_note(bytes, COUNT, ": 32769 of the first 65536 bytes");
}

TEST(text_of_any_language_gets_none) {
  static const char *const of_others[] = {"Жук жил, ", "猫が座った。",
                                          "L'\xE9t\xE9 est \xE0 nous. ", "𝔣𝔯𝔞𝔨𝔱𝔲𝔯 ",
                                          "\xEF\xBB\xBFWith a mark. "};
  for (int i = 0; i < 5; i++) {
    static char text[70000];
    text[0] = '\0';
    size_t count = 0, each = strlen(of_others[i]);
    for (; count + each < sizeof text; count += each) memcpy(text + count, of_others[i], each);
    check_note((const uint8_t *)text, count, NULL);
  }
}
