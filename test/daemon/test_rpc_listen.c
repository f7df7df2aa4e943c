/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Addresses: sockets and who may use them, TLS and whom it lets in. */
#include "daemon/rpc_case.h"
#include "engine/engine_case.h"

#include "support/file_builder.h"
#include "support/toy_circuits.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

static int open_all(void **state) {
    (void)state;
    grpc_init();
    return 0;
}

static int close_all(void **state) {
    (void)state;
    grpc_shutdown_blocking();
    return 0;
}

/* Starts a server on one address; its status, and the sentence. */
static pm_status start_on(struct rpc_case *it, struct pm_rpc_options options, const char *address,
                          char sentence[800]) {
    pm_error error = PM_ERROR_INIT;
    const char *listen[] = {address};
    options.listen = listen;
    const pm_status status = pm_rpc_start(&options, &it->server, &error);
    (void)snprintf(sentence, 800, "%s %s", status != PM_OK ? error.message : "",
                   status != PM_OK ? error.file : "");
    return status;
}

static void stop(struct rpc_case *it) {
    pm_rpc_stop(it->server, 0);
    pm_rpc_destroy(it->server);
    it->server = NULL;
}

static mode_t mode_of(const char *path) {
    struct stat info;
    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode;
}

/* ---- Unix sockets ---------------------------------------------------------------------------- */

static void a_socket_is_for_its_user_alone(void **state) {
    (void)state;
    struct rpc_case it = {0};
    struct pm_rpc_options options = rpc_case_options(&it);
    char path[120], address[140], folder[110], sentence[800];
    (void)snprintf(folder, sizeof folder, "%s/made here", it.tree);
    (void)snprintf(path, sizeof path, "%s/a%%b", folder);
    (void)snprintf(address, sizeof address, "unix://%s", path);
    const mode_t mask = umask(0);
    assert_int_equal(start_on(&it, options, address, sentence), PM_OK);
    (void)umask(mask);
    assert_int_equal(mode_of(path), S_IFSOCK | 0600);
    assert_int_equal(mode_of(folder), S_IFDIR | 0700);
    assert_int_equal(pm_rpc_port(it.server, 0), 0);
    (void)snprintf(address, sizeof address, "unix:%s/made%%20here/a%%25b", it.tree);
    grpc_channel *channel = rpc_dial(address, NULL);
    uint8_t *reply = NULL;
    size_t n_reply = 0;
    assert_int_equal(rpc_dial_unary(channel, "/test/Local", 0, "", 0, &reply, &n_reply, NULL), 0);
    assert_int_equal(reply[0], 1);
    free(reply);
    grpc_channel_destroy(channel);
    stop(&it);
    assert_int_equal(access(path, F_OK), -1); /* removed */
    rpc_case_close(&it);
}

static void a_stale_socket_is_replaced_and_a_live_one_is_not(void **state) {
    (void)state;
    struct rpc_case it = {0};
    struct rpc_case second = {0};
    char sentence[800];
    struct pm_rpc_options options = rpc_case_options(&it);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int dead = socket(AF_UNIX, SOCK_STREAM, 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", it.socket);
    assert_int_equal(bind(dead, (const struct sockaddr *)&address, sizeof address), 0);
    (void)close(dead);
    assert_int_equal(start_on(&it, options, it.address, sentence), PM_OK);
    grpc_channel *channel = rpc_dial(it.address, NULL);
    rpc_case_expect_serving(channel);

    assert_int_equal(start_on(&second, options, it.address, sentence), PM_IO);
    assert_non_null(strstr(sentence, "another daemon listens on"));
    assert_non_null(strstr(sentence, it.socket));
    assert_null(second.server);
    rpc_case_expect_serving(channel); /* and is not disturbed */
    grpc_channel *late = rpc_dial(it.address, NULL);
    rpc_case_expect_serving(late);
    grpc_channel_destroy(late);
    grpc_channel_destroy(channel);

    /* A socket that is another's by now is left alone. */
    assert_int_equal(unlink(it.socket), 0);
    const int other = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(other, (const struct sockaddr *)&address, sizeof address), 0);
    stop(&it);
    assert_int_equal(access(it.socket, F_OK), 0);
    (void)close(other);
    rpc_case_close(&it);
}

