/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * fuzz/replay_main.c - runs a fuzz target on files, without a fuzzer.
 *
 *     fuzz_TARGET FILE|FOLDER...
 *
 * Each input must answer within SECONDS_MAX of processor time and, where no sanitizer keeps shadow
 * memory of its own, within its own size and FUZZ_MEMORY_BYTES of data: an allocation beyond that
 * fails, and a target does not accept PM_NO_MEMORY. Ends with 0 when every file was run and there
 * was at least one.
 */
#include "fuzz/harness.h"
#include "support/data_limit.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#define PATH_CHARS_MAX 4096

/* A sanitizer slows pairings and proofs down by some ten times. */
#define SECONDS_MAX (PM_TEST_IS_SANITIZED ? 10.0 : 1.0)

static double processor_seconds(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static uint8_t *read_file(const char *path, size_t *n_bytes) {
    struct stat facts;
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    if (file != NULL && fstat(fileno(file), &facts) == 0) {
        *n_bytes = (size_t)facts.st_size;
        bytes = malloc(*n_bytes > 0 ? *n_bytes : 1);
        if (bytes != NULL && fread(bytes, 1, *n_bytes, file) != *n_bytes) {
            free(bytes);
            bytes = NULL;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return bytes;
}

static bool replay_file(const char *path) {
    size_t n_bytes = 0;
    uint8_t *bytes = read_file(path, &n_bytes);
    if (bytes == NULL) {
        (void)fprintf(stderr, "%s: cannot be read\n", path);
        return false;
    }
    (void)fprintf(stderr, "%s: %zu bytes\n", path, n_bytes);
    data_limit_set(n_bytes + FUZZ_MEMORY_BYTES);
    const double begin = processor_seconds();
    (void)LLVMFuzzerTestOneInput(bytes, n_bytes);
    const double seconds = processor_seconds() - begin;
    free(bytes);
    if (seconds > SECONDS_MAX) {
        (void)fprintf(stderr, "%s: took %.2f s of processor time\n", path, seconds);
        return false;
    }
    return true;
}

/* Counts the files; a negative number says that one failed. */
static long replay(const char *path) {
    DIR *folder = opendir(path);
    long n = 0;
    if (folder == NULL) {
        return replay_file(path) ? 1 : -1;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL && n >= 0;
         entry = readdir(folder)) {
        char inner[PATH_CHARS_MAX];
        if (entry->d_name[0] == '.') {
            continue;
        }
        (void)snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        n = replay_file(inner) ? n + 1 : -1;
    }
    (void)closedir(folder);
    return n;
}

int main(int n_arguments, char **arguments) {
    long n = 0;
    /* What is made once, and one run to fill caches and tables, is not an input's doing. */
    (void)fuzz_context();
    (void)LLVMFuzzerTestOneInput((const uint8_t *)"", 0);
    for (int i = 1; i < n_arguments; ++i) {
        const long more = replay(arguments[i]);
        if (more < 0) {
            return EXIT_FAILURE;
        }
        n += more;
    }
    (void)printf("%ld inputs\n", n);
    return n > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
