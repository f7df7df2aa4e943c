/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/file_builder.h - .zkey, .wtns and .r1cs images of a toy shape, and ways to damage them.
 *
 * The toy: signals 1, out, in, p, q (2 public), two rows  p q = out  and  p 1 = in, a domain of 8.
 * Its points are all the groups' generators, which makes a key of the right shape and of good
 * points, though not one that proves anything.
 */
#ifndef PM_TEST_SUPPORT_FILE_BUILDER_H
#define PM_TEST_SUPPORT_FILE_BUILDER_H

#include <proofmill/proofmill.h>

#include <stddef.h>
#include <stdint.h>

struct file_image {
    uint8_t *bytes; /* from malloc() */
    size_t n_bytes;
};

enum {
    TOY_N_VARS = 5,
    TOY_N_PUBLIC = 2,
    TOY_LOG_N = 3,
    TOY_N_COEFFICIENTS = 7,
    TOY_N_ROWS = 2,
    TOY_N_TERMS = 6
};

struct file_image file_zkey(pm_curve_id curve);
struct file_image file_wtns(pm_curve_id curve);
struct file_image file_r1cs(pm_curve_id curve);
void file_free(struct file_image *file);
struct file_image file_copy(const struct file_image *file);

/* Offset of a section's data; fails the test if there is no such section. */
size_t file_section(const struct file_image *file, uint32_t type, size_t *n_bytes);
/* Overwrites 4 or n bytes at an offset of a section's data, or of the file for type 0. */
void file_patch_u32(struct file_image *file, uint32_t type, size_t offset, uint32_t value);
void file_patch(struct file_image *file, uint32_t type, size_t offset, const void *bytes, size_t n);

/* Copies with one section left out, there twice, or longer (or shorter) by delta bytes. */
struct file_image file_without(const struct file_image *file, uint32_t type);
struct file_image file_doubled(const struct file_image *file, uint32_t type);
struct file_image file_resized(const struct file_image *file, uint32_t type, int delta);
/* A copy with the sections in the opposite order. */
struct file_image file_reversed(const struct file_image *file);
/* A copy with one more section, of zeros, at the end. */
struct file_image file_with_extra(const struct file_image *file, uint32_t type, size_t n_bytes);
/* A copy of the first n_bytes, or with zeros after the end. */
struct file_image file_cut(const struct file_image *file, size_t n_bytes);

/* A fresh directory under TMPDIR (or /tmp), to be given to file_remove_tree(). */
char *file_make_tree(void);
void file_remove_tree(char *tree);
/* tree/name in a static buffer of its own for each of eight calls in a row. */
const char *file_in_tree(const char *tree, const char *name);
void file_write(const char *path, const void *bytes, size_t n_bytes);

/* Fails the running test, with the error's sentence, unless status is expected; the sentence must
 * contain each of the given pieces (up to three, NULL for none). */
void file_expect(pm_status status, pm_status expected, const pm_error *error, const char *first,
                 const char *second, const char *third);

#endif
