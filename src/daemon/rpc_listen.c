/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Addresses. A unix socket is for its user alone from the moment it is there, and two daemons that
 * start at once take turns by a lock on its folder. gRPC itself listens where there is TLS.
 */
#include "daemon/rpc_internal.h"

#include "base/status.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 128
#define PATH_ROOM sizeof(((struct sockaddr_un *)NULL)->sun_path)

/* ---- Unix sockets --------------------------------------------------------------------------- */

/* The folder of a socket, which may be in no stranger's hands: who owns it can replace the socket.
 */
static pm_status make_folder(const char *folder, pm_error *error) {
    struct stat info;
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return pm_error_set_errno(error, PM_IO, errno, folder, "this folder cannot be made");
    }
    if (stat(folder, &info) != 0) {
        return pm_error_set_errno(error, PM_IO, errno, folder, "this folder cannot be used");
    }
    PM_FAIL_IF(!S_ISDIR(info.st_mode), error, PM_IO, "%s is no folder", folder);
    PM_FAIL_IF(info.st_uid != 0 && info.st_uid != geteuid(), error, PM_IO,
               "%s belongs to user %u: a socket in it would be theirs; name another folder", folder,
               (unsigned)info.st_uid);
    return PM_OK;
}

/* OK when nothing is there, or a socket that nobody listens on. */
static pm_status check_vacant(const char *path, pm_error *error) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    if (lstat(path, &info) != 0) {
        return errno == ENOENT ? PM_OK
                               : pm_error_set_errno(error, PM_IO, errno, path, "cannot be seen");
    }
    PM_FAIL_IF(!S_ISSOCK(info.st_mode), error, PM_IO,
               "%s is there and is no socket: name another address, or remove it", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return pm_error_set_errno(error, PM_IO, errno, path, "no socket can be made");
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    const int failed =
        connect(fd, (const struct sockaddr *)&address, sizeof address) == 0 ? 0 : errno;
    (void)close(fd);
    PM_FAIL_IF(failed == 0 || failed == EAGAIN, error, PM_IO,
               "another daemon listens on %s: stop it, or name another address", path);
    if (failed != ECONNREFUSED && failed != ENOENT) {
        return pm_error_set_errno(error, PM_IO, failed, path,
                                  "this socket cannot be told to be stale");
    }
    return PM_OK;
}

static struct rpc_listener *add_listener(struct pm_rpc_server *server, int fd, bool is_local) {
    struct rpc_listener *added = &server->listeners[server->n_listeners++];
    *added = (struct rpc_listener){.fd = fd, .front = &server->fronts[is_local ? 0 : 1]};
    return added;
}

/* Nobody can connect before listen(), and the mode is the file's from its first moment: Linux takes
 * it from the socket. */
static pm_status bind_unix(struct pm_rpc_server *server, const char *path, pm_error *error) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    struct stat info;
    memcpy(address.sun_path, path, strlen(path) + 1);
    char *copy = strdup(path);
    PM_FAIL_IF(copy == NULL, error, PM_NO_MEMORY, "no memory for %s", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)unlink(path);
    if (fd < 0 || fchmod(fd, 0600) != 0 ||
        bind(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        lstat(path, &info) != 0 || listen(fd, BACKLOG) != 0) {
        const int failed = errno;
        if (fd >= 0) {
            (void)close(fd);
        }
        free(copy);
        return pm_error_set_errno(error, PM_IO, failed, path, "cannot be listened on");
    }
    struct rpc_listener *listener = add_listener(server, fd, true);
    listener->path = copy;
    listener->device = info.st_dev;
    listener->inode = info.st_ino;
    return PM_OK;
}

