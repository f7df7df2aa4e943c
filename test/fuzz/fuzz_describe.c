/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes as a file on disk: describing it and checking it agree on whether it is well-formed,
 * what is described lies inside the file, and its digest is that of the bytes.
 */
#include "fuzz/harness.h"

#include "base/blake2b.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Points of larger keys take too long to check. */
#define CHECKED_BYTES_MAX 65536u

/* A file without a name, written anew for each input; its path names it for as long as we run. */
static const char *file_of(const uint8_t *bytes, size_t n_bytes) {
    static char path[64];
    static int fd = -1;
    if (fd < 0) {
        fd = memfd_create("fuzz", MFD_CLOEXEC);
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    }
    FUZZ_REQUIRE(fd >= 0 && ftruncate(fd, 0) == 0);
    FUZZ_REQUIRE(pwrite(fd, bytes, n_bytes, 0) == (ssize_t)n_bytes);
    return path;
}

static void check_info(const pm_file_info *info, const uint8_t *bytes, size_t n_bytes) {
    struct pm_blake2b state;
    uint8_t digest[64];
    FUZZ_REQUIRE(info->file_bytes == n_bytes && info->n_sections <= PM_SECTIONS_MAX);
    FUZZ_REQUIRE(strcmp(pm_file_kind_name((pm_file_kind)info->kind), "unknown") != 0);
    for (uint32_t i = 0; i < info->n_sections; ++i) {
        const pm_section_info *section = &info->sections[i];
        FUZZ_REQUIRE(section->offset <= n_bytes && section->bytes <= n_bytes - section->offset);
        FUZZ_REQUIRE(section->name != NULL && (section->known != 0) == (section->name[0] != '\0'));
    }
    FUZZ_REQUIRE(info->has_digest != 0);
    pm_blake2b_init(&state, sizeof digest);
    pm_blake2b_update(&state, bytes, n_bytes);
    pm_blake2b_final(&state, digest);
    FUZZ_REQUIRE(memcmp(digest, info->digest, sizeof digest) == 0);
}

/* Whether a check may refuse a file that could be described. */
static bool is_deeper_finding(const pm_file_info *info, pm_status status) {
    if (info->kind == PM_FILE_PTAU) {
        return status == PM_UNSUPPORTED;
    }
    if (info->kind == PM_FILE_ASSIGNMENT) { /* the digest, and values behind it */
        return status == PM_ENCODING || status == PM_NOT_CANONICAL || status == PM_WITNESS_MISMATCH;
    }
    if (info->kind == PM_FILE_PARAMS || info->kind == PM_FILE_BELLMAN_VK) {
        return status == PM_ENCODING || status == PM_SECTION || fuzz_is_point_fault(status);
    }
    if (info->kind == PM_FILE_PARAMS && status == PM_SECTION) {
        return info->n_contributions > 0; /* the transcript of other parameters */
    }
    if (info->kind == PM_FILE_PARAMS || info->kind == PM_FILE_BELLMAN_VK) {
        return status == PM_ENCODING || fuzz_is_point_fault(status);
    }
    return info->kind == PM_FILE_ZKEY && fuzz_is_point_fault(status);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    const char *path = file_of(bytes, n_bytes);
    pm_file_info info = {.struct_bytes = sizeof info};
    pm_error error = PM_ERROR_INIT, check_error = PM_ERROR_INIT;
    const pm_status described = pm_file_describe(fuzz_context(), path, 1, NULL, &info, &error);
    if (fuzz_succeeded(described, &error)) {
        check_info(&info, bytes, n_bytes);
    } else {
        FUZZ_REQUIRE(info.kind == 0 && strcmp(error.file, path) == 0);
    }
    if (n_bytes <= CHECKED_BYTES_MAX) {
        const pm_status checked = pm_file_check(fuzz_context(), path, NULL, &check_error);
        (void)fuzz_succeeded(checked, &check_error);
        FUZZ_REQUIRE(checked == described ||
                     (described == PM_OK && is_deeper_finding(&info, checked)));
    }
    return 0;
}
