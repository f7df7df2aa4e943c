/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "support/outcomes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

void outcomes_add(struct outcomes *outcomes, size_t row, pm_status status) {
    assert_true(row < OUTCOME_ROWS && (unsigned)status < OUTCOME_STATUSES);
    outcomes->count[row][status]++;
}

unsigned outcomes_in_row(const struct outcomes *outcomes, size_t row) {
    unsigned sum = 0;
    for (size_t i = 0; i < OUTCOME_STATUSES; ++i) {
        sum += outcomes->count[row][i];
    }
    return sum;
}

unsigned outcomes_total(const struct outcomes *outcomes) {
    unsigned sum = 0;
    for (size_t row = 0; row < OUTCOME_ROWS; ++row) {
        sum += outcomes_in_row(outcomes, row);
    }
    return sum;
}

void outcomes_print(const struct outcomes *outcomes, const char *(*words)(size_t row)) {
    printf("\n%s: %u\n", outcomes->title, outcomes_total(outcomes));
    for (size_t row = 0; row < OUTCOME_ROWS; ++row) {
        if (outcomes_in_row(outcomes, row) > 0) {
            printf("  %-42s %6u:", words(row), outcomes_in_row(outcomes, row));
            for (int i = 0; i < OUTCOME_STATUSES; ++i) {
                if (outcomes->count[row][i] > 0) {
                    printf(" %s %u", pm_status_name((pm_status)i), outcomes->count[row][i]);
                }
            }
            printf("\n");
        }
    }
    (void)fflush(stdout);
}

void outcome_expect_error(pm_status status, const pm_error *error, const char *file,
                          const char *text) {
    if (status == PM_OK || status == PM_INTERNAL || status != (pm_status)error->status) {
        fail_msg("%s: status %s, the error says %d", text, pm_status_name(status), error->status);
    }
    if (error->message[0] == '\0' || strchr(error->message, '\n') != NULL) {
        fail_msg("%s: not a line: \"%s\"", text, error->message);
    }
    if (file != NULL && strcmp(error->file, file) != 0) {
        fail_msg("%s: the error names the file \"%s\": %s", text, error->file, error->message);
    }
}

void outcome_expect_place(pm_status status, const pm_error *error, const char *file,
                          const char *text) {
    outcome_expect_error(status, error, file, text);
    if (error->offset == PM_NO_OFFSET && strstr(error->message, "section") == NULL) {
        fail_msg("%s: the error does not say where: %s", text, error->message);
    }
}

const char *outcome_file(const void *bytes, size_t n_bytes) {
    static char path[64];
    static int fd = -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    fd = memfd_create("mutant", MFD_CLOEXEC);
    assert_true(fd >= 0);
    if (n_bytes > 0) {
        assert_int_equal(write(fd, bytes, n_bytes), n_bytes);
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return path;
}

uint64_t outcome_cpu_ns(void) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

bool outcome_is_slow(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "slow") == 0;
}
