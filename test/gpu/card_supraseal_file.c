/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* A parameter file from a table of points. */
#include "card_supraseal.h"

#include "card_prove.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Points of one write, and bytes of one read. */
#define WRITE_POINTS (UINT64_C(1) << 15)
#define READ_BYTES (UINT64_C(4) << 20)

struct part_writing {
    int fd;
    const uint8_t *table; /* encoded */
    enum card_query query;
    uint64_t point_bytes, offset;
};

static void put(int fd, const uint8_t *bytes, uint64_t n_bytes, uint64_t offset) {
    while (n_bytes > 0) {
        const ssize_t n = pwrite(fd, bytes, n_bytes, (off_t)offset);
        CARD_PROVE_CHECK(n > 0, "the parameter file cannot be written at %llu: %s",
                         (unsigned long long)offset, strerror(errno));
        bytes += n;
        n_bytes -= (uint64_t)n;
        offset += (uint64_t)n;
    }
}

static void write_points(void *argument, size_t begin, size_t end) {
    const struct part_writing *part = argument;
    uint8_t *buffer = malloc(WRITE_POINTS * part->point_bytes);
    CARD_PROVE_CHECK(buffer != NULL, "no memory");
    for (uint64_t first = begin; first < end; first += WRITE_POINTS) {
        const uint64_t n = end - first < WRITE_POINTS ? end - first : WRITE_POINTS;
        for (uint64_t i = 0; i < n;) {
            const uint64_t at = card_partition_point(part->query, first + i);
            const uint64_t run = n - i < CARD_TABLE - at ? n - i : CARD_TABLE - at;
            memcpy(buffer + i * part->point_bytes, part->table + at * part->point_bytes,
                   run * part->point_bytes);
            i += run;
        }
        put(part->fd, buffer, n * part->point_bytes, part->offset + first * part->point_bytes);
    }
    free(buffer);
}

static uint8_t *encode_table(const struct card_partition *p, int g) {
    const struct pm_group *group = g == 0 ? p->kernels.curve->g1 : p->kernels.curve->g2;
    uint8_t *encoded = card_room((uint64_t)CARD_TABLE * group->affine_bytes);
    for (uint64_t i = 0; i < CARD_TABLE; ++i) {
        group->encode(encoded + i * group->affine_bytes, PM_POINT_ZCASH_FULL,
                      p->table[g] + i * group->affine_bytes);
    }
    return encoded;
}

static void write_fixed(const struct card_partition *p, const struct pm_params_layout *layout,
                        int fd) {
    static const int singles[PM_PARAMS_N_FIXED] = {0, 1, 1, 3, 2, 2}; /* of p->singles */
    for (enum pm_params_part part = 0; part < PM_PARAMS_N_FIXED; ++part) {
        const int g = pm_params_part_is_g2(part) ? 1 : 0;
        const struct pm_group *group = g == 0 ? p->kernels.curve->g1 : p->kernels.curve->g2;
        uint8_t bytes[PM_G2_BYTES_MAX];
        group->encode(bytes, PM_POINT_ZCASH_FULL, p->singles[g][singles[part]]);
        put(fd, bytes, pm_params_point_bytes(part), layout->offset[part]);
    }
}

static void write_parts(const struct card_partition *p, const struct pm_params_layout *layout,
                        int fd) {
    static const enum card_query queries[PM_PARAMS_PARTS] = {
        [PM_PARAMS_IC] = CARD_QUERY_A,   [PM_PARAMS_H] = CARD_QUERY_H,
        [PM_PARAMS_L] = CARD_QUERY_L,    [PM_PARAMS_A] = CARD_QUERY_A,
        [PM_PARAMS_B_G1] = CARD_QUERY_B, [PM_PARAMS_B_G2] = CARD_QUERY_B};
    uint8_t *const tables[2] = {encode_table(p, 0), encode_table(p, 1)};
    for (enum pm_params_part part = PM_PARAMS_IC; part < PM_PARAMS_PARTS; ++part) {
        struct part_writing writing = {fd, tables[pm_params_part_is_g2(part)], queries[part],
                                       pm_params_point_bytes(part), layout->offset[part]};
        const uint32_t count = __builtin_bswap32((uint32_t)layout->n[part]);
        put(fd, (const uint8_t *)&count, sizeof count, layout->offset[part] - sizeof count);
        pm_team_for(p->kernels.team, layout->n[part], WRITE_POINTS, write_points, &writing);
    }
    for (int g = 0; g < 2; ++g) {
        card_room_free(tables[g], (uint64_t)CARD_TABLE * (g == 0 ? 96 : 192));
    }
}

