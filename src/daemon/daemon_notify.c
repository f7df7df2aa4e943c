/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/daemon_notify.c - sd_notify(3) without its library: one datagram a message. */
#include "daemon/daemon_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

/* For how long a message waits for room in the manager's queue. */
#define PATIENCE_S 1

_Static_assert(sizeof((struct pm_notify *)NULL)->address ==
                   sizeof((struct sockaddr_un *)NULL)->sun_path,
               "an address is copied to it");

/* Twice in the time after which systemd would take us for dead. */
static uint64_t watchdog_ms(const struct pm_daemon_environment *environment) {
    if (environment->watchdog_us == NULL ||
        (environment->watchdog_pid != NULL &&
         strtoull(environment->watchdog_pid, NULL, 10) != (unsigned long long)getpid())) {
        return 0;
    }
    const uint64_t ms = strtoull(environment->watchdog_us, NULL, 10) / 2000;
    return ms < 10 ? 0 : ms;
}

void pm_notify_open(struct pm_notify *notify, const struct pm_daemon_environment *environment) {
    const char *address = environment->notify_socket;
    *notify = (struct pm_notify){.watchdog_ms = watchdog_ms(environment)};
    if (address == NULL || address[0] == '\0') {
        return;
    }
    const size_t n = strlen(address);
    if ((address[0] != '/' && address[0] != '@') || n < 2 || n >= sizeof notify->address) {
        pm_daemon_log(PM_LOG_WARNING, "NOTIFY_SOCKET is neither a path nor an abstract name");
        return;
    }
    memcpy(notify->address, address, n + 1);
}

bool pm_notify_send(const struct pm_notify *notify, const char *format, ...) {
    char message[512];
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    const size_t n_address = strlen(notify->address);
    va_list arguments;
    if (n_address == 0) {
        return true;
    }
    va_start(arguments, format);
    (void)vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    memcpy(to.sun_path, notify->address, n_address);
    if (to.sun_path[0] == '@') {
        to.sun_path[0] = '\0';
    }
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return false;
    }
    const socklen_t n_to = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n_address);
    /* The manager's queue holds ten messages by default. That a reload is over is said once, so it
     * is waited for until there is room; not for ever, as the manager may hang. */
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &(struct timeval){.tv_sec = PATIENCE_S},
                     sizeof(struct timeval));
    const ssize_t sent =
        sendto(fd, message, strlen(message), MSG_NOSIGNAL, (const struct sockaddr *)&to, n_to);
    (void)close(fd);
    return sent == (ssize_t)strlen(message);
}
