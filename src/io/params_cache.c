/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "io/params_cache.h"

#include "base/blake2b.h"
#include "io/output_map.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define VERSION 1u
#define DIGEST_BYTES 64u
#define PAGE_BYTES UINT64_C(4096) /* parts begin at multiples of it */
#define N_CACHED (PM_PARAMS_PARTS - PM_PARAMS_VK_PARTS)
/* Points of each part that the two files are compared at. */
#define SAMPLES 256u
/* Bytes copied between two looks at control. */
#define COPY_BYTES (UINT64_C(4) << 20)
/* One that is a file's name behind. */
#define PATH_BYTES 4096u

static const char magic[8] = "pmcache";

/* The first page, in this machine's order of bytes: the cache is for no other. */
struct header {
    char magic[8];
    uint32_t version, n_parts;
    uint64_t source_bytes;
    int64_t modified_s, modified_ns;
    uint64_t n[N_CACHED], offset[N_CACHED];
    uint64_t file_bytes;
    uint8_t source_digest[DIGEST_BYTES]; /* of what the parameters hold */
    uint8_t header_digest[DIGEST_BYTES]; /* of the fields before it */
};

_Static_assert(sizeof(struct header) <= PAGE_BYTES, "the header has a page");

/* ---- What it belongs to ------------------------------------------------------------------------
 */

static uint64_t sample_of(uint64_t n, uint64_t i) {
    return n <= SAMPLES ? i : (uint64_t)((unsigned __int128)i * (n - 1) / (SAMPLES - 1));
}

static uint64_t n_samples(uint64_t n) {
    return n < SAMPLES ? n : SAMPLES;
}

static void hash_source(const struct pm_params *params, uint8_t digest[DIGEST_BYTES]) {
    const struct pm_params_layout *layout = &params->layout;
    struct pm_blake2b state;
    pm_blake2b_init(&state, DIGEST_BYTES);
    pm_blake2b_update(&state, layout->n, sizeof layout->n);
    pm_blake2b_update(&state, params->mapping->bytes, layout->vk_bytes);
    for (int part = PM_PARAMS_VK_PARTS; part < PM_PARAMS_PARTS; ++part) {
        const uint32_t point_bytes = pm_params_point_bytes((enum pm_params_part)part);
        for (uint64_t i = 0; i < n_samples(layout->n[part]); ++i) {
            const uint64_t at = layout->offset[part] + sample_of(layout->n[part], i) * point_bytes;
            pm_blake2b_update(&state, params->mapping->bytes + at, point_bytes);
        }
    }
    pm_blake2b_final(&state, digest);
}

static void hash_header(const struct header *header, uint8_t digest[DIGEST_BYTES]) {
    struct pm_blake2b state;
    pm_blake2b_init(&state, DIGEST_BYTES);
    pm_blake2b_update(&state, header, offsetof(struct header, header_digest));
    pm_blake2b_final(&state, digest);
}

