/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* daemon/daemon_folder.c - folders of the daemon's own: state, unix sockets. */
#include "daemon/daemon_internal.h"

#include "base/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* With its parents; umask decides nothing, as every one is the user's alone. */
static pm_status make_folder(char *path, pm_error *error) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const bool is_made = mkdir(path, 0700) == 0 || errno == EEXIST || access(path, F_OK) == 0;
        const int why = errno;
        *slash = '/';
        if (!is_made) {
            return pm_error_set_errno(error, PM_IO, why, path, "the folder cannot be made");
        }
    }
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return pm_error_set_errno(error, PM_IO, errno, path, "the folder cannot be made");
    }
    return PM_OK;
}

/* Somebody else could put another socket or journal in the place of ours. */
static pm_status check_folder(const char *path, pm_error *error) {
    struct stat about;
    if (stat(path, &about) != 0) {
        return pm_error_set_errno(error, PM_IO, errno, path, "the folder cannot be looked at");
    }
    const char *wrong = NULL;
    if (!S_ISDIR(about.st_mode)) {
        wrong = "is no folder";
    } else if (about.st_uid != geteuid() && about.st_uid != 0) {
        wrong = "is another user's folder";
    } else if ((about.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        wrong = "is a folder that other users may write to; `chmod go-w` it, or choose another";
    }
    if (wrong != NULL) {
        const pm_status status = pm_error_set(error, PM_IO, "%s", wrong);
        pm_error_at(error, path, PM_NO_OFFSET);
        return status;
    }
    return PM_OK;
}

pm_status pm_daemon_own_folder(const char *path, pm_error *error) {
    char *copy = strdup(path);
    PM_FAIL_IF(copy == NULL, error, PM_NO_MEMORY, "out of memory");
    pm_status status = make_folder(copy, error);
    if (status == PM_OK) {
        status = check_folder(path, error);
    }
    free(copy);
    return status;
}

/* A socket may be put where others write too, as in /tmp, when its folder is there already: its own
 * mode protects it. One that is called proofmill... is ours, wherever it is: clients trust it. */
static pm_status make_socket_folder(const char *address, pm_error *error) {
    static const char scheme[] = "unix://";
    struct stat about;
    if (strncmp(address, scheme, sizeof scheme - 1) != 0) {
        return PM_OK;
    }
    char *folder = strdup(address + sizeof scheme - 1);
    PM_FAIL_IF(folder == NULL, error, PM_NO_MEMORY, "out of memory");
    char *slash = strrchr(folder, '/');
    pm_status status = PM_OK;
    if (slash != NULL && slash != folder) {
        *slash = '\0';
        const bool is_ours = strncmp(strrchr(folder, '/'), "/proofmill", 10) == 0;
        if (is_ours || stat(folder, &about) != 0) {
            status = pm_daemon_own_folder(folder, error);
        }
    }
    free(folder);
    return status;
}

pm_status pm_daemon_make_folders(const struct pm_config *config, pm_error *error) {
    if (config->journal) {
        PM_TRY(pm_daemon_own_folder(config->state_dir, error));
    }
    for (uint32_t i = 0; i < config->n_listen; i++) {
        PM_TRY(make_socket_folder(config->listen[i], error));
    }
    return PM_OK;
}
