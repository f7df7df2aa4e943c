/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * Any text given as verification_key.json: what is accepted, written, read and written again is the
 * same text.
 */
#include "fuzz/harness.h"

#include "json/json.h"

#include <string.h>

static void check_vk(const pm_vk *vk) {
    struct pm_json_text first = {0}, second = {0};
    pm_vk *again = NULL;
    FUZZ_REQUIRE(pm_json_vk_write(vk, &first, NULL) == PM_OK);
    FUZZ_REQUIRE(pm_json_vk_parse(fuzz_context(), first.bytes, first.n_bytes, NULL, &again, NULL) ==
                 PM_OK);
    FUZZ_REQUIRE(pm_vk_curve(again) == pm_vk_curve(vk));
    FUZZ_REQUIRE(pm_vk_n_public(again) == pm_vk_n_public(vk));
    FUZZ_REQUIRE(pm_json_vk_write(again, &second, NULL) == PM_OK);
    FUZZ_REQUIRE(first.n_bytes == second.n_bytes);
    FUZZ_REQUIRE(memcmp(first.bytes, second.bytes, first.n_bytes) == 0);
    pm_json_text_free(&second);
    pm_json_text_free(&first);
    pm_vk_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
    pm_vk *vk = NULL;
    pm_error error = PM_ERROR_INIT;
    const pm_status status =
        pm_json_vk_parse(fuzz_context(), (const char *)bytes, n_bytes, "vkey.json", &vk, &error);
    if (fuzz_succeeded(status, &error)) {
        check_vk(vk);
    } else {
        FUZZ_REQUIRE(vk == NULL && strcmp(error.file, "vkey.json") == 0);
        FUZZ_REQUIRE(error.offset == PM_NO_OFFSET || error.offset <= n_bytes);
    }
    pm_vk_destroy(vk);
    return 0;
}
