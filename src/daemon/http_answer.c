/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * daemon/http_answer.c - which path is answered with what.
 *
 * No answer allows other origins to read it. cuzk's daemon allows all of them for its /status, but
 * a request id there names a miner, and any page that an operator opens could read it: who wants
 * that puts a proxy in front.
 */
#include "daemon/http.h"

#include "base/random.h"
#include "base/status.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NONCE_BYTES 16
/* Stands in page.html where the nonce of this answer goes, which is as long. */
#define NONCE_MARK "0123456789abcdef0123456789abcdef"

struct answer {
    unsigned code;
    const char *type;
    char *text; /* freed with free() */
    size_t n_bytes;
    char nonce[2 * NONCE_BYTES + 1]; /* of the page's script and style; "": neither */
};

static const char plain_type[] = "text/plain; charset=utf-8";
static const char json_type[] = "application/json";

/* ---- The page ------------------------------------------------------------------------------- */

static pm_status make_nonce(char out[2 * NONCE_BYTES + 1], pm_error *error) {
    uint8_t bytes[NONCE_BYTES];
    PM_TRY(pm_random_bytes(bytes, sizeof bytes, error));
    for (size_t i = 0; i < sizeof bytes; ++i) {
        (void)snprintf(out + 2 * i, 3, "%02x", bytes[i]);
    }
    return PM_OK;
}

/* Script and style are in the page itself, and run because they carry this answer's nonce. */
static pm_status answer_page(struct answer *answer, pm_error *error) {
    const size_t n_bytes = (size_t)(pm_page_end - pm_page);
    char *text = malloc(n_bytes + 1);
    PM_FAIL_IF(text == NULL, error, PM_NO_MEMORY, "no memory for the page");
    memcpy(text, pm_page, n_bytes);
    text[n_bytes] = '\0';
    answer->text = text;
    answer->n_bytes = n_bytes;
    answer->type = "text/html; charset=utf-8";
    PM_TRY(make_nonce(answer->nonce, error));
    for (char *mark = strstr(text, NONCE_MARK); mark != NULL; mark = strstr(mark, NONCE_MARK)) {
        memcpy(mark, answer->nonce, 2 * NONCE_BYTES);
    }
    return PM_OK;
}

/* ---- Other paths ---------------------------------------------------------------------------- */

static pm_status answer_sentence(struct answer *answer, unsigned code, const char *sentence) {
    const size_t n_bytes = strlen(sentence) + 1;
    char *text = malloc(n_bytes + 1);
    if (text == NULL) {
        return PM_NO_MEMORY;
    }
    (void)snprintf(text, n_bytes + 1, "%s\n", sentence);
    answer->code = code;
    answer->type = plain_type;
    answer->text = text;
    answer->n_bytes = n_bytes;
    return PM_OK;
}

static pm_status answer_health(struct pm_http_server *server, struct answer *answer) {
    char reason[256];
    const bool is_healthy = pm_is_healthy(server->daemon, reason, sizeof reason);
    return answer_sentence(answer, is_healthy ? MHD_HTTP_OK : MHD_HTTP_SERVICE_UNAVAILABLE,
                           is_healthy ? "ok" : reason);
}

/* ?after=N; not there: 0. False: it is no number. */
static bool read_after(struct MHD_Connection *connection, uint64_t *after) {
    const char *text = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "after");
    *after = 0;
    if (text == NULL) {
        return true;
    }
    if (*text == '\0' || strlen(text) > 18 || strspn(text, "0123456789") != strlen(text)) {
        return false;
    }
    *after = strtoull(text, NULL, 10);
    return true;
}

static pm_status answer_sequence(struct pm_http_server *server, struct MHD_Connection *connection,
                                 bool is_history, struct answer *answer, pm_error *error) {
    uint64_t after;
    if (!read_after(connection, &after)) {
        return answer_sentence(answer, MHD_HTTP_BAD_REQUEST,
                               "\"after\" is no number of at most 18 digits");
    }
    answer->type = json_type;
    return is_history
               ? pm_http_history_json(&server->history, server->daemon, after, &answer->text,
                                      &answer->n_bytes, error)
               : pm_events_json(server->daemon, after, &answer->text, &answer->n_bytes, error);
}

static pm_status answer_path(struct pm_http_server *server, struct MHD_Connection *connection,
                             const char *path, struct answer *answer, pm_error *error) {
    if (strcmp(path, "/") == 0) {
        return answer_page(answer, error);
    }
    if (strcmp(path, "/metrics") == 0) {
        answer->type = "text/plain; version=0.0.4; charset=utf-8";
        return pm_metrics_text(server->daemon, &answer->text, &answer->n_bytes, error);
    }
    if (strcmp(path, "/status") == 0) {
        answer->type = json_type;
        return pm_status_json(server->daemon, &server->floor, &answer->text, &answer->n_bytes,
                              error);
    }
    if (strcmp(path, "/healthz") == 0) {
        return answer_health(server, answer);
    }
    if (strcmp(path, "/events") == 0 || strcmp(path, "/history") == 0) {
        return answer_sequence(server, connection, path[1] == 'h', answer, error);
    }
    return answer_sentence(answer, MHD_HTTP_NOT_FOUND,
                           "there is nothing here: try /, /metrics, /status, /events, /history "
                           "or /healthz");
}

