/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/mapping.h"

#include "io/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* First buffer for a file whose size is not known beforehand. */
#define READ_CHUNK_BYTES (UINT64_C(64) << 10)
/* How often the control is looked at while a writer keeps us waiting. */
#define WRITER_WAIT_MS 20
/* Read between two looks at the control: a slow disk has it within a second. */
#define READ_CALL_BYTES_MAX (UINT64_C(8) << 20)

static pm_status set_name(struct pm_mapping *mapping, const char *name, pm_error *error) {
    const size_t n = strlen(name) + 1;
    void *copy = NULL;
    PM_TRY(pm_memory_alloc(NULL, "a file name", n, PM_MEMORY_PLAIN, &copy, error));
    memcpy(copy, name, n);
    mapping->name = copy;
    return PM_OK;
}

static pm_status fail_errno(const struct pm_mapping *mapping, int reason, const char *what,
                            pm_error *error) {
    return pm_error_set_errno(error, PM_IO, reason, mapping->name, what);
}

/* "is a directory" and the like; NULL when the bytes of such a thing can be had. */
static const char *refusal_of(mode_t mode) {
    switch (mode & S_IFMT) {
    case S_IFREG:
    case S_IFIFO:
    case S_IFCHR:
        return NULL;
    case S_IFDIR:
        return "is a directory";
    case S_IFBLK:
        return "is a block device";
    case S_IFSOCK:
        return "is a socket";
    default:
        return "is not a regular file";
    }
}

static pm_status refuse_kind(const struct pm_mapping *mapping, const char *refusal,
                             pm_error *error) {
    pm_error_set(error, PM_IO, "%s %s: a file is needed", mapping->name, refusal);
    pm_error_at(error, mapping->name, PM_NO_OFFSET);
    return PM_IO;
}

static pm_status fail_too_long(const struct pm_mapping *mapping, uint64_t max_bytes, uint64_t have,
                               pm_error *error) {
    pm_error_set(error, PM_LENGTH, "%s has more than the %llu bytes that are allowed here",
                 mapping->name, (unsigned long long)max_bytes);
    pm_error_at(error, mapping->name, PM_NO_OFFSET);
    pm_error_need_have(error, max_bytes, have);
    return PM_LENGTH;
}

/* A FIFO that nobody writes to would hold open(2) for ever, and us in it: await_bytes() waits. A
 * regular file may say EAGAIN where another has a lease on it, and is then asked in earnest. */
static pm_status open_path(const struct pm_mapping *mapping, const char *path, int *fd,
                           pm_error *error) {
    int patience = O_NONBLOCK;
    do {
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | patience);
        patience = *fd < 0 && errno == EAGAIN ? 0 : patience;
    } while (*fd < 0 && (errno == EINTR || errno == EAGAIN));
    if (*fd >= 0) {
        const int flags = fcntl(*fd, F_GETFL);
        return flags >= 0 && fcntl(*fd, F_SETFL, flags & ~O_NONBLOCK) >= 0
                   ? PM_OK
                   : fail_errno(mapping, errno, "cannot open", error);
    }
    const int reason = errno;
    struct stat facts;
    if (reason == ENXIO && stat(path, &facts) == 0 && refusal_of(facts.st_mode) != NULL) {
        return refuse_kind(mapping, refusal_of(facts.st_mode), error);
    }
    return fail_errno(mapping, reason, "cannot open", error);
}

/* Moves the first n_bytes of the mapping's buffer into one of capacity bytes and a NUL. */
static pm_status grow(struct pm_mapping *mapping, uint64_t n_bytes, uint64_t capacity,
                      struct pm_ledger *ledger, enum pm_memory_flags flags, pm_error *error) {
    void *larger = NULL;
    const pm_status status =
        pm_memory_alloc(ledger, "a file's contents", capacity + 1, flags, &larger, error);
    if (status != PM_OK) {
        pm_error_at(error, mapping->name, PM_NO_OFFSET);
        return status;
    }
    if (n_bytes > 0) {
        memcpy(larger, mapping->owned, n_bytes);
    }
    pm_memory_free(mapping->owned);
    mapping->owned = larger;
    return PM_OK;
}

/* Where bytes come from. */
struct source {
    int fd;
    bool may_wait; /* for a writer */
    const pm_control *control;
};

/* Until there are bytes, or an end: a FIFO has none before its first writer came. */
static pm_status await_bytes(const struct source *source, pm_error *error) {
    struct pollfd input = {.fd = source->fd, .events = POLLIN};
    PM_TRY(pm_control_check(source->control, error));
    while (source->may_wait) {
        const int n_ready = poll(&input, 1, WRITER_WAIT_MS);
        if (n_ready > 0 || (n_ready < 0 && errno != EINTR)) {
            break;
        }
        PM_TRY(pm_control_check(source->control, error));
    }
    return PM_OK;
}

