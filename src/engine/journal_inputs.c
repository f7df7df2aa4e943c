/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Inputs that the journal keeps itself. They are secrets: nobody else may read them, and they are
 * overwritten before they go. (A copy-on-write file system or a flash drive may keep the old bytes
 * all the same; who cannot have that hands witnesses over by path, or encrypts the disk.) */
#include "engine/journal_internal.h"

#include "base/random.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "input-"
#define RANDOM_BYTES 16

static pm_status write_all(int fd, const uint8_t *bytes, uint64_t n_bytes, pm_error *error) {
    while (n_bytes > 0) {
        const size_t piece = n_bytes < (UINT64_C(1) << 30) ? (size_t)n_bytes : (size_t)1 << 30;
        const ssize_t n = write(fd, bytes, piece);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            return pm_error_set_errno(error, PM_IO, n < 0 ? errno : ENOSPC, NULL,
                                      "an input cannot be stored in the journal's folder");
        }
        bytes += n;
        n_bytes -= (uint64_t)n;
    }
    return PM_OK;
}

pm_status pm_journal_store(struct pm_journal *journal, const void *bytes, uint64_t n_bytes,
                           char name[PM_JOURNAL_STORED_NAME_BYTES], pm_error *error) {
    uint8_t random[RANDOM_BYTES];
    PM_TRY(pm_random_bytes(random, sizeof random, error));
    int length = snprintf(name, PM_JOURNAL_STORED_NAME_BYTES, PREFIX);
    for (size_t i = 0; i < sizeof random; ++i) {
        length += snprintf(name + length, PM_JOURNAL_STORED_NAME_BYTES - (size_t)length, "%02x",
                           random[i]);
    }
    const int fd = openat(journal->folder_fd, name,
                          O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, journal->folder,
                                  "an input cannot be stored in the journal's folder");
    }
    pm_status status = write_all(fd, bytes, n_bytes, error);
    if (status == PM_OK && (fsync(fd) != 0 || fsync(journal->folder_fd) != 0)) {
        status = pm_error_set_errno(error, PM_IO, errno, journal->folder,
                                    "a stored input cannot be brought to the disk");
    }
    (void)close(fd);
    if (status != PM_OK) {
        pm_journal_wipe(journal, name);
    }
    return status;
}

pm_status pm_journal_stored_path(const struct pm_journal *journal, const char *name, char *path,
                                 uint64_t path_bytes, pm_error *error) {
    const int length = snprintf(path, path_bytes, "%s/%s", journal->folder, name);
    PM_FAIL_IF(length < 0 || (uint64_t)length >= path_bytes, error, PM_INVALID_ARGUMENT,
               "the path of a stored input is too long");
    return PM_OK;
}

/* Only names that pm_journal_store() makes: a record that was tampered with removes nothing else.
 */
static bool is_stored_name(const char *name) {
    const size_t length = strlen(name), digits = 2 * RANDOM_BYTES;
    return length == strlen(PREFIX) + digits && strncmp(name, PREFIX, strlen(PREFIX)) == 0 &&
           strspn(name + strlen(PREFIX), "0123456789abcdef") == digits;
}

void pm_journal_wipe(struct pm_journal *journal, const char *name) {
    static const uint8_t zeros[65536];
    struct stat facts;
    if (!is_stored_name(name)) {
        return;
    }
    const int fd = openat(journal->folder_fd, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0) {
        if (fstat(fd, &facts) == 0) {
            for (uint64_t left = (uint64_t)facts.st_size; left > 0;) {
                const uint64_t piece = left < sizeof zeros ? left : sizeof zeros;
                if (write_all(fd, zeros, piece, NULL) != PM_OK) {
                    break;
                }
                left -= piece;
            }
            (void)fdatasync(fd);
        }
        (void)close(fd);
    }
    (void)unlinkat(journal->folder_fd, name, 0);
}

void pm_journal_sweep(struct pm_journal *journal, bool (*keep)(void *user, const char *name),
                      void *user) {
    DIR *folder = opendir(journal->folder);
    if (folder == NULL) {
        return;
    }
    for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (is_stored_name(entry->d_name) && !keep(user, entry->d_name)) {
            pm_journal_wipe(journal, entry->d_name);
        }
    }
    (void)closedir(folder);
}
