/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#include "gpu/load/gpu_load.h"

#if defined(PM_STATIC_PROGRAM)

pm_status pm_gpu_load(const char *path, const struct pm_gpu_api **api, pm_error *error) {
    (void)path;
    (void)api;
    PM_FAIL(error, PM_NO_DEVICE,
            "this program is linked statically and cannot open " PM_GPU_LIBRARY_NAME);
}

#else

#include <dlfcn.h>
#include <string.h>

/* The system's reasons begin with the name. */
static const char *without_name(const char *reason, const char *name) {
    const size_t n = strlen(name);
    return strncmp(reason, name, n) == 0 && strncmp(reason + n, ": ", 2) == 0 ? reason + n + 2
                                                                              : reason;
}

static pm_status find_api(void *library, const char *name, const struct pm_gpu_api **api,
                          pm_error *error) {
    void *symbol = dlsym(library, PM_GPU_API_GET_NAME);
    PM_FAIL_IF(symbol == NULL, error, PM_NO_DEVICE, "%s does not hold " PM_GPU_API_GET_NAME, name);
    pm_gpu_api_get_function *get;
    memcpy(&get, &symbol, sizeof get); /* ISO C has no cast from an object to a function */
    const struct pm_gpu_api *found = get();
    PM_FAIL_IF(found == NULL || found->version != PM_GPU_API_VERSION ||
                   found->struct_bytes != sizeof *found,
               error, PM_NO_DEVICE, "%s belongs to another build of proofmill", name);
    *api = found;
    return PM_OK;
}

pm_status pm_gpu_load(const char *path, const struct pm_gpu_api **api, pm_error *error) {
    const char *name = path != NULL ? path : PM_GPU_LIBRARY_NAME;
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        const char *reason = dlerror();
        PM_FAIL(error, PM_NO_DEVICE, "%s cannot be opened: %s", name,
                reason != NULL ? without_name(reason, name) : "no reason given");
    }
    const pm_status status = find_api(library, name, api, error);
    if (status != PM_OK) {
        (void)dlclose(library); /* nothing of it ran but a getter */
    }
    return status;
}

#endif
