/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* shim/supraseal_record.h - assignments written to files as they are proved. */
#ifndef PM_SHIM_SUPRASEAL_RECORD_H
#define PM_SHIM_SUPRASEAL_RECORD_H

#include "shim/supraseal.h"

/* Writes FOLDER/PROCESS-NUMBER.pmasg, readable by its owner alone: it is the whole secret. Errors:
 * those of pm_assignment_file_write(). */
pm_status pm_supraseal_record(const struct pm_supraseal_engine *engine,
                              const pm_assignment *assignment, pm_error *error);

#endif
