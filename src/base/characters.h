/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* base/characters.h - what texts from outside are made of. */
#ifndef PM_BASE_CHARACTERS_H
#define PM_BASE_CHARACTERS_H

#include <stdbool.h>
#include <stddef.h>

/* How many of n_bytes the character takes that begins at text, in its shortest form; 0: they are no
 * UTF-8 (Unicode 15, table 3-7), or none is left. A NUL is a character; of a text that ends with
 * one nothing behind it is looked at, so that n_bytes may be SIZE_MAX. */
size_t pm_utf8_bytes(const void *text, size_t n_bytes);
/* 1 to n_max of the letters, digits and -_.: that names of keys and request ids are made of. */
bool pm_is_name(const char *name, size_t n_max);
/* Either may be NULL, which is like nothing else. */
bool pm_same_text(const char *a, const char *b);

#endif