static pm_status listen_unix(struct pm_rpc_server *server, const char *address, pm_error *error) {
    const char *path = address + (strncmp(address, "unix://", 7) == 0 ? 7 : 5);
    char folder[PATH_ROOM];
    const size_t n = strlen(path);
    PM_FAIL_IF(n == 0 || n >= PATH_ROOM || path[n - 1] == '/', error, PM_INVALID_ARGUMENT,
               "\"%s\" is no address: a socket's path has 1 to %zu characters", address,
               PATH_ROOM - 1);
    memcpy(folder, path, n + 1);
    char *slash = strrchr(folder, '/');
    if (slash == NULL) {
        memcpy(folder, ".", 2);
    } else {
        slash[slash == folder] = 0;
    }
    PM_TRY(make_folder(folder, error));
    const int lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lock < 0) {
        return pm_error_set_errno(error, PM_IO, errno, folder, "this folder cannot be opened");
    }
    (void)flock(lock, LOCK_EX);
    pm_status status = check_vacant(path, error);
    if (status == PM_OK) {
        status = bind_unix(server, path, error);
    }
    (void)close(lock);
    return status;
}

void rpc_listen_end(struct pm_rpc_server *server) {
    for (uint32_t l = 0; l < server->n_listeners; ++l) {
        struct rpc_listener *listener = &server->listeners[l];
        struct stat info;
        if (listener->path != NULL && lstat(listener->path, &info) == 0 &&
            info.st_dev == listener->device && info.st_ino == listener->inode) {
            (void)unlink(listener->path);
        }
        if (listener->fd >= 0) {
            (void)close(listener->fd);
        }
        free(listener->path);
        *listener = (struct rpc_listener){.fd = -1};
    }
    server->n_listeners = 0;
}

/* ---- TCP ------------------------------------------------------------------------------------ */

static bool is_loopback(const struct sockaddr *address) {
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)address;
        return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr) ||
               (IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr) && v6->sin6_addr.s6_addr[12] == 127);
    }
    return false;
}

/* "host:port" or "[host]:port" in two; false: it is neither. */
static bool split(const char *address, char host[256], char port[6]) {
    const char *colon = strrchr(address, ':');
    if (colon == NULL) {
        return false;
    }
    const char *begin = address;
    const char *end = colon;
    if (*begin == '[') {
        ++begin;
        --end;
        if (end <= begin || *end != ']') {
            return false;
        }
    } else if (memchr(begin, ':', (size_t)(end - begin)) != NULL) {
        return false; /* an IPv6 address without brackets */
    }
    const size_t n_host = (size_t)(end - begin);
    const size_t n_port = strlen(colon + 1);
    if (n_host == 0 || n_host >= 256 || n_port == 0 || n_port > 5 ||
        strspn(colon + 1, "0123456789") != n_port || strtoul(colon + 1, NULL, 10) > 65535) {
        return false;
    }
    memcpy(host, begin, n_host);
    host[n_host] = 0;
    memcpy(port, colon + 1, n_port + 1);
    return true;
}

