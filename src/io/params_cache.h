/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * io/params_cache.h - the points of a parameter file, decoded once, in a file beside it.
 *
 * The cache is this machine's own and may be deleted at any time. It belongs to one parameter file:
 * to its length, its time of modification to the nanosecond, and a digest of its verifying key, its
 * counts and a sample of its points; and the same sample of the cache must be what those decode to.
 * Whatever does not fit is no error: the cache is passed over, and made anew. doc/format_params.md
 * describes the bytes.
 */
#ifndef PM_IO_PARAMS_CACHE_H
#define PM_IO_PARAMS_CACHE_H

#include "io/params.h"

#define PM_PARAMS_CACHE_SUFFIX ".pmcache"

/* Points by part; NULL for those of the verifying key, which are always read from the file. */
struct pm_params_cache {
    const uint8_t *affine[PM_PARAMS_PARTS];
};

/*
 * Maps the cache of the parameters, which are a mapped file at path. False: there is none that
 * fits. On true *mapping holds it, and is the caller's to close.
 */
bool pm_params_cache_open(const struct pm_params *params, const struct pm_curve *curve,
                          const char *path, struct pm_mapping *mapping,
                          struct pm_params_cache *cache);
/* Writes one, whole or not at all; affine: the parts behind the verifying key, decoded. Errors:
 * UNSUPPORTED (the parameters are no mapped file), INVALID_ARGUMENT, IO, NO_RANDOM, NO_MEMORY,
 * CANCELLED, DEADLINE. */
pm_status pm_params_cache_write(const struct pm_params *params, const char *path,
                                const uint8_t *const affine[PM_PARAMS_PARTS], struct pm_team *team,
                                const pm_control *control, pm_error *error);

#endif
