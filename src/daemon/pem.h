/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/pem.h - files of certificates and keys, for the server and for the client. */
#ifndef PM_DAEMON_PEM_H
#define PM_DAEMON_PEM_H

#include <proofmill/proofmill.h>

#include <stddef.h>

struct pm_pem {
    char *text; /* ends with a NUL; NULL: none */
    size_t n_bytes;
};

/* For pm_pem_free(), also after an error. Errors: IO, LENGTH (too large), ENCODING (no PEM),
 * NO_MEMORY. */
pm_status pm_pem_read(const char *path, struct pm_pem *pem, pm_error *error);
/* Wipes it: it may be a key. */
void pm_pem_free(struct pm_pem *pem);

#endif
