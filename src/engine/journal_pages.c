/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "engine/journal_pages.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_BYTES 100
#define USUAL_PAGE_BYTES 4096
#define LOG_HEAD_BYTES 32
#define FRAME_HEAD_BYTES 24
/* No row of a journal is larger, its overflow pages included. */
#define ROW_BYTES_MAX (UINT32_C(16) << 20)

enum { PAGE_INNER = 2, PAGE_LEAF = 10, PAGE_ROWS = 13 };

struct pages {
    int fd, log_fd; /* log_fd -1: none */
    uint32_t page_bytes, usable_bytes;
    uint64_t n_pages;
    uint64_t *frames; /* by page: where its last frame's bytes lie in the log; 0: none */
    uint8_t *page;    /* the one that is being read */
    uint8_t *more;    /* an overflow page */
    uint8_t *payload; /* of a row */
    char *texts;      /* its columns' bytes, a NUL behind each */
    uint32_t row_bytes;
    pm_journal_row_visitor *visit;
    void *user;
};

/* ---- Bytes ---------------------------------------------------------------------------------- */

static uint32_t big_endian(const uint8_t *bytes, uint32_t n) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < n; ++i) {
        value = value << 8 | bytes[i];
    }
    return value;
}

/* How many bytes it has; 0: it does not end before `end`. */
static uint32_t read_varint(const uint8_t *at, const uint8_t *end, uint64_t *value) {
    *value = 0;
    for (uint32_t i = 0; i < 9 && at + i < end; ++i) {
        if (i == 8) {
            *value = *value << 8 | at[i];
            return 9;
        }
        *value = *value << 7 | (at[i] & 0x7f);
        if ((at[i] & 0x80) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Whether all of it was there. */
static bool read_at(int fd, void *out, size_t n_bytes, uint64_t offset) {
    for (size_t done = 0; done < n_bytes;) {
        const ssize_t n = pread(fd, (uint8_t *)out + done, n_bytes - done, (off_t)(offset + done));
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool read_page(const struct pages *pages, uint64_t number, uint8_t *out) {
    if (number == 0 || number > pages->n_pages) {
        return false;
    }
    const uint64_t in_log = pages->frames[number - 1];
    return in_log != 0
               ? read_at(pages->log_fd, out, pages->page_bytes, in_log)
               : read_at(pages->fd, out, pages->page_bytes, (number - 1) * pages->page_bytes);
}

static bool is_page_bytes(uint32_t n) {
    return n >= 512 && n <= 65536 && (n & (n - 1)) == 0;
}

/* ---- The log -------------------------------------------------------------------------------- */

struct log {
    bool is_big_endian;
    uint32_t sums[2];
    uint8_t salts[8];
};

static uint32_t word_at(const struct log *log, const uint8_t *at) {
    uint32_t word;
    memcpy(&word, at, sizeof word);
    return log->is_big_endian ? big_endian(at, 4) : word;
}

static void add_up(struct log *log, const uint8_t *bytes, uint32_t n_bytes) {
    for (uint32_t i = 0; i < n_bytes; i += 8) {
        log->sums[0] += word_at(log, bytes + i) + log->sums[1];
        log->sums[1] += word_at(log, bytes + i + 4) + log->sums[0];
    }
}

/* A frame is good when its sums follow from those that the frame in front of it says it has. */
static bool is_good_frame(struct log *log, const uint8_t *head, const uint8_t *page,
                          uint32_t page_bytes) {
    struct log next = *log;
    add_up(&next, head, 8);
    add_up(&next, page, page_bytes);
    log->sums[0] = big_endian(head + 16, 4);
    log->sums[1] = big_endian(head + 20, 4);
    return memcmp(head + 8, log->salts, sizeof log->salts) == 0 && next.sums[0] == log->sums[0] &&
           next.sums[1] == log->sums[1];
}

static bool begin_log(struct pages *pages, struct log *log) {
    uint8_t head[LOG_HEAD_BYTES];
    if (pages->log_fd < 0 || !read_at(pages->log_fd, head, sizeof head, 0) ||
        (big_endian(head, 4) & ~UINT32_C(1)) != UINT32_C(0x377f0682) ||
        big_endian(head + 8, 4) != pages->page_bytes) {
        return false;
    }
    *log = (struct log){.is_big_endian = (head[3] & 1) != 0,
                        .sums = {big_endian(head + 24, 4), big_endian(head + 28, 4)}};
    memcpy(log->salts, head + 16, sizeof log->salts);
    return true;
}

/* How large the file is once the log is taken into account: from its last commit. */
static uint64_t count_frames(struct pages *pages, uint64_t *n_frames) {
    struct log log;
    uint8_t head[FRAME_HEAD_BYTES];
    uint64_t n_pages = 0;
    *n_frames = 0;
    if (!begin_log(pages, &log)) {
        return 0;
    }
    uint64_t at = LOG_HEAD_BYTES;
    for (uint64_t frame = 1;
         read_at(pages->log_fd, head, sizeof head, at) &&
         read_at(pages->log_fd, pages->page, pages->page_bytes, at + sizeof head);
         ++frame, at += sizeof head + pages->page_bytes) {
        if (is_good_frame(&log, head, pages->page, pages->page_bytes) &&
            big_endian(head + 4, 4) != 0) {
            n_pages = big_endian(head + 4, 4);
            n_pages = n_pages < pages->n_pages + frame ? n_pages : pages->n_pages + frame;
            *n_frames = frame;
        }
    }
    return n_pages;
}

/* Commits behind the first frame that is not good. */
static uint32_t count_stranded(struct pages *pages) {
    struct log log;
    uint8_t head[FRAME_HEAD_BYTES];
    uint32_t n = 0;
    bool is_broken = false;
    if (!begin_log(pages, &log)) {
        return 0;
    }
    for (uint64_t at = LOG_HEAD_BYTES;
         read_at(pages->log_fd, head, sizeof head, at) &&
         read_at(pages->log_fd, pages->page, pages->page_bytes, at + sizeof head);
         at += sizeof head + pages->page_bytes) {
        const bool is_good = is_good_frame(&log, head, pages->page, pages->page_bytes);
        is_broken |= !is_good;
        n += is_broken && is_good && big_endian(head + 4, 4) != 0;
    }
    return n;
}

static void find_frames(struct pages *pages, uint64_t n_frames) {
    struct log log;
    uint8_t head[FRAME_HEAD_BYTES];
    if (!begin_log(pages, &log)) {
        return;
    }
    uint64_t at = LOG_HEAD_BYTES;
    for (uint64_t frame = 0;
         frame < n_frames && read_at(pages->log_fd, head, sizeof head, at) &&
         read_at(pages->log_fd, pages->page, pages->page_bytes, at + sizeof head);
         ++frame, at += sizeof head + pages->page_bytes) {
        const uint32_t number = big_endian(head, 4);
        if (is_good_frame(&log, head, pages->page, pages->page_bytes) && number != 0 &&
            number <= pages->n_pages) {
            pages->frames[number - 1] = at + sizeof head;
        }
    }
}

/* ---- Rows ----------------------------------------------------------------------------------- */

static int64_t number_of(const uint8_t *at, uint32_t n_bytes) {
    uint64_t value = (at[0] & 0x80) != 0 ? UINT64_MAX : 0;
    for (uint32_t i = 0; i < n_bytes; ++i) {
        value = value << 8 | at[i];
    }
    return (int64_t)value;
}

/* What a serial type says: the bytes it has in the row. False: nothing that a journal has. */
static bool read_type(uint64_t serial, struct pm_journal_value *value, uint32_t *n_bytes) {
    static const uint8_t number_bytes[] = {0, 1, 2, 3, 4, 6, 8};
    *value = (struct pm_journal_value){.type = PM_JOURNAL_NULL};
    *n_bytes = 0;
    if (serial >= 12 && (serial - 12) / 2 <= ROW_BYTES_MAX) {
        value->type = serial % 2 == 0 ? PM_JOURNAL_BYTES : PM_JOURNAL_TEXT;
        value->n_bytes = *n_bytes = (uint32_t)((serial - 12) / 2);
        return true;
    }
    if (serial >= 1 && serial <= 6) {
        value->type = PM_JOURNAL_NUMBER;
        *n_bytes = number_bytes[serial];
        return true;
    }
    if (serial == 8 || serial == 9) {
        value->type = PM_JOURNAL_NUMBER;
        value->number = (int64_t)serial - 8;
        return true;
    }
    return serial == 0;
}

/* A row's payload: a head of types, then the values. */
static bool read_columns(struct pages *pages, uint32_t n_bytes, struct pm_journal_row *row) {
    const uint8_t *head = pages->payload, *end = head + n_bytes;
    uint64_t head_bytes;
    const uint32_t n = read_varint(head, end, &head_bytes);
    if (n == 0 || head_bytes < n || head_bytes > n_bytes) {
        return false;
    }
    const uint8_t *at = head + n, *value = head + head_bytes, *const values = value;
    char *text = pages->texts;
    for (row->n_columns = 0; at < values && row->n_columns < PM_JOURNAL_COLUMNS_MAX;
         ++row->n_columns) {
        struct pm_journal_value *column = &row->columns[row->n_columns];
        uint64_t serial;
        uint32_t column_bytes;
        const uint32_t step = read_varint(at, values, &serial);
        if (step == 0 || !read_type(serial, column, &column_bytes) ||
            column_bytes > (uint64_t)(end - value)) {
            return false;
        }
        if (column->type == PM_JOURNAL_NUMBER && column_bytes != 0) {
            column->number = number_of(value, column_bytes);
        } else if (column->type != PM_JOURNAL_NUMBER) {
            column->bytes = text;
            memcpy(text, value, column_bytes);
            text[column_bytes] = '\0';
            text += column_bytes + 1;
        }
        at += step;
        value += column_bytes;
    }
    return at == values && value == end;
}

static pm_status make_room(struct pages *pages, uint32_t n_bytes, pm_error *error) {
    if (n_bytes <= pages->row_bytes) {
        return PM_OK;
    }
    void *payload = NULL, *texts = NULL;
    PM_TRY(pm_memory_alloc(NULL, "row of a journal", n_bytes, PM_MEMORY_PLAIN, &payload, error));
    const pm_status status =
        pm_memory_alloc(NULL, "row of a journal", (uint64_t)n_bytes + PM_JOURNAL_COLUMNS_MAX,
                        PM_MEMORY_PLAIN, &texts, error);
    if (status != PM_OK) {
        pm_memory_free(payload);
        return status;
    }
    pm_memory_free(pages->payload);
    pm_memory_free(pages->texts);
    pages->payload = payload;
    pages->texts = texts;
    pages->row_bytes = n_bytes;
    return PM_OK;
}

/* How much of a payload of n bytes lies in the page itself. */
static uint32_t local_bytes(const struct pages *pages, uint32_t n_bytes, bool is_table) {
    const uint32_t usable = pages->usable_bytes;
    const uint32_t most = is_table ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    const uint32_t least = (usable - 12) * 32 / 255 - 23;
    const uint32_t rest = least + (n_bytes - least) % (usable - 4);
    return n_bytes <= most ? n_bytes : rest <= most ? rest : least;
}

/* The payload that begins at `at`, with its overflow pages. */
static bool gather(const struct pages *pages, const uint8_t *at, uint32_t n_bytes, bool is_table) {
    const uint8_t *end = pages->page + pages->usable_bytes;
    const uint32_t local = local_bytes(pages, n_bytes, is_table);
    if (local + (local < n_bytes ? 4 : 0) > (uint64_t)(end - at)) {
        return false;
    }
    memcpy(pages->payload, at, local);
    uint32_t next = local < n_bytes ? big_endian(at + local, 4) : 0;
    for (uint32_t done = local; done < n_bytes;) {
        const uint32_t left = n_bytes - done, piece = pages->usable_bytes - 4;
        if (!read_page(pages, next, pages->more)) {
            return false;
        }
        memcpy(pages->payload + done, pages->more + 4, left < piece ? left : piece);
        done += left < piece ? left : piece;
        next = big_endian(pages->more, 4);
    }
    return true;
}

static pm_status visit_cell(struct pages *pages, uint32_t offset, uint8_t kind, pm_error *error) {
    const uint8_t *at = pages->page + offset, *end = pages->page + pages->usable_bytes;
    struct pm_journal_row row = {.has_rowid = kind == PAGE_ROWS};
    uint64_t n_bytes = 0, rowid = 0;
    uint32_t step = 4;
    if (kind == PAGE_INNER) {
        at = (size_t)(end - at) > step ? at + step : end;
    }
    step = read_varint(at, end, &n_bytes);
    at += step;
    if (step != 0 && row.has_rowid) {
        step = read_varint(at, end, &rowid);
        at += step;
        row.rowid = (int64_t)rowid;
    }
    if (step == 0 || n_bytes == 0 || n_bytes > ROW_BYTES_MAX ||
        n_bytes > pages->n_pages * pages->page_bytes) {
        return PM_OK;
    }
    PM_TRY(make_room(pages, (uint32_t)n_bytes, error));
    if (gather(pages, at, (uint32_t)n_bytes, row.has_rowid) &&
        read_columns(pages, (uint32_t)n_bytes, &row)) {
        return pages->visit(pages->user, &row, error);
    }
    return PM_OK;
}

static pm_status visit_page(struct pages *pages, uint64_t number, pm_error *error) {
    const uint32_t head = number == 1 ? HEAD_BYTES : 0;
    if (!read_page(pages, number, pages->page)) {
        return PM_OK;
    }
    const uint8_t kind = pages->page[head];
    const uint32_t first = head + (kind == PAGE_INNER ? 12 : 8);
    const uint32_t n_cells = big_endian(pages->page + head + 3, 2);
    if (kind != PAGE_INNER && kind != PAGE_LEAF && kind != PAGE_ROWS) {
        return PM_OK;
    }
    for (uint32_t i = 0; i < n_cells && first + 2 * i + 2 <= pages->usable_bytes; ++i) {
        const uint32_t offset = big_endian(pages->page + first + 2 * i, 2);
        if (offset >= first && offset < pages->usable_bytes) {
            PM_TRY(visit_cell(pages, offset, kind, error));
        }
    }
    return PM_OK;
}

/* ---- The file ------------------------------------------------------------------------------- */

/* Where the head of the file is damaged, the log's head may say how large pages are, and else they
 * are as large as ever. */
static void read_head(struct pages *pages, struct pm_journal_pages_facts *facts) {
    uint8_t head[HEAD_BYTES] = {0};
    (void)read_at(pages->fd, head, sizeof head, 0);
    const bool has_head = memcmp(head, "SQLite format 3", 16) == 0;
    uint32_t page_bytes = has_head ? big_endian(head + 16, 2) : 0;
    page_bytes = page_bytes == 1 ? 65536 : page_bytes;
    facts->version = has_head ? (int64_t)big_endian(head + 60, 4) : -1;
    if (!has_head && pages->log_fd >= 0 && read_at(pages->log_fd, head, LOG_HEAD_BYTES, 0) &&
        (big_endian(head, 4) & ~UINT32_C(1)) == UINT32_C(0x377f0682)) {
        page_bytes = big_endian(head + 8, 4);
    }
    const bool is_sound = is_page_bytes(page_bytes);
    pages->page_bytes = is_sound ? page_bytes : USUAL_PAGE_BYTES;
    pages->usable_bytes = pages->page_bytes - (has_head && is_sound ? head[20] : 0);
    pages->usable_bytes = pages->usable_bytes < 480 ? pages->page_bytes : pages->usable_bytes;
}

static pm_status begin(struct pages *pages, struct pm_journal_pages_facts *facts, pm_error *error) {
    struct stat size;
    void *page = NULL, *more = NULL, *frames = NULL;
    uint64_t n_frames;
    if (fstat(pages->fd, &size) != 0) {
        return pm_error_set_errno(error, PM_IO, errno, NULL, "the journal cannot be looked at");
    }
    read_head(pages, facts);
    pm_status status =
        pm_memory_alloc(NULL, "page", pages->page_bytes, PM_MEMORY_PLAIN, &page, error);
    pages->page = page;
    if (status == PM_OK) {
        status = pm_memory_alloc(NULL, "page", pages->page_bytes, PM_MEMORY_PLAIN, &more, error);
        pages->more = more;
    }
    PM_TRY(status);
    pages->n_pages = (uint64_t)size.st_size / pages->page_bytes;
    const uint64_t in_log = count_frames(pages, &n_frames);
    pages->n_pages = in_log > pages->n_pages ? in_log : pages->n_pages;
    facts->n_pages = pages->n_pages;
    PM_TRY(pm_memory_alloc_array(NULL, "pages in the log", pages->n_pages + 1, sizeof(uint64_t),
                                 PM_MEMORY_PLAIN, &frames, error));
    pages->frames = frames;
    find_frames(pages, n_frames);
    return PM_OK;
}

pm_status pm_journal_pages_read(int folder_fd, const char *name, const char *log_name,
                                pm_journal_row_visitor *visit, void *user,
                                struct pm_journal_pages_facts *facts, pm_error *error) {
    struct pages pages = {.log_fd = -1, .visit = visit, .user = user};
    *facts = (struct pm_journal_pages_facts){.version = -1};
    pages.fd = openat(folder_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (pages.fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, name, "the journal cannot be opened");
    }
    pages.log_fd = openat(folder_fd, log_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    pm_status status = begin(&pages, facts, error);
    for (uint64_t number = 1; number <= pages.n_pages && status == PM_OK; ++number) {
        status = visit_page(&pages, number, error);
    }
    pm_memory_free(pages.texts);
    pm_memory_free(pages.payload);
    pm_memory_free(pages.frames);
    pm_memory_free(pages.more);
    pm_memory_free(pages.page);
    (void)close(pages.fd);
    if (pages.log_fd >= 0) {
        (void)close(pages.log_fd);
    }
    return status;
}

pm_status pm_journal_log_check(int folder_fd, const char *log_name, bool *is_damaged,
                               pm_error *error) {
    struct pages pages = {.fd = -1};
    uint8_t head[LOG_HEAD_BYTES];
    void *page = NULL;
    pm_status status = PM_OK;
    *is_damaged = false;
    pages.log_fd = openat(folder_fd, log_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (pages.log_fd < 0) {
        return PM_OK;
    }
    pages.page_bytes = read_at(pages.log_fd, head, sizeof head, 0) ? big_endian(head + 8, 4) : 0;
    if (is_page_bytes(pages.page_bytes)) {
        status = pm_memory_alloc(NULL, "page", pages.page_bytes, PM_MEMORY_PLAIN, &page, error);
    }
    if (page != NULL) {
        pages.page = page;
        *is_damaged = count_stranded(&pages) > 1;
    }
    pm_memory_free(page);
    (void)close(pages.log_fd);
    return status;
}
