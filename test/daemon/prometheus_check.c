/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "prometheus_check.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define FAMILIES_MAX 512
#define SERIES_MAX 20000
#define LABELS_MAX 8

struct family {
    char name[128], type[16];
    bool has_help, has_type, has_samples;
};

struct sample {
    char name[128], le[32], others[512]; /* the labels but le, in order of name */
    char names[LABELS_MAX][64];
    uint32_t n_labels;
    double value;
};

struct check {
    struct family families[FAMILIES_MAX];
    uint32_t n_families;
    struct family *now; /* whose samples stand here */
    char *series[SERIES_MAX];
    uint32_t n_series;
    /* Of the histogram whose buckets are being read. */
    char bucket_of[700];
    double bucket_le, bucket_value;
    bool bucket_is_open;
};

static char fault[512];

__attribute__((format(printf, 1, 2))) static bool wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(fault, sizeof fault, format, arguments);
    va_end(arguments);
    return false;
}

/* [a-zA-Z_:][a-zA-Z0-9_:]*; labels without the colon. */
static bool take_name(const char **at, bool is_label, char *out, size_t out_bytes) {
    size_t n = 0;
    while (isalpha((unsigned char)(*at)[n]) || (*at)[n] == '_' || (!is_label && (*at)[n] == ':') ||
           (n > 0 && isdigit((unsigned char)(*at)[n]))) {
        ++n;
    }
    if (n == 0 || n >= out_bytes) {
        return wrong("a name is missing or too long at \"%.40s\"", *at);
    }
    memcpy(out, *at, n);
    out[n] = '\0';
    *at += n;
    return true;
}

static bool take_value(const char **at, char *out, size_t out_bytes) {
    size_t n = 0;
    if (*(*at)++ != '"') {
        return wrong("a label's value has no quote");
    }
    for (; **at != '"'; ++*at) {
        char c = **at;
        if (c == '\0') {
            return wrong("a label's value does not end");
        }
        if (c == '\\') {
            c = *++*at;
            if (c != '\\' && c != '"' && c != 'n') {
                return wrong("\\%c is no escape", c);
            }
            c = c == 'n' ? '\n' : c;
        }
        if (n + 1 >= out_bytes) {
            return wrong("a label's value is too long");
        }
        out[n++] = c;
    }
    out[n] = '\0';
    ++*at;
    return true;
}

static bool take_labels(const char **at, struct sample *sample) {
    if (**at != '{') {
        return true;
    }
    for (++*at; **at != '}';) {
        char value[400], *name = sample->names[sample->n_labels];
        if (sample->n_labels + 1 >= LABELS_MAX || !take_name(at, true, name, 64)) {
            return wrong("too many labels, or none at \"%.40s\"", *at);
        }
        for (uint32_t i = 0; i < sample->n_labels; ++i) {
            if (strcmp(sample->names[i], name) == 0) {
                return wrong("label %s twice", name);
            }
        }
        if (*(*at)++ != '=') {
            return wrong("label %s has no value", name);
        }
        if (!take_value(at, value, sizeof value)) {
            return false;
        }
        if (strcmp(name, "le") == 0) {
            (void)snprintf(sample->le, sizeof sample->le, "%.31s", value);
        } else {
            const size_t n = strlen(sample->others);
            (void)snprintf(sample->others + n, sizeof sample->others - n, "%s=%s;", name, value);
        }
        ++sample->n_labels;
        if (**at == ',') {
            ++*at;
        } else if (**at != '}') {
            return wrong("after label %s comes '%c'", name, **at);
        }
    }
    ++*at;
    return true;
}

static bool take_number(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    if (end == text || *end != '\0' || strspn(text, "+-.0123456789eEINFinfNa") != strlen(text)) {
        return wrong("\"%.40s\" is no number", text);
    }
    return true;
}

static struct family *family_of(struct check *check, const char *name) {
    for (uint32_t i = 0; i < check->n_families; ++i) {
        if (strcmp(check->families[i].name, name) == 0) {
            return &check->families[i];
        }
    }
    return NULL;
}

/* "# HELP name text" and "# TYPE name type". */
static bool take_comment(struct check *check, const char *line) {
    const bool is_help = strncmp(line, "# HELP ", 7) == 0;
    char name[128];
    if (!is_help && strncmp(line, "# TYPE ", 7) != 0) {
        return true; /* a comment for people */
    }
    line += 7;
    if (!take_name(&line, false, name, sizeof name) || *line++ != ' ' || *line == '\0') {
        return wrong("HELP or TYPE of \"%s\" says nothing", name);
    }
    struct family *family = family_of(check, name);
    if (family == NULL) {
        if (check->n_families == FAMILIES_MAX) {
            return wrong("too many families");
        }
        family = &check->families[check->n_families++];
        (void)snprintf(family->name, sizeof family->name, "%s", name);
    }
    if (family->has_samples || (is_help ? family->has_help : family->has_type)) {
        return wrong("%s: HELP or TYPE twice, or behind samples", name);
    }
    if (is_help) {
        family->has_help = true;
        return true;
    }
    family->has_type = true;
    (void)snprintf(family->type, sizeof family->type, "%s", line);
    const size_t n = strlen(name);
    if (strcmp(line, "counter") == 0 && (n < 6 || strcmp(name + n - 6, "_total") != 0)) {
        return wrong("counter %s does not end in _total", name);
    }
    return strcmp(line, "counter") == 0 || strcmp(line, "gauge") == 0 ||
           strcmp(line, "histogram") == 0 || strcmp(line, "summary") == 0 ||
           strcmp(line, "untyped") == 0 || wrong("%s has type \"%s\"", name, line);
}