/* ---- What is refused ------------------------------------------------------------------------ */

struct hosts {
    const struct pm_http_address *address;
    uint32_t n, n_strange;
};

static enum MHD_Result see_header(void *user, enum MHD_ValueKind kind, const char *name,
                                  const char *value) {
    struct hosts *hosts = user;
    (void)kind;
    if (strcasecmp(name, MHD_HTTP_HEADER_HOST) == 0) {
        ++hosts->n;
        hosts->n_strange += value == NULL || !pm_http_host_is_ours(hosts->address, value);
    }
    return MHD_YES;
}

static bool has_body(struct MHD_Connection *connection) {
    const char *length =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_LENGTH);
    return (length != NULL && strcmp(length, "0") != 0) ||
           MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
                                       MHD_HTTP_HEADER_TRANSFER_ENCODING) != NULL;
}

/* The sentence of what is wrong with a request, and its code; NULL: nothing. Clients of HTTP/1.0
 * name no Host, and browsers always do. */
static const char *refusal(struct pm_http_server *server, struct MHD_Connection *connection,
                           const char *method, unsigned *code) {
    struct hosts hosts = {.address = &server->address};
    (void)MHD_get_connection_values(connection, MHD_HEADER_KIND, see_header, &hosts);
    if (hosts.n > 1) {
        *code = MHD_HTTP_BAD_REQUEST;
        return "a request has one Host";
    }
    if (hosts.n_strange != 0) {
        *code = MHD_HTTP_MISDIRECTED_REQUEST;
        return "this server is not known by that name: use its address in numbers, or localhost";
    }
    if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
        *code = MHD_HTTP_METHOD_NOT_ALLOWED;
        return "only GET and HEAD: jobs are submitted over gRPC";
    }
    if (has_body(connection)) {
        *code = MHD_HTTP_CONTENT_TOO_LARGE;
        return "a GET has no body";
    }
    return NULL;
}

/* ---- Sending -------------------------------------------------------------------------------- */

static bool add_headers(struct MHD_Response *response, const struct answer *answer) {
    static const char *const headers[][2] = {
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Cross-Origin-Opener-Policy", "same-origin"},
        {MHD_HTTP_HEADER_CACHE_CONTROL, "no-store"},
    };
    char policy[400] = "default-src 'none'; frame-ancestors 'none'";
    if (answer->nonce[0] != '\0') {
        (void)snprintf(policy, sizeof policy,
                       "default-src 'none'; connect-src 'self'; script-src 'nonce-%s'; "
                       "style-src 'nonce-%s'; img-src data:; base-uri 'none'; "
                       "form-action 'none'; frame-ancestors 'none'",
                       answer->nonce, answer->nonce);
    }
    bool ok =
        MHD_add_response_header(response, "Content-Security-Policy", policy) == MHD_YES &&
        MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, answer->type) == MHD_YES;
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; ++i) {
        ok = ok && MHD_add_response_header(response, headers[i][0], headers[i][1]) == MHD_YES;
    }
    if (answer->code == MHD_HTTP_METHOD_NOT_ALLOWED) {
        ok = ok && MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD") == MHD_YES;
    }
    return ok;
}

/* answer->text is taken. MHD_NO closes the connection. */
static enum MHD_Result send_answer(struct MHD_Connection *connection, struct answer *answer) {
    enum MHD_Result result = MHD_NO;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(answer->n_bytes, answer->text, MHD_RESPMEM_MUST_FREE);
    if (response == NULL) {
        free(answer->text);
        return MHD_NO;
    }
    if (add_headers(response, answer)) {
        result = MHD_queue_response(connection, answer->code, response);
    }
    MHD_destroy_response(response);
    return result;
}

int pm_http_answer(struct pm_http_server *server, void *handle, const char *path,
                   const char *method, void **seen) {
    struct MHD_Connection *connection = handle;
    struct answer answer = {.code = MHD_HTTP_OK};
    pm_error error = PM_ERROR_INIT;
    pm_status status;
    if (*seen == NULL) { /* the headers are there; an answer now is the connection's last */
        const char *sentence = refusal(server, connection, method, &answer.code);
        *seen = server;
        if (sentence == NULL) {
            return MHD_YES;
        }
        status = answer_sentence(&answer, answer.code, sentence);
    } else {
        status = answer_path(server, connection, path, &answer, &error);
        if (status != PM_OK) {
            free(answer.text);
            answer = (struct answer){0};
            status = answer_sentence(&answer, MHD_HTTP_INTERNAL_SERVER_ERROR, error.message);
        }
    }
    return status == PM_OK ? (int)send_answer(connection, &answer) : (int)MHD_NO;
}
