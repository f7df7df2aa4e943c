/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "base/characters.h"

#include <stdint.h>
#include <string.h>

size_t pm_utf8_bytes(const void *text, size_t n_bytes) {
    const uint8_t *at = text;
    if (n_bytes == 0) {
        return 0;
    }
    const uint8_t lead = at[0];
    const size_t n_more = lead < 0x80 ? 0 : lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if ((lead >= 0x80 && lead < 0xc2) || lead > 0xf4 || n_more >= n_bytes) {
        return 0;
    }
    /* Of the second byte: neither longer than it must be, nor a surrogate, nor beyond Unicode. */
    uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    for (size_t i = 1; i <= n_more; ++i) {
        if (at[i] < low || at[i] > high) {
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return n_more + 1;
}

bool pm_is_name(const char *name, size_t n_max) {
    const size_t n =
        strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:");
    return n > 0 && n <= n_max && name[n] == '\0';
}

bool pm_same_text(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}