/* The family that a sample belongs to, and what of it the sample is: "", "_bucket", ... */
static struct family *owner(struct check *check, const struct sample *sample, const char **suffix) {
    static const char *const suffixes[] = {"_bucket", "_sum", "_count"};
    char base[128];
    *suffix = "";
    struct family *family = family_of(check, sample->name);
    for (uint32_t i = 0; family == NULL && i < 3; ++i) {
        const size_t n = strlen(sample->name), n_suffix = strlen(suffixes[i]);
        if (n > n_suffix && strcmp(sample->name + n - n_suffix, suffixes[i]) == 0) {
            (void)snprintf(base, sizeof base, "%.*s", (int)(n - n_suffix), sample->name);
            family = family_of(check, base);
            *suffix = suffixes[i];
            if (family != NULL && strcmp(family->type, "histogram") != 0) {
                family = NULL;
            }
        }
    }
    return family;
}

static bool check_histogram(struct check *check, const struct sample *sample, const char *suffix) {
    char of[700];
    (void)snprintf(of, sizeof of, "%s|%s", check->now->name, sample->others);
    if (strcmp(suffix, "_bucket") == 0) {
        double le;
        if (!take_number(sample->le, &le)) {
            return false;
        }
        const bool goes_on = check->bucket_is_open && strcmp(of, check->bucket_of) == 0;
        if (goes_on && (le <= check->bucket_le || sample->value < check->bucket_value)) {
            return wrong("%s: buckets are not in order", of);
        }
        if (check->bucket_is_open && !goes_on) {
            return wrong("%s: buckets do not end with +Inf", check->bucket_of);
        }
        (void)snprintf(check->bucket_of, sizeof check->bucket_of, "%s", of);
        check->bucket_le = le;
        check->bucket_value = sample->value;
        check->bucket_is_open = !isinf(le);
        return true;
    }
    if (strcmp(suffix, "_count") == 0 &&
        (strcmp(of, check->bucket_of) != 0 || sample->value != check->bucket_value)) {
        return wrong("%s: the count is not that of the bucket +Inf", of);
    }
    return suffix[0] != '\0' || wrong("%s: a sample that is no part of a histogram", of);
}

static bool remember(struct check *check, const struct sample *sample) {
    char series[800];
    (void)snprintf(series, sizeof series, "%s{%sle=%s}", sample->name, sample->others, sample->le);
    for (uint32_t i = 0; i < check->n_series; ++i) {
        if (strcmp(check->series[i], series) == 0) {
            return wrong("%s stands there twice", series);
        }
    }
    if (check->n_series == SERIES_MAX) {
        return wrong("too many series");
    }
    check->series[check->n_series] = strdup(series);
    return check->series[check->n_series++] != NULL || wrong("no memory");
}

static bool take_sample(struct check *check, const char *line) {
    struct sample sample = {0};
    const char *suffix;
    if (!take_name(&line, false, sample.name, sizeof sample.name) || !take_labels(&line, &sample)) {
        return false;
    }
    if (*line++ != ' ') {
        return wrong("%s has no value", sample.name);
    }
    if (!take_number(line, &sample.value)) {
        return false;
    }
    struct family *family = owner(check, &sample, &suffix);
    if (family == NULL || !family->has_help || !family->has_type) {
        return wrong("%s has no HELP or no TYPE", sample.name);
    }
    if (family != check->now && family->has_samples) {
        return wrong("%s: samples stand apart", sample.name);
    }
    check->now = family;
    family->has_samples = true;
    if (strcmp(family->type, "histogram") == 0 && !check_histogram(check, &sample, suffix)) {
        return false;
    }
    if (strcmp(family->type, "counter") == 0 && !(sample.value >= 0)) {
        return wrong("counter %s is negative", sample.name);
    }
    return remember(check, &sample);
}

static bool take_lines(struct check *check, char *text, size_t n_bytes) {
    if (n_bytes == 0 || text[n_bytes - 1] != '\n' || strlen(text) != n_bytes) {
        return wrong("the text is empty, holds a NUL, or its last line does not end");
    }
    for (char *line = text; *line != '\0';) {
        char *end = strchr(line, '\n');
        *end = '\0';
        if (line[0] == '#' ? !take_comment(check, line)
                           : line[0] != '\0' && !take_sample(check, line)) {
            return false;
        }
        line = end + 1;
    }
    return !check->bucket_is_open || wrong("%s: no bucket +Inf", check->bucket_of);
}

const char *prometheus_fault(const char *text, size_t n_bytes) {
    struct check *check = calloc(1, sizeof *check);
    char *copy = malloc(n_bytes + 1);
    assert_non_null(check);
    assert_non_null(copy);
    memcpy(copy, text, n_bytes);
    copy[n_bytes] = '\0';
    const bool is_well = take_lines(check, copy, n_bytes);
    for (uint32_t i = 0; i < check->n_series; ++i) {
        free(check->series[i]);
    }
    free(check);
    free(copy);
    return is_well ? NULL : fault;
}

void prometheus_check(const char *text, size_t n_bytes) {
    const char *why = prometheus_fault(text, n_bytes);
    if (why != NULL) {
        fail_msg("%s", why);
    }
}
