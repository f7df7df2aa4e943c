/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* cli/cli_size.c - sizes in bytes, as people write and read them. */
#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Digits behind the point that can matter: a millionth of a unit. */
#define FRACTION_DIGITS 6
#define FRACTION_UNIT UINT64_C(1000000)

static bool read_unit(const char *text, uint64_t *unit) {
    static const struct {
        const char *names[3];
        uint64_t bytes;
    } units[] = {{{"", "B", "B"}, 1},
                 {{"K", "KiB", "Ki"}, UINT64_C(1) << 10},
                 {{"M", "MiB", "Mi"}, UINT64_C(1) << 20},
                 {{"G", "GiB", "Gi"}, UINT64_C(1) << 30},
                 {{"T", "TiB", "Ti"}, UINT64_C(1) << 40},
                 {{"KB", "KB", "KB"}, UINT64_C(1000)},
                 {{"MB", "MB", "MB"}, UINT64_C(1000000)},
                 {{"GB", "GB", "GB"}, UINT64_C(1000000000)},
                 {{"TB", "TB", "TB"}, UINT64_C(1000000000000)}};
    text += *text == ' ';
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        for (size_t k = 0; k < 3; k++) {
            if (strcasecmp(text, units[i].names[k]) == 0) {
                *unit = units[i].bytes;
                return true;
            }
        }
    }
    return false;
}

bool pm_cli_read_size(const char *text, uint64_t *bytes) {
    uint64_t whole = 0, fraction = 0, unit = 0, size = 0;
    const size_t n_whole = strspn(text, "0123456789");
    for (size_t i = 0; i < n_whole; i++) {
        if (__builtin_mul_overflow(whole, 10, &whole) ||
            __builtin_add_overflow(whole, (uint64_t)(text[i] - '0'), &whole)) {
            return false;
        }
    }
    const char *rest = text + n_whole;
    size_t n_fraction = 0;
    if (*rest == '.') {
        rest++;
        n_fraction = strspn(rest, "0123456789");
        for (size_t i = 0; i < FRACTION_DIGITS; i++) {
            fraction = fraction * 10 + (i < n_fraction ? (uint64_t)(rest[i] - '0') : 0);
        }
        rest += n_fraction;
        if (n_fraction == 0) {
            return false;
        }
    }
    if (n_whole == 0 || !read_unit(rest, &unit) || (unit == 1 && n_fraction != 0) ||
        __builtin_mul_overflow(whole, unit, &size) ||
        __builtin_add_overflow(
            size, unit / FRACTION_UNIT * fraction + unit % FRACTION_UNIT * fraction / FRACTION_UNIT,
            &size) ||
        size == 0) {
        return false;
    }
    *bytes = size;
    return true;
}

const char *pm_cli_size_text(uint64_t bytes, char text[PM_CLI_SIZE_CHARS]) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    size_t unit = 0;
    double value = (double)bytes;
    while (value >= 1024) {
        value /= 1024;
        unit++;
    }
    if (unit == 0) {
        (void)snprintf(text, PM_CLI_SIZE_CHARS, "%" PRIu64 " bytes", bytes);
    } else {
        (void)snprintf(text, PM_CLI_SIZE_CHARS, "%.*f %s",
                       value < 10    ? 2
                       : value < 100 ? 1
                                     : 0,
                       value, units[unit]);
    }
    return text;
}