/* False when the parameters are no mapped file, which alone has a time. */
static bool make_header(const struct pm_params *params, struct header *header) {
    struct stat about;
    uint64_t offset = PAGE_BYTES;
    if (!params->mapping->is_mapped || fstat(params->mapping->fd, &about) != 0) {
        return false;
    }
    memset(header, 0, sizeof *header); /* its padding is hashed too */
    memcpy(header->magic, magic, sizeof magic);
    header->version = VERSION;
    header->n_parts = N_CACHED;
    header->source_bytes = params->mapping->n_bytes;
    header->modified_s = about.st_mtim.tv_sec;
    header->modified_ns = about.st_mtim.tv_nsec;
    for (int i = 0; i < N_CACHED; ++i) {
        const enum pm_params_part part = (enum pm_params_part)(PM_PARAMS_VK_PARTS + i);
        header->n[i] = params->layout.n[part];
        header->offset[i] = offset;
        offset += header->n[i] * pm_params_point_bytes(part);
        offset = (offset + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
    }
    header->file_bytes = offset;
    hash_source(params, header->source_digest);
    hash_header(header, header->header_digest);
    return true;
}

static bool cache_path(const char *path, char out[PATH_BYTES]) {
    const int n = snprintf(out, PATH_BYTES, "%s%s", path, PM_PARAMS_CACHE_SUFFIX);
    return n > 0 && (size_t)n < PATH_BYTES;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Sampled points of the cache are those of the parameters. */
static bool samples_agree(const struct pm_params *params, const struct pm_curve *curve,
                          const struct pm_params_cache *cache) {
    for (int i = PM_PARAMS_VK_PARTS; i < PM_PARAMS_PARTS; ++i) {
        const enum pm_params_part part = (enum pm_params_part)i;
        const uint32_t point_bytes = pm_params_point_bytes(part);
        for (uint64_t j = 0; j < n_samples(params->layout.n[part]); ++j) {
            const uint64_t at = sample_of(params->layout.n[part], j);
            uint8_t affine[PM_G2_BYTES_MAX];
            if (pm_params_decode(params, curve, part, at, 1, PM_POINT_CHECK_CURVE, NULL, NULL,
                                 affine, NULL) != PM_OK ||
                memcmp(affine, cache->affine[part] + at * point_bytes, point_bytes) != 0) {
                return false;
            }
        }
    }
    return true;
}

static bool fits(const struct pm_params *params, const struct pm_curve *curve,
                 const struct pm_mapping *mapping, struct pm_params_cache *cache) {
    struct header expected;
    if (!mapping->is_mapped || mapping->n_bytes < PAGE_BYTES || !make_header(params, &expected) ||
        mapping->n_bytes != expected.file_bytes ||
        memcmp(mapping->bytes, &expected, sizeof expected) != 0) {
        return false;
    }
    for (int i = 0; i < N_CACHED; ++i) {
        cache->affine[PM_PARAMS_VK_PARTS + i] = mapping->bytes + expected.offset[i];
    }
    return samples_agree(params, curve, cache) && pm_mapping_check(mapping, NULL) == PM_OK;
}

bool pm_params_cache_open(const struct pm_params *params, const struct pm_curve *curve,
                          const char *path, struct pm_mapping *mapping,
                          struct pm_params_cache *cache) {
    char beside[PATH_BYTES];
    struct stat about;
    *cache = (struct pm_params_cache){.affine = {NULL}};
    /* Only a file is taken: a FIFO of this name would keep us waiting. */
    if (!cache_path(path, beside) || stat(beside, &about) != 0 || !S_ISREG(about.st_mode) ||
        pm_mapping_open(beside, PM_MAPPING_MAP, UINT64_MAX, NULL, NULL, mapping, NULL) != PM_OK) {
        *mapping = (struct pm_mapping){.bytes = NULL};
        return false;
    }
    if (!fits(params, curve, mapping, cache)) {
        pm_mapping_close(mapping);
        *mapping = (struct pm_mapping){.bytes = NULL};
        return false;
    }
    return true;
}

/* ---- Writing --------------------------------------------------------------------------------- */

struct copy {
    uint8_t *to;
    const uint8_t *from;
    uint64_t n_bytes;
};

static void copy_piece(void *argument, size_t i) {
    const struct copy *copy = argument;
    const uint64_t first = i * (COPY_BYTES / 16), left = copy->n_bytes - first;
    memcpy(copy->to + first, copy->from + first, left < COPY_BYTES / 16 ? left : COPY_BYTES / 16);
}

static pm_status copy_part(const struct copy *part, struct pm_team *team, const pm_control *control,
                           pm_error *error) {
    for (uint64_t done = 0; done < part->n_bytes; done += COPY_BYTES) {
        const uint64_t left = part->n_bytes - done, n = left < COPY_BYTES ? left : COPY_BYTES;
        struct copy copy = {part->to + done, part->from + done, n};
        PM_TRY(pm_control_check(control, error));
        pm_team_run(team, (n + COPY_BYTES / 16 - 1) / (COPY_BYTES / 16), copy_piece, &copy);
    }
    return PM_OK;
}

pm_status pm_params_cache_write(const struct pm_params *params, const char *path,
                                const uint8_t *const affine[PM_PARAMS_PARTS], struct pm_team *team,
                                const pm_control *control, pm_error *error) {
    struct header header;
    char beside[PATH_BYTES];
    struct pm_output_map out;
    PM_FAIL_IF(!make_header(params, &header), error, PM_UNSUPPORTED,
               "parameters that are no mapped file have no cache");
    PM_FAIL_IF(!cache_path(path, beside), error, PM_INVALID_ARGUMENT,
               "the path is too long for a cache beside it");
    PM_TRY(pm_output_map_create(beside, header.file_bytes, &out, error));
    pm_status status = PM_OK;
    for (int i = 0; status == PM_OK && i < N_CACHED; ++i) {
        const enum pm_params_part part = (enum pm_params_part)(PM_PARAMS_VK_PARTS + i);
        const struct copy copy = {out.bytes + header.offset[i], affine[part],
                                  header.n[i] * pm_params_point_bytes(part)};
        status = copy_part(&copy, team, control, error);
    }
    if (status != PM_OK) {
        pm_output_map_abandon(&out);
        return status;
    }
    memcpy(out.bytes, &header, sizeof header);
    return pm_output_map_commit(&out, error);
}
