/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Assignments in files: arrays lent from a mapping, and arrays written one after another. */
#include "api/api_internal.h"

#include "base/blake2b.h"
#include "base/clock.h"
#include "io/output_stream.h"
#include "io/pmasg.h"

#include <string.h>

struct pm_assignment_file {
    struct pm_mapping mapping;
    struct pm_pmasg pmasg;
};

_Static_assert(PM_PMASG_AUX - PM_PMASG_INPUTS == (int)PM_ARRAY_AUX &&
                   PM_PMASG_A - PM_PMASG_INPUTS == (int)PM_ARRAY_A &&
                   PM_PMASG_B - PM_PMASG_INPUTS == (int)PM_ARRAY_B &&
                   PM_PMASG_C - PM_PMASG_INPUTS == (int)PM_ARRAY_C,
               "arrays of a file stand in the order of pm_assignment_array");

/* ---- Reading --------------------------------------------------------------------------------- */

pm_status pm_assignment_file_open(const char *path, const pm_control *control,
                                  pm_assignment_file **file, pm_error *error) {
    PM_FAIL_IF(path == NULL || file == NULL, error, PM_INVALID_ARGUMENT, "path or file is NULL");
    void *buffer = NULL;
    PM_TRY(pm_memory_alloc(NULL, "assignment file", sizeof(pm_assignment_file), PM_MEMORY_PLAIN,
                           &buffer, error));
    pm_assignment_file *made = buffer;
    pm_status status =
        pm_mapping_open(path, PM_MAPPING_MAP, UINT64_MAX, NULL, control, &made->mapping, error);
    if (status != PM_OK) {
        pm_memory_free(made);
        return status;
    }
    status = pm_pmasg_open(&made->mapping, &made->pmasg, error);
    if (status != PM_OK) {
        pm_assignment_file_destroy(made);
        return status;
    }
    *file = made;
    return PM_OK;
}

static void release(void *user, pm_assignment_array which) {
    const pm_assignment_file *file = user;
    const int array = PM_PMASG_INPUTS + (int)which;
    pm_mapping_release_range(&file->mapping, file->mapping.bytes + file->pmasg.layout.offset[array],
                             file->pmasg.layout.n_bytes[array]);
}

/* The file's arrays begin at multiples of 64 bytes, and the mapping at one of a page. */
static const uint64_t *density(const pm_assignment_file *file, enum pm_pmasg_array array) {
    return (const uint64_t *)(const void *)pm_pmasg_bytes(&file->pmasg, array);
}

pm_status pm_assignment_file_get(pm_assignment_file *file, pm_assignment *assignment,
                                 pm_error *error) {
    PM_FAIL_IF(file == NULL || assignment == NULL, error, PM_INVALID_ARGUMENT,
               "file or assignment is NULL");
    const struct pm_pmasg *pmasg = &file->pmasg;
    const pm_assignment full = {.struct_bytes = assignment->struct_bytes,
                                .curve = (uint32_t)pmasg->sizes.curve,
                                .form = (uint32_t)pmasg->sizes.form,
                                .inputs = pm_pmasg_bytes(pmasg, PM_PMASG_INPUTS),
                                .aux = pm_pmasg_bytes(pmasg, PM_PMASG_AUX),
                                .n_inputs = pmasg->sizes.n_inputs,
                                .n_aux = pmasg->sizes.n_aux,
                                .a = pm_pmasg_bytes(pmasg, PM_PMASG_A),
                                .b = pm_pmasg_bytes(pmasg, PM_PMASG_B),
                                .c = pm_pmasg_bytes(pmasg, PM_PMASG_C),
                                .n_rows = pmasg->sizes.n_rows,
                                .a_aux_density = density(file, PM_PMASG_A_AUX_DENSITY),
                                .b_input_density = density(file, PM_PMASG_B_INPUT_DENSITY),
                                .b_aux_density = density(file, PM_PMASG_B_AUX_DENSITY),
                                .release = release,
                                .user = file};
    const size_t theirs = assignment->struct_bytes;
    memcpy(assignment, &full, theirs < sizeof full ? theirs : sizeof full);
    return PM_OK;
}