static void what_is_no_socket_stays(void **state) {
    (void)state;
    struct rpc_case it = {0};
    char sentence[800];
    const struct pm_rpc_options options = rpc_case_options(&it);
    file_write(it.socket, "precious", 8);
    assert_int_equal(start_on(&it, options, it.address, sentence), PM_IO);
    assert_non_null(strstr(sentence, "is no socket"));
    assert_int_equal(mode_of(it.socket) & S_IFMT, S_IFREG);
    rpc_case_close(&it);
}

/* Who owns the folder could put a socket of their own in the place of ours. */
static void a_strangers_folder_is_not_used(void **state) {
    (void)state;
    struct rpc_case it = {0};
    char folder[110], address[130], sentence[800];
    const struct pm_rpc_options options = rpc_case_options(&it);
    (void)snprintf(folder, sizeof folder, "%s/theirs", it.tree);
    (void)snprintf(address, sizeof address, "unix:%s/s", folder);
    assert_int_equal(mkdir(folder, 0777), 0);
    if (geteuid() != 0 || chown(folder, 4321, 4321) != 0) {
        rpc_case_close(&it);
        skip(); /* only root can make one */
    }
    assert_int_equal(start_on(&it, options, address, sentence), PM_IO);
    assert_non_null(strstr(sentence, "belongs to user 4321"));
    rpc_case_close(&it);
}

static void bad_addresses_are_told(void **state) {
    (void)state;
    static const char *const addresses[] = {
        "",          "unix:",      "unix:/tmp/",  "9820",
        ":9820",     "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536",
        "[::1]9820", "::1:9820",   "[::1:9820",   "127.0.0.1:-1",
        "[]:1",      "unix://",    "localhost",
    };
    struct rpc_case it = {0};
    char sentence[800];
    const struct pm_rpc_options options = rpc_case_options(&it);
    for (size_t i = 0; i < sizeof addresses / sizeof addresses[0]; ++i) {
        assert_int_equal(start_on(&it, options, addresses[i], sentence), PM_INVALID_ARGUMENT);
        assert_non_null(strstr(sentence, addresses[i]));
    }
    char path[200];
    (void)snprintf(path, sizeof path, "unix:/tmp/%0120d", 1);
    assert_int_equal(start_on(&it, options, path, sentence), PM_INVALID_ARGUMENT);
    assert_non_null(strstr(sentence, "107"));
    assert_int_equal(start_on(&it, options, "unix:/no/such/folder/s", sentence), PM_IO);
    assert_int_equal(start_on(&it, options, "no-such-host.invalid:1", sentence), PM_IO);
    rpc_case_close(&it);
}

/* ---- TCP ------------------------------------------------------------------------------------- */

static void tcp_serves_loopback(void **state) {
    (void)state;
    static const char *const addresses[] = {"127.0.0.1:0", "localhost:0", "[::1]:0"};
    struct rpc_case it = {0};
    char sentence[800], address[64];
    const struct pm_rpc_options options = rpc_case_options(&it);
    for (int i = 0; i < 3; ++i) {
        const pm_status status = start_on(&it, options, addresses[i], sentence);
        if (status != PM_OK && i == 2) {
            continue; /* a machine without IPv6 */
        }
        assert_int_equal(status, PM_OK);
        const unsigned port = pm_rpc_port(it.server, 0);
        assert_true(port != 0);
        (void)snprintf(address, sizeof address, i == 2 ? "[::1]:%u" : "127.0.0.1:%u", port);
        grpc_channel *channel = rpc_dial(address, NULL);
        uint8_t *reply = NULL;
        size_t n_reply = 0;
        rpc_case_expect_serving(channel);
        assert_int_equal(rpc_dial_unary(channel, "/test/Local", 0, "", 0, &reply, &n_reply, NULL),
                         0);
        assert_int_equal(reply[0], 0);
        free(reply);
        grpc_channel_destroy(channel);

        struct rpc_case second = {0};
        (void)snprintf(address, sizeof address, i == 2 ? "[::1]:%u" : "127.0.0.1:%u", port);
        if (i != 1) {
            assert_int_equal(start_on(&second, options, address, sentence), PM_IO);
            assert_non_null(strstr(sentence, "Address already in use"));
            assert_non_null(strstr(sentence, address));
        }
        stop(&it);
    }
    rpc_case_close(&it);
}

