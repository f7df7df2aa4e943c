/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * A key from arrays is turned into the image of a .zkey and opened like one, so that every check
 * and every reader exists once.
 */
#include "api/api_internal.h"

#include "io/zkey_writer.h"

pm_status pm_key_from_arrays(pm_context *context, const pm_key_arrays *arrays,
                             const pm_control *control, pm_key **key, pm_error *error) {
    PM_FAIL_IF(context == NULL || arrays == NULL || key == NULL, error, PM_INVALID_ARGUMENT,
               "context, arrays or key is NULL");
    pm_key_arrays given;
    pm_options_read(&given, sizeof given, arrays);
    const struct pm_curve *curve = pm_curve_get((pm_curve_id)given.curve, context->body);
    PM_FAIL_IF(curve == NULL, error, PM_CURVE, "curve %u is not supported", given.curve);

    void *image = NULL;
    uint64_t image_bytes = 0;
    PM_TRY(pm_zkey_image(curve, &given, NULL, &image, &image_bytes, error));
    pm_key *made = NULL;
    const pm_status status =
        pm_key_open_memory(context, image, image_bytes, "key from arrays", control, &made, error);
    if (status != PM_OK) {
        pm_memory_free(image);
        return status;
    }
    made->owned_parts = image;
    *key = made;
    return PM_OK;
}
