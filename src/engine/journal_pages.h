/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * engine/journal_pages.h - rows of a damaged SQLite file, page by page.
 *
 * Nothing is looked for through the tree, whose inner pages may be gone: every page of the file
 * that holds rows is read for itself, as the write-ahead log has it last. What is read may be
 * garbage; whoever visits rows must know good ones when he sees them. Of the log's frames each is
 * checked for itself too, so that a damaged one costs what is in it and not what is behind it.
 *
 * The format is that of sqlite.org/fileformat.html: pages of rows (13), and of tables without
 * rowids leaves (10) and inner pages (2), which hold rows as well.
 */
#ifndef PM_ENGINE_JOURNAL_PAGES_H
#define PM_ENGINE_JOURNAL_PAGES_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define PM_JOURNAL_COLUMNS_MAX 32

enum pm_journal_type { PM_JOURNAL_NULL, PM_JOURNAL_NUMBER, PM_JOURNAL_TEXT, PM_JOURNAL_BYTES };

struct pm_journal_value {
    enum pm_journal_type type;
    int64_t number;
    const char *bytes; /* of a text or bytes; a NUL follows that is not counted */
    uint32_t n_bytes;
};

struct pm_journal_row {
    bool has_rowid;
    int64_t rowid;
    uint32_t n_columns;
    struct pm_journal_value columns[PM_JOURNAL_COLUMNS_MAX];
};

/* The version that the program wrote into the file's head (user_version); -1: it has no head. */
struct pm_journal_pages_facts {
    int64_t version;
    uint64_t n_pages;
};

/* What rows point to lives during the call. A visitor's error ends it. Files are named within the
 * folder; the log may be missing. Errors: IO, NO_MEMORY. */
typedef pm_status pm_journal_row_visitor(void *user, const struct pm_journal_row *row,
                                         pm_error *error);
pm_status pm_journal_pages_read(int folder_fd, const char *name, const char *log_name,
                                pm_journal_row_visitor *visit, void *user,
                                struct pm_journal_pages_facts *facts, pm_error *error);

/* Whether the log is damaged in its middle. SQLite takes the first frame that is not good for its
 * end, as it is after a crash; but each commit is on disk before the next one begins, so that
 * behind a true end there is one at most. Errors: NO_MEMORY. */
pm_status pm_journal_log_check(int folder_fd, const char *log_name, bool *is_damaged,
                               pm_error *error);

#endif
