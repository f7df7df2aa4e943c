/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* io/zkey_contributions.h - section 10 of a .zkey: the circuit's hash and the ceremony's records.
 */
#ifndef PM_IO_ZKEY_CONTRIBUTIONS_H
#define PM_IO_ZKEY_CONTRIBUTIONS_H

#include "io/zkey.h"

/* Fills has_circuit_hash, circuit_hash and n_contributions of a key whose header has been read. A
 * missing section is logged as a warning and accepted: proving does not need it. Errors: TRUNCATED
 * (cut inside a record), LENGTH (bytes after the last one). */
pm_status pm_zkey_read_contributions(struct pm_zkey *zkey, const pm_control *control,
                                     pm_error *error);

#endif