static void tcp_beyond_loopback_must_be_wanted(void **state) {
    (void)state;
    struct rpc_case it = {0};
    char sentence[800];
    struct pm_rpc_options options = rpc_case_options(&it);
    static const char *const addresses[] = {"0.0.0.0:0", "[::]:0", "8.8.8.8:0"};
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(start_on(&it, options, addresses[i], sentence), PM_INVALID_ARGUMENT);
        assert_non_null(strstr(sentence, addresses[i]));
        assert_non_null(strstr(sentence, "insecure_listen"));
    }
    options.insecure_listen = true;
    assert_int_equal(start_on(&it, options, "0.0.0.0:0", sentence), PM_OK);
    stop(&it);
    rpc_case_close(&it);
}

static void several_addresses_serve_at_once(void **state) {
    (void)state;
    struct rpc_case it = {0};
    char sentence[800], address[64];
    struct pm_rpc_options options = rpc_case_options(&it);
    const char *both[] = {it.address, "127.0.0.1:0"};
    options.listen = both;
    options.n_listen = 2;
    rpc_case_open_with(&it, &options);
    (void)snprintf(address, sizeof address, "127.0.0.1:%u", pm_rpc_port(it.server, 1));
    for (int i = 0; i < 2; ++i) {
        grpc_channel *channel = rpc_dial(i == 0 ? it.address : address, NULL);
        uint8_t *reply = NULL;
        size_t n_reply = 0;
        assert_int_equal(
            rpc_dial_unary(channel, "/test/Local", 0, "", 0, &reply, &n_reply, sentence), 0);
        assert_int_equal(reply[0], i == 0);
        free(reply);
        grpc_channel_destroy(channel);
    }
    rpc_case_close(&it);
}

/* ---- TLS ------------------------------------------------------------------------------------- */

struct certificates {
    char path[16][160];
};
enum {
    CA,
    CA_KEY,
    SERVER,
    SERVER_KEY,
    CLIENT,
    CLIENT_KEY,
    OTHER_CA,
    OTHER_CA_KEY,
    STRANGER,
    STRANGER_KEY
};

static void run(const char *format, const char *a, const char *b, const char *c, const char *d) {
    char command[1024];
    (void)snprintf(command, sizeof command, format, a, b, c, d);
    if (system(command) != 0) {
        fail_msg("%s", command);
    }
}

static void sign(const struct certificates *pem, int ca, int which, const char *name,
                 const char *tree) {
    char request[200];
    (void)snprintf(request, sizeof request, "%s/request.pem", tree);
    run("openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=%s -keyout %s "
        "-out %s -addext subjectAltName=DNS:localhost,IP:127.0.0.1 2>%s/openssl.log",
        name, pem->path[which + 1], request, tree);
    run("openssl x509 -req -in %s -CA %s -CAkey %s -days 2 -copy_extensions copy "
        "-set_serial $$ -out %s 2>/dev/null",
        request, pem->path[ca], pem->path[ca + 1], pem->path[which]);
}

static void make_certificates(const char *tree, struct certificates *pem) {
    for (int i = 0; i < 16; ++i) {
        (void)snprintf(pem->path[i], sizeof pem->path[i], "%s/%d.pem", tree, i);
    }
    for (int ca = CA; ca <= OTHER_CA; ca += OTHER_CA - CA) {
        run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 "
            "-subj /CN=%s -keyout %s -out %s 2>%s/openssl.log",
            ca == CA ? "ca" : "other", pem->path[ca + 1], pem->path[ca], tree);
    }
    sign(pem, CA, SERVER, "localhost", tree);
    sign(pem, CA, CLIENT, "client", tree);
    sign(pem, OTHER_CA, STRANGER, "stranger", tree);
}

static int call_with(const char *address, const struct rpc_trust *trust) {
    grpc_channel *channel = rpc_dial(address, trust);
    const int code = rpc_dial_unary(channel, "/test/Echo", 5000, "hello", 5, NULL, NULL, NULL);
    grpc_channel_destroy(channel);
    return code;
}