pm_status pm_assignment_file_inputs(const pm_assignment_file *file, uint64_t first, uint64_t n,
                                    void *out, pm_error *error) {
    PM_FAIL_IF(file == NULL || (out == NULL && n > 0), error, PM_INVALID_ARGUMENT,
               "file or out is NULL");
    const struct pm_pmasg_sizes *sizes = &file->pmasg.sizes;
    PM_FAIL_IF(first > sizes->n_inputs || n > sizes->n_inputs - first, error, PM_INVALID_ARGUMENT,
               "the assignment has %llu inputs", (unsigned long long)sizes->n_inputs);
    const uint8_t *values = pm_pmasg_bytes(&file->pmasg, PM_PMASG_INPUTS) + first * PM_FR_BYTES;
    if (sizes->form == PM_SCALAR_MONTGOMERY && n > 0) {
        pm_field_fr(sizes->curve, PM_BODY_PORTABLE)
            ->from_mont(out, (const uint64_t *)(const void *)values, n);
    } else if (n > 0) {
        memcpy(out, values, n * PM_FR_BYTES);
    }
    return pm_mapping_check(&file->mapping, error);
}

void pm_assignment_file_destroy(pm_assignment_file *file) {
    if (file != NULL) {
        pm_mapping_close(&file->mapping);
        pm_memory_free(file);
    }
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Bytes written between two looks at control. */
#define WRITE_STEP_BYTES (UINT64_C(1) << 22)

struct writing {
    struct pm_output_stream stream;
    struct pm_blake2b digest;
    struct pm_pmasg_layout layout;
    const pm_control *control;
    uint64_t done_bytes, reported_ns;
};

static pm_status append(struct writing *writing, const void *bytes, uint64_t n_bytes,
                        pm_error *error) {
    for (uint64_t done = 0; done < n_bytes;) {
        const uint64_t left = n_bytes - done, n = left < WRITE_STEP_BYTES ? left : WRITE_STEP_BYTES;
        const uint8_t *at = (const uint8_t *)bytes + done;
        PM_TRY(pm_control_check(writing->control, error));
        PM_TRY(pm_output_stream_append(&writing->stream, at, (size_t)n, error));
        pm_blake2b_update(&writing->digest, at, (size_t)n);
        done += n;
        writing->done_bytes += n;
        const uint64_t now_ns = pm_clock_now_ns();
        if (now_ns - writing->reported_ns >= PM_PROGRESS_INTERVAL_MS * UINT64_C(1000000)) {
            writing->reported_ns = now_ns;
            pm_control_progress(writing->control, "writing the assignment", writing->done_bytes,
                                writing->layout.file_bytes);
        }
    }
    return PM_OK;
}

static pm_status append_padding(struct writing *writing, pm_error *error) {
    static const uint8_t zero[PM_PMASG_ALIGNMENT];
    const uint64_t over = writing->done_bytes % PM_PMASG_ALIGNMENT;
    return over == 0 ? PM_OK : append(writing, zero, PM_PMASG_ALIGNMENT - over, error);
}

/* Bits behind the last variable are the caller's to leave as they are, and zero in the file. */
static pm_status append_density(struct writing *writing, const struct pm_pmasg_sizes *sizes,
                                enum pm_pmasg_array which, const uint64_t *words, pm_error *error) {
    const uint64_t n_bits = pm_pmasg_density_bits(sizes, which);
    const uint64_t whole_bytes = n_bits / 64 * sizeof(uint64_t);
    PM_TRY(append(writing, words, whole_bytes, error));
    if (n_bits % 64 != 0) {
        const uint64_t last = words[n_bits / 64] & ((UINT64_C(1) << n_bits % 64) - 1);
        PM_TRY(append(writing, &last, sizeof last, error));
    }
    return append_padding(writing, error);
}

static pm_status append_all(struct writing *writing, const struct pm_pmasg_sizes *sizes,
                            const pm_assignment *given, pm_error *error) {
    const uint64_t *const densities[PM_PMASG_DENSITIES] = {
        given->a_aux_density, given->b_input_density, given->b_aux_density};
    const void *const arrays[] = {given->inputs, given->aux, given->a, given->b, given->c};
    uint8_t header[PM_PMASG_HEADER_BYTES], digest[PM_PMASG_DIGEST_BYTES];
    pm_pmasg_write_header(sizes, &writing->layout, header);
    PM_TRY(append(writing, header, sizeof header, error));
    for (int i = 0; sizes->has_densities && i < PM_PMASG_DENSITIES; ++i) {
        PM_TRY(append_density(writing, sizes, (enum pm_pmasg_array)i, densities[i], error));
    }
    for (int i = PM_PMASG_INPUTS; i < PM_PMASG_ARRAYS; ++i) {
        PM_TRY(append(writing, arrays[i - PM_PMASG_INPUTS], writing->layout.n_bytes[i], error));
        PM_TRY(append_padding(writing, error));
    }
    pm_blake2b_final(&writing->digest, digest);
    return pm_output_stream_append(&writing->stream, digest, sizeof digest, error);
}

static pm_status write_file(const char *path, const struct pm_pmasg_sizes *sizes,
                            const pm_assignment *given, struct writing *writing, pm_error *error) {
    PM_TRY(pm_output_stream_open(path, writing->control, &writing->stream, error));
    pm_status status = pm_output_stream_make_private(&writing->stream, error);
    if (status == PM_OK) {
        status = append_all(writing, sizes, given, error);
    }
    if (status == PM_OK) {
        status = pm_output_stream_publish(&writing->stream, error);
    }
    pm_output_stream_close(&writing->stream);
    return status;
}

/* What the arrays are, as far as pointers tell. */
static pm_status take_sizes(const pm_assignment *given, struct pm_pmasg_sizes *sizes,
                            pm_error *error) {
    const int n_densities = (given->a_aux_density != NULL) + (given->b_input_density != NULL) +
                            (given->b_aux_density != NULL);
    /* A circuit without aux variables has nothing that their densities could point to. */
    const bool some = n_densities > 0;
    const bool all =
        given->b_input_density != NULL && (n_densities == PM_PMASG_DENSITIES || given->n_aux == 0);
    PM_FAIL_IF(some && !all, error, PM_INVALID_ARGUMENT,
               "of the three densities some are NULL and some are not");
    PM_FAIL_IF(given->inputs == NULL || (given->aux == NULL && given->n_aux != 0), error,
               PM_INVALID_ARGUMENT, "the assignment's inputs or aux is NULL");
    PM_FAIL_IF((given->a == NULL) != (given->b == NULL) || (given->c != NULL && given->a == NULL),
               error, PM_INVALID_ARGUMENT,
               "of a, b and c, a and b come together, and c only with them");
    *sizes = (struct pm_pmasg_sizes){.curve = (pm_curve_id)given->curve,
                                     .form = (pm_scalar_form)given->form,
                                     .has_densities = all,
                                     .n_vectors = given->a == NULL   ? 0
                                                  : given->c == NULL ? 2
                                                                     : 3,
                                     .n_inputs = given->n_inputs,
                                     .n_aux = given->n_aux,
                                     .n_rows = given->a == NULL ? 0 : given->n_rows};
    return PM_OK;
}

static void count_densities(const pm_assignment *given, struct pm_pmasg_sizes *sizes) {
    const uint64_t *const densities[PM_PMASG_DENSITIES] = {
        given->a_aux_density, given->b_input_density, given->b_aux_density};
    for (int i = 0; sizes->has_densities && i < PM_PMASG_DENSITIES; ++i) {
        sizes->n_bits[i] = pm_pmasg_count_bits(
            (const uint8_t *)densities[i], pm_pmasg_density_bits(sizes, (enum pm_pmasg_array)i));
    }
}

pm_status pm_assignment_file_write(const char *path, const pm_assignment *assignment,
                                   const pm_control *control, pm_error *error) {
    PM_FAIL_IF(path == NULL || assignment == NULL, error, PM_INVALID_ARGUMENT,
               "path or assignment is NULL");
    pm_assignment given;
    struct pm_pmasg_sizes sizes;
    struct writing writing = {.control = control, .reported_ns = pm_clock_now_ns()};
    pm_options_read(&given, sizeof given, assignment);
    PM_TRY(take_sizes(&given, &sizes, error));
    /* The counts must be sound before bits are counted by them. */
    PM_TRY(pm_pmasg_layout_make(&sizes, &writing.layout, error));
    count_densities(&given, &sizes);
    pm_blake2b_init(&writing.digest, PM_PMASG_DIGEST_BYTES);
    return write_file(path, &sizes, &given, &writing, error);
}
