/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any bytes given as an assignment: what opens lies inside the file, one array behind the other,
 * and writing what it holds gives the same bytes but for a digest that was wrong.
 */
#include "fuzz/harness.h"

#include "io/pmasg.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_layout(const struct pm_pmasg *pmasg) {
    uint64_t end = PM_PMASG_HEADER_BYTES;
    for (int i = 0; i < PM_PMASG_ARRAYS; ++i) {
        const uint64_t offset = pmasg->layout.offset[i], n_bytes = pmasg->layout.n_bytes[i];
        FUZZ_REQUIRE(offset >= end && offset - end < PM_PMASG_ALIGNMENT);
        FUZZ_REQUIRE(offset % PM_PMASG_ALIGNMENT == 0);
        end = offset + n_bytes;
        FUZZ_REQUIRE(end <= pmasg->mapping->n_bytes);
        FUZZ_REQUIRE((pm_pmasg_bytes(pmasg, (enum pm_pmasg_array)i) != NULL) == (n_bytes > 0));
    }
    FUZZ_REQUIRE(pmasg->layout.file_bytes == pmasg->mapping->n_bytes);
    FUZZ_REQUIRE(pmasg->layout.digest_offset + PM_PMASG_DIGEST_BYTES == pmasg->layout.file_bytes);
}

/* The public reader of the same bytes; alignment of arrays needs them where a page begins. */
static pm_assignment_file *open_aligned(const uint8_t *bytes, size_t n_bytes,
                                        pm_assignment *assignment) {
    char path[64];
    pm_assignment_file *file = NULL;
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_REQUIRE(fd >= 0 && write(fd, bytes, n_bytes) == (ssize_t)n_bytes);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    FUZZ_REQUIRE(pm_assignment_file_open(path, NULL, &file, NULL) == PM_OK);
    (void)close(fd);
    assignment->struct_bytes = sizeof *assignment;
    FUZZ_REQUIRE(pm_assignment_file_get(file, assignment, NULL) == PM_OK);
    return file;
}

/* Written again: a name in the memory of the process, not on the disk. */
static void check_written(const uint8_t *bytes, size_t n_bytes, bool digest_is_good) {
    static char name[64];
    pm_assignment assignment;
    void *again = NULL;
    size_t n_again = 0;
    (void)snprintf(name, sizeof name, "/dev/shm/proofmill-fuzz-%ld.pmasg", (long)getpid());
    pm_assignment_file *file = open_aligned(bytes, n_bytes, &assignment);
    FUZZ_REQUIRE(pm_assignment_file_write(name, &assignment, NULL, NULL) == PM_OK);
    FUZZ_REQUIRE(pm_file_read(name, n_bytes, NULL, &again, &n_again, NULL) == PM_OK);
    (void)unlink(name);
    const size_t n_same = digest_is_good ? n_bytes : n_bytes - PM_PMASG_DIGEST_BYTES;
    FUZZ_REQUIRE(n_again == n_bytes && memcmp(again, bytes, n_same) == 0);
    pm_bytes_free(again, n_again);
    pm_assignment_file_destroy(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    struct pm_mapping mapping;
    struct pm_pmasg pmasg;
    pm_error error = PM_ERROR_INIT;
    FUZZ_REQUIRE(pm_mapping_borrow(bytes, n_bytes, "fuzz.pmasg", &mapping, NULL) == PM_OK);
    const pm_status status = pm_pmasg_open(&mapping, &pmasg, &error);
    if (fuzz_succeeded(status, &error)) {
        check_layout(&pmasg);
        error = (pm_error)PM_ERROR_INIT;
        const pm_status checked = pm_pmasg_check(&pmasg, NULL, NULL, &error);
        FUZZ_REQUIRE(fuzz_succeeded(checked, &error) || checked == PM_ENCODING ||
                     checked == PM_NOT_CANONICAL || checked == PM_WITNESS_MISMATCH);
        check_written(bytes, n_bytes, checked != PM_ENCODING);
    } else {
        FUZZ_REQUIRE(status == PM_NOT_THIS_KIND || pm_pmasg_recognise(&mapping));
        FUZZ_REQUIRE(strcmp(error.file, "fuzz.pmasg") == 0 && error.offset <= n_bytes);
    }
    pm_mapping_close(&mapping);
    return 0;
}