/* read(2) of what await_bytes() has waited for; 0: the end. */
static pm_status read_some(const struct pm_mapping *mapping, const struct source *source, void *to,
                           uint64_t room, uint64_t *n_bytes, pm_error *error) {
    ssize_t n;
    do {
        PM_TRY(await_bytes(source, error));
        n = read(source->fd, to, room < READ_CALL_BYTES_MAX ? room : READ_CALL_BYTES_MAX);
    } while (n < 0 && errno == EINTR);
    if (n < 0) {
        return fail_errno(mapping, errno, "cannot read", error);
    }
    *n_bytes = (uint64_t)n;
    return PM_OK;
}

/*
 * Reads to the end of the file, whatever its size was said to be: pseudo-files say 0, pipes have
 * none, and a file may grow or shrink meanwhile. size_hint only saves copies.
 */
static pm_status read_all(struct pm_mapping *mapping, const struct source *source,
                          uint64_t size_hint, uint64_t max_bytes, struct pm_ledger *ledger,
                          enum pm_memory_flags flags, pm_error *error) {
    uint64_t n = 0, done = 0, capacity = size_hint > 0 ? size_hint : READ_CHUNK_BYTES;
    capacity = capacity < max_bytes ? capacity : max_bytes;
    PM_TRY(grow(mapping, 0, capacity, ledger, flags, error));
    for (;;) {
        if (done == capacity) {
            /* Full: one byte more tells whether that was the end. */
            uint8_t next = 0;
            PM_TRY(read_some(mapping, source, &next, 1, &n, error));
            if (n == 0) {
                break;
            }
            if (done == max_bytes) {
                return fail_too_long(mapping, max_bytes, done + 1, error);
            }
            capacity = capacity < READ_CHUNK_BYTES ? READ_CHUNK_BYTES : capacity;
            capacity = capacity < max_bytes / 2 ? capacity * 2 : max_bytes;
            PM_TRY(grow(mapping, done, capacity, ledger, flags, error));
            ((uint8_t *)mapping->owned)[done++] = next;
        }
        const uint64_t room = capacity - done;
        if (room > 0) {
            PM_TRY(read_some(mapping, source, (uint8_t *)mapping->owned + done, room, &n, error));
            if (n == 0) {
                break;
            }
            done += n;
        }
    }
    ((uint8_t *)mapping->owned)[done] = '\0';
    mapping->bytes = mapping->owned;
    mapping->n_bytes = done;
    return PM_OK;
}

/* On success the mapping owns fd. */
static pm_status map_all(struct pm_mapping *mapping, int fd, uint64_t n_bytes, pm_error *error) {
    if (n_bytes == 0) {
        return PM_OK;
    }
    void *bytes = mmap(NULL, n_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
        return fail_errno(mapping, errno, "cannot map", error);
    }
    mapping->bytes = bytes;
    mapping->n_bytes = n_bytes;
    mapping->is_mapped = true;
    mapping->fd = fd;
    mapping->guard_slot = pm_guard_enter(bytes, n_bytes);
    if (mapping->guard_slot < 0 && pm_guard_is_installed()) {
        /* The program asked for the guard, so an unguarded mapping would break a promise. */
        pm_error_set(error, PM_NO_MEMORY, "more than %d files are mapped at once", PM_GUARD_SLOTS);
        pm_error_at(error, mapping->name, PM_NO_OFFSET);
        return PM_NO_MEMORY;
    }
    return PM_OK;
}

/* is_stdin: the bytes are those from where the descriptor stands, so the file's size says little.
 */
static pm_status load(struct pm_mapping *mapping, int fd, bool is_stdin, enum pm_mapping_how how,
                      uint64_t max_bytes, struct pm_ledger *ledger, const pm_control *control,
                      pm_error *error) {
    struct stat facts;
    if (fstat(fd, &facts) != 0) {
        return fail_errno(mapping, errno, "cannot examine", error);
    }
    const char *refusal = refusal_of(facts.st_mode);
    if (refusal != NULL) {
        return refuse_kind(mapping, refusal, error);
    }
    const bool is_regular = S_ISREG(facts.st_mode);
    const uint64_t size = is_regular && facts.st_size > 0 ? (uint64_t)facts.st_size : 0;
    if (size > max_bytes && !is_stdin) {
        return fail_too_long(mapping, max_bytes, size, error);
    }
    /* A pseudo-file such as those of /proc says 0 bytes and has some: reading finds out. */
    if (how == PM_MAPPING_MAP && size > 0 && !is_stdin) {
        return map_all(mapping, fd, size, error);
    }
    if (S_ISCHR(facts.st_mode) && max_bytes > PM_MAPPING_DEVICE_BYTES_MAX) {
        max_bytes = PM_MAPPING_DEVICE_BYTES_MAX;
    }
    const enum pm_memory_flags flags = how == PM_MAPPING_READ ? PM_MEMORY_PLAIN : PM_MEMORY_SECRET;
    const struct source source = {.fd = fd, .may_wait = !is_regular, .control = control};
    return read_all(mapping, &source, size, max_bytes, ledger, flags, error);
}

