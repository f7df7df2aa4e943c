/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/daemon_log.c - lines on stderr, and exit codes. */
#include "daemon/daemon_internal.h"

#include "json/exit_code.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_BYTES 2048

/* Of the process, as stderr is. Both are atomic: any thread may say something. */
static int log_level = PM_LOG_INFO;
static int log_is_journal;

/* "DEVICE:INODE" of the stream that the journal reads; stderr may be another one by now. */
static bool is_journal(const char *journal_stream) {
    struct stat about;
    char *end = NULL;
    if (journal_stream == NULL || fstat(STDERR_FILENO, &about) != 0) {
        return false;
    }
    const unsigned long long device = strtoull(journal_stream, &end, 10);
    return *end == ':' && device == (unsigned long long)about.st_dev &&
           strtoull(end + 1, NULL, 10) == (unsigned long long)about.st_ino;
}

void pm_daemon_log_open(pm_log_level level, const char *journal_stream) {
    __atomic_store_n(&log_is_journal, is_journal(journal_stream), __ATOMIC_RELAXED);
    pm_daemon_log_set_level(level);
}

void pm_daemon_log_set_level(pm_log_level level) {
    __atomic_store_n(&log_level, (int)level, __ATOMIC_RELAXED);
}

/* Names of keys and files may hold any bytes; a line stays a line. */
static void make_printable(char *text) {
    for (char *c = text; *c != '\0'; c++) {
        if ((unsigned char)*c < 0x20 || *c == 0x7f) {
            *c = '?';
        }
    }
}

/* One write for a line, so that threads do not mix theirs. */
static void put_line(char *line, size_t n_prefix) {
    make_printable(line + n_prefix);
    const size_t n = strlen(line);
    line[n] = '\n';
    if (write(STDERR_FILENO, line, n + 1) < 0) {
        return; /* nobody is left to be told */
    }
}

/* "<6>" for the journal, which has times of its own; "2026-01-31T23:59:59Z info: " for a file. */
static size_t put_prefix(pm_log_level level, char *line) {
    static const char *const names[] = {
        [PM_LOG_WARNING] = "warning", [PM_LOG_INFO] = "info", [PM_LOG_DEBUG] = "debug"};
    static const int priorities[] = {[PM_LOG_WARNING] = 4, [PM_LOG_INFO] = 6, [PM_LOG_DEBUG] = 7};
    struct timespec now;
    struct tm utc;
    char at[32] = "";
    if (__atomic_load_n(&log_is_journal, __ATOMIC_RELAXED)) {
        return (size_t)snprintf(line, LINE_BYTES, "<%d>", priorities[level]);
    }
    if (clock_gettime(CLOCK_REALTIME, &now) == 0 && gmtime_r(&now.tv_sec, &utc) != NULL) {
        (void)strftime(at, sizeof at, "%Y-%m-%dT%H:%M:%SZ ", &utc);
    }
    return (size_t)snprintf(line, LINE_BYTES, "%s%s: ", at, names[level]);
}

void pm_daemon_log(pm_log_level level, const char *format, ...) {
    char line[LINE_BYTES + 1];
    va_list arguments;
    if ((int)level > __atomic_load_n(&log_level, __ATOMIC_RELAXED) || level < PM_LOG_WARNING ||
        level > PM_LOG_DEBUG) {
        return;
    }
    const size_t n_prefix = put_prefix(level, line);
    va_start(arguments, format);
    (void)vsnprintf(line + n_prefix, LINE_BYTES - n_prefix, format, arguments);
    va_end(arguments);
    put_line(line, n_prefix);
}

void pm_daemon_log_sentence(void *user, pm_log_level level, const char *sentence) {
    (void)user;
    pm_daemon_log(level, "%s", sentence);
}

int pm_daemon_say_error(pm_status status, const pm_error *error) {
    char line[LINE_BYTES + 1];
    const bool is_journal_read = __atomic_load_n(&log_is_journal, __ATOMIC_RELAXED);
    (void)snprintf(line, LINE_BYTES, "%sproofmilld: %s%s%s%s", is_journal_read ? "<3>" : "",
                   error->file, error->file[0] != '\0' ? ": " : "",
                   error->message[0] != '\0' ? error->message : pm_status_sentence(status),
                   status == PM_INVALID_ARGUMENT ? "; see `proofmilld --help`" : "");
    put_line(line, 0);
    return pm_exit_code(status);
}