/* Open, and without a name, so that nothing is left behind whatever happens. */
static int open_nameless(const char *folder) {
    char path[1024];
    if (folder == NULL) {
        return memfd_create("card_supraseal.params", MFD_CLOEXEC);
    }
    (void)snprintf(path, sizeof path, "%s/card_supraseal_%d.params", folder, (int)getpid());
    const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    (void)unlink(path);
    return fd;
}

void card_params_write(const struct card_partition *p, const char *folder,
                       struct card_params_file *file) {
    const struct pm_params_counts counts = {.n_inputs = (uint32_t)p->sizes.n_inputs,
                                            .n_aux = (uint32_t)p->sizes.n_l,
                                            .log_n = p->sizes.log_n,
                                            .n_a = (uint32_t)p->sizes.n_a,
                                            .n_b = (uint32_t)p->sizes.n_b};
    struct pm_params_layout layout;
    const double begin_ms = card_prove_now_ms();
    CARD_PROVE_OK(pm_params_layout_make(&counts, &layout, &error));
    file->fd = open_nameless(folder);
    CARD_PROVE_CHECK(file->fd >= 0, "no parameter file can be made in %s: %s",
                     folder != NULL ? folder : "memory", strerror(errno));
    file->n_bytes = layout.n_bytes;
    (void)snprintf(file->path, sizeof file->path, "/proc/self/fd/%d", file->fd);
    write_fixed(p, &layout, file->fd);
    write_parts(p, &layout, file->fd);
    const double ms = card_prove_now_ms() - begin_ms;
    (void)printf("parameter file: %llu bytes in %s, written in %.0f ms, %.2f GiB/s\n",
                 (unsigned long long)file->n_bytes, folder != NULL ? folder : "memory", ms,
                 1e3 * (double)file->n_bytes / CARD_GIB / ms);
}

static void read_range(void *argument, size_t begin, size_t end) {
    const struct card_params_file *file = argument;
    uint8_t *buffer = malloc(READ_BYTES);
    CARD_PROVE_CHECK(buffer != NULL, "no memory");
    for (uint64_t at = begin; at < end;) {
        const uint64_t n_bytes = end - at < READ_BYTES ? end - at : READ_BYTES;
        const ssize_t n = pread(file->fd, buffer, n_bytes, (off_t)at);
        CARD_PROVE_CHECK(n > 0, "the parameter file cannot be read: %s", strerror(errno));
        at += (uint64_t)n;
    }
    free(buffer);
}

void card_params_read(const struct card_partition *p, const struct card_params_file *file) {
    struct card_params_file all = *file;
    const double begin_ms = card_prove_now_ms();
    pm_team_for(p->kernels.team, file->n_bytes, READ_BYTES, read_range, &all);
    const double ms = card_prove_now_ms() - begin_ms;
    (void)printf("read alone, by %u threads: %.0f ms, %.2f GiB/s\n",
                 pm_team_threads(p->kernels.team), ms, 1e3 * (double)file->n_bytes / CARD_GIB / ms);
}

void card_params_cool(const struct card_params_file *file) {
    const double begin_ms = card_prove_now_ms();
    CARD_PROVE_CHECK(fsync(file->fd) == 0, "fsync: %s", strerror(errno));
    CARD_PROVE_CHECK(posix_fadvise(file->fd, 0, 0, POSIX_FADV_DONTNEED) == 0, "posix_fadvise");
    (void)printf("on the disk, out of the page cache: %.0f ms\n", card_prove_now_ms() - begin_ms);
}