static void tls_lets_in_whom_it_should(void **state) {
    (void)state;
    struct rpc_case it = {0};
    struct certificates pem;
    char sentence[800], address[64];
    struct pm_rpc_options options = rpc_case_options(&it);
    make_certificates(it.tree, &pem);
    const struct rpc_trust good = {pem.path[CA], pem.path[CLIENT], pem.path[CLIENT_KEY]};
    const struct rpc_trust none = {.roots = pem.path[CA]};
    const struct rpc_trust stranger = {pem.path[CA], pem.path[STRANGER], pem.path[STRANGER_KEY]};
    const struct rpc_trust doubter = {pem.path[OTHER_CA], pem.path[CLIENT], pem.path[CLIENT_KEY]};
    options.tls_certificate = pem.path[SERVER];
    options.tls_key = pem.path[SERVER_KEY];
    assert_int_equal(start_on(&it, options, "0.0.0.0:0", sentence), PM_INVALID_ARGUMENT);
    assert_non_null(strstr(sentence, "client_ca"));
    for (int mutual = 0; mutual < 2; ++mutual) {
        options.tls_client_ca = mutual ? pem.path[CA] : NULL;
        assert_int_equal(start_on(&it, options, mutual ? "0.0.0.0:0" : "127.0.0.1:0", sentence),
                         PM_OK);
        (void)snprintf(address, sizeof address, "127.0.0.1:%u", pm_rpc_port(it.server, 0));
        assert_int_equal(call_with(address, &good), 0);
        assert_int_equal(call_with(address, &none), mutual ? PM_RPC_UNAVAILABLE : 0);
        assert_int_equal(call_with(address, &stranger), mutual ? PM_RPC_UNAVAILABLE : 0);
        assert_int_equal(call_with(address, &doubter), PM_RPC_UNAVAILABLE);
        assert_true(call_with(address, NULL) != 0); /* no TLS at all */
        assert_int_equal(call_with(address, &good), 0);
        grpc_channel *channel = rpc_dial(address, &good);
        uint8_t *reply = NULL;
        size_t n_reply = 0;
        assert_int_equal(rpc_dial_unary(channel, "/test/Local", 0, "", 0, &reply, &n_reply, NULL),
                         0);
        assert_int_equal(reply[0], 0);
        free(reply);
        grpc_channel_destroy(channel);
        stop(&it);
    }
    rpc_case_close(&it);
}

static void bad_certificates_are_told(void **state) {
    (void)state;
    struct rpc_case it = {0};
    struct certificates pem;
    char sentence[800];
    struct pm_rpc_options options = rpc_case_options(&it);
    make_certificates(it.tree, &pem);
    options.tls_certificate = pem.path[SERVER];
    options.tls_key = NULL;
    assert_int_equal(start_on(&it, options, "127.0.0.1:0", sentence), PM_INVALID_ARGUMENT);
    options.tls_key = "/no/such/key.pem";
    assert_int_equal(start_on(&it, options, "127.0.0.1:0", sentence), PM_IO);
    assert_non_null(strstr(sentence, "/no/such/key.pem"));
    options.tls_key = pem.path[CLIENT_KEY]; /* another's */
    assert_int_equal(start_on(&it, options, "127.0.0.1:0", sentence), PM_ENCODING);
    assert_non_null(strstr(sentence, pem.path[CLIENT_KEY]));
    file_write(pem.path[CLIENT_KEY], "no key", 6);
    assert_int_equal(start_on(&it, options, "127.0.0.1:0", sentence), PM_ENCODING);
    assert_non_null(strstr(sentence, "PEM"));
    options.tls_certificate = NULL;
    assert_int_equal(start_on(&it, options, "127.0.0.1:0", sentence), PM_INVALID_ARGUMENT);
    rpc_case_close(&it);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_for_its_user_alone),
        cmocka_unit_test(a_stale_socket_is_replaced_and_a_live_one_is_not),
        cmocka_unit_test(what_is_no_socket_stays),
        cmocka_unit_test(a_strangers_folder_is_not_used),
        cmocka_unit_test(bad_addresses_are_told),
        cmocka_unit_test(tcp_serves_loopback),
        cmocka_unit_test(tcp_beyond_loopback_must_be_wanted),
        cmocka_unit_test(several_addresses_serve_at_once),
        cmocka_unit_test(tls_lets_in_whom_it_should),
        cmocka_unit_test(bad_certificates_are_told),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