pm_status pm_mapping_open(const char *path, enum pm_mapping_how how, uint64_t max_bytes,
                          struct pm_ledger *ledger, const pm_control *control,
                          struct pm_mapping *mapping, pm_error *error) {
    const bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : -1;
    pm_status status = PM_OK;
    /* NUL and growth arithmetic stay far from the end of the type. */
    max_bytes = max_bytes < PTRDIFF_MAX / 4 ? max_bytes : PTRDIFF_MAX / 4;
    *mapping = (struct pm_mapping){.guard_slot = -1};
    PM_TRY_GOTO(status, set_name(mapping, is_stdin ? "standard input" : path, error), cleanup);
    if (!is_stdin) {
        PM_TRY_GOTO(status, open_path(mapping, path, &fd, error), cleanup);
    }
    status = load(mapping, fd, is_stdin, how, max_bytes, ledger, control, error);

cleanup:
    if (!is_stdin && fd >= 0 && !mapping->is_mapped) {
        (void)close(fd);
    }
    if (status != PM_OK) {
        pm_mapping_close(mapping);
    }
    return status;
}

pm_status pm_mapping_borrow(const void *bytes, uint64_t n_bytes, const char *name,
                            struct pm_mapping *mapping, pm_error *error) {
    *mapping = (struct pm_mapping){.guard_slot = -1};
    PM_FAIL_IF(bytes == NULL && n_bytes > 0, error, PM_INVALID_ARGUMENT,
               "the bytes of an image in memory are NULL");
    PM_TRY(set_name(mapping, name != NULL ? name : "memory", error));
    mapping->bytes = bytes;
    mapping->n_bytes = n_bytes;
    return PM_OK;
}

void pm_mapping_close(struct pm_mapping *mapping) {
    if (mapping->is_mapped) {
        pm_guard_leave(mapping->guard_slot);
        (void)munmap((void *)(uintptr_t)mapping->bytes, mapping->n_bytes);
        (void)close(mapping->fd);
    }
    pm_memory_free(mapping->owned);
    pm_memory_free(mapping->name);
    *mapping = (struct pm_mapping){.guard_slot = -1};
}

pm_status pm_mapping_check(const struct pm_mapping *mapping, pm_error *error) {
    if (!mapping->is_mapped) {
        return PM_OK;
    }
    /* The rest of a page that the new end cuts through reads as zeros without a fault, so the size
     * is asked for too. */
    struct stat facts;
    const bool is_shorter =
        fstat(mapping->fd, &facts) == 0 && (uint64_t)facts.st_size < mapping->n_bytes;
    if (is_shorter || pm_guard_has_faulted(mapping->guard_slot)) {
        pm_error_set(error, PM_FILE_CHANGED,
                     "%s became shorter, or unreadable, while it was in use", mapping->name);
        pm_error_at(error, mapping->name, PM_NO_OFFSET);
        return PM_FILE_CHANGED;
    }
    return PM_OK;
}

void pm_mapping_read_ahead(const struct pm_mapping *mapping, const uint8_t *begin,
                           uint64_t n_bytes) {
    if (mapping == NULL || !mapping->is_mapped || n_bytes == 0) {
        return;
    }
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t first = (uint64_t)(begin - mapping->bytes);
    const uint64_t from = first / page * page;
    (void)madvise((void *)(uintptr_t)(mapping->bytes + from), first + n_bytes - from,
                  MADV_WILLNEED);
}

void pm_mapping_release_range(const struct pm_mapping *mapping, const uint8_t *begin,
                              uint64_t n_bytes) {
    if (mapping == NULL || !mapping->is_mapped) {
        return; /* memory of our own would be lost, not given back */
    }
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    const uint64_t first = (uint64_t)(begin - mapping->bytes);
    const uint64_t from = (first + page - 1) / page * page;
    const uint64_t to = (first + n_bytes) / page * page;
    if (from < to) {
        /* Private and never written to: the pages come back from the file. */
        (void)madvise((void *)(uintptr_t)(mapping->bytes + from), to - from, MADV_DONTNEED);
    }
}