/* A socket that listens on the address, or -1: errno says why. *port is the one it has. */
static int open_tcp(const struct addrinfo *info, uint16_t *port) {
    const int yes = 1;
    struct sockaddr_storage bound = {0};
    socklen_t n_bytes = sizeof bound;
    const int fd = socket(info->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return -1;
    }
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (info->ai_family == AF_INET6) {
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    }
    if (bind(fd, info->ai_addr, info->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0 ||
        getsockname(fd, (struct sockaddr *)&bound, &n_bytes) != 0) {
        const int failed = errno;
        (void)close(fd);
        errno = failed;
        return -1;
    }
    *port = ntohs(bound.ss_family == AF_INET6
                      ? ((const struct sockaddr_in6 *)(const void *)&bound)->sin6_port
                      : ((const struct sockaddr_in *)(const void *)&bound)->sin_port);
    return fd;
}

/* The same by gRPC, with TLS. It does not say why an address cannot be had, so that this is tried
 * first; 0 with errno 0 is the certificates' fault. */
static uint16_t bind_tls(struct pm_rpc_server *server, const struct addrinfo *info,
                         grpc_server_credentials *credentials) {
    char host[NI_MAXHOST];
    char port[NI_MAXSERV];
    char text[NI_MAXHOST + NI_MAXSERV + 4];
    uint16_t tried = 0;
    const int fd = open_tcp(info, &tried);
    if (fd < 0) {
        return 0;
    }
    (void)close(fd);
    if (getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        errno = EINVAL;
        return 0;
    }
    (void)snprintf(text, sizeof text, info->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host,
                   port);
    const int bound = grpc_server_add_http2_port(server->fronts[1].grpc, text, credentials);
    errno = 0;
    return (uint16_t)bound;
}

/* One address of those that a name has. */
static uint16_t bind_one(struct pm_rpc_server *server, const struct addrinfo *info,
                         grpc_server_credentials *credentials) {
    uint16_t port = 0;
    if (credentials != NULL) {
        return bind_tls(server, info, credentials);
    }
    if (server->n_listeners == RPC_SOCKETS_MAX) {
        errno = EMFILE;
        return 0;
    }
    const int fd = open_tcp(info, &port);
    if (fd >= 0) {
        (void)add_listener(server, fd, false);
    }
    return port;
}

static pm_status bind_all(struct pm_rpc_server *server, const char *address,
                          const struct addrinfo *found, const struct pm_rpc_options *options,
                          grpc_server_credentials *credentials, pm_error *error) {
    uint16_t port = 0;
    for (const struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        PM_FAIL_IF(!is_loopback(info->ai_addr) &&
                       (credentials == NULL || options->tls_client_ca == NULL) &&
                       !options->insecure_listen,
                   error, PM_INVALID_ARGUMENT,
                   "%s can be reached from other machines: give tls.certificate, tls.key and "
                   "tls.client_ca, so that clients show who they are, or say "
                   "daemon.insecure_listen = true where the network keeps strangers out",
                   address);
        const uint16_t bound = bind_one(server, info, credentials);
        const int failed = errno;
        const bool is_missing = failed == EADDRNOTAVAIL || failed == EAFNOSUPPORT;
        if (bound == 0 && !(is_missing && (port != 0 || info->ai_next != NULL))) {
            PM_FAIL_IF(failed == 0, error, PM_ENCODING,
                       "%s: certificate %s and key %s%s%s cannot be used for TLS", address,
                       options->tls_certificate, options->tls_key,
                       options->tls_client_ca != NULL ? " with client_ca " : "",
                       options->tls_client_ca != NULL ? options->tls_client_ca : "");
            return pm_error_set_errno(error, PM_IO, failed, address, "cannot be listened on");
        }
        port = port == 0 ? bound : port;
    }
    server->ports[server->n_ports] = port;
    return PM_OK;
}

static pm_status listen_tcp(struct pm_rpc_server *server, const char *address,
                            const struct pm_rpc_options *options,
                            grpc_server_credentials *credentials, pm_error *error) {
    char host[256];
    char port[6];
    PM_FAIL_IF(!split(address, host, port), error, PM_INVALID_ARGUMENT,
               "\"%s\" is no address: it is unix:///path, host:port or [host]:port", address);
    const struct addrinfo wanted = {.ai_flags = AI_NUMERICSERV, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    const int failed = getaddrinfo(host, port, &wanted, &found);
    PM_FAIL_IF(failed != 0, error, PM_IO, "%s: no address of this name: %s", address,
               gai_strerror(failed));
    const pm_status status = bind_all(server, address, found, options, credentials, error);
    freeaddrinfo(found);
    return status;
}

pm_status rpc_listen(struct pm_rpc_server *server, const struct pm_rpc_options *options,
                     pm_error *error) {
    grpc_server_credentials *credentials = NULL;
    if (options->tls_certificate != NULL) {
        PM_TRY(rpc_tls_credentials(options, &credentials, error));
    }
    pm_status status = PM_OK;
    for (uint32_t l = 0; status == PM_OK && l < options->n_listen; ++l) {
        const char *address = options->listen[l];
        if (server->n_listeners == RPC_SOCKETS_MAX) {
            status = pm_error_set(error, PM_COUNT, "%s is one socket too many: %u are possible",
                                  address, RPC_SOCKETS_MAX);
        } else if (strncmp(address, "unix:", 5) == 0) {
            status = listen_unix(server, address, error);
        } else {
            status = listen_tcp(server, address, options, credentials, error);
        }
        ++server->n_ports;
    }
    if (credentials != NULL) {
        grpc_server_credentials_release(credentials);
    }
    return status;
}
