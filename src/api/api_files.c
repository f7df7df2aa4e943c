/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The "Files" part of the public header: what is in a file, is it good, and writing new ones. */
#include "api/api_internal.h"

#include "base/blake2b.h"
#include "base/clock.h"
#include "base/limits.h"
#include "groth16/development.h"
#include "io/guard.h"
#include "io/output.h"
#include "io/params.h"
#include "io/pmasg.h"
#include "io/r1cs.h"
#include "io/wtns.h"

#include <string.h>

/* No bound on what is mapped; a pipe is read into memory, which bounds it. */
#define FILE_BYTES_MAX UINT64_MAX
/* Bytes hashed between two looks at control: a few milliseconds. */
#define DIGEST_STEP_BYTES (UINT64_C(1) << 22)

_Static_assert(PM_SECTIONS_MAX == PM_CONTAINER_SECTIONS_MAX, "every section can be described");

const char *pm_file_kind_name(pm_file_kind kind) {
    switch (kind) {
    case PM_FILE_ZKEY:
        return "zkey";
    case PM_FILE_WTNS:
        return "wtns";
    case PM_FILE_R1CS:
        return "r1cs";
    case PM_FILE_PTAU:
        return "ptau";
    case PM_FILE_PARAMS:
        return "params";
    case PM_FILE_BELLMAN_VK:
        return "bellman vk";
    case PM_FILE_ASSIGNMENT:
        return "pmasg";
    case PM_FILE_UNKNOWN:
        break;
    }
    return "unknown";
}

/* What every container has: kind, version, sections. */
static void describe_container(const struct pm_container *container,
                               const struct pm_container_format *format, pm_file_info *info) {
    info->kind = format->kind;
    info->version = container->version;
    info->n_sections = container->n_sections;
    for (uint32_t i = 0; i < container->n_sections; ++i) {
        const struct pm_section *section = &container->sections[i];
        const char *name = pm_container_section_name(format, section->type);
        info->sections[i] = (pm_section_info){.type = section->type,
                                              .known = name[0] != '\0',
                                              .offset = section->offset,
                                              .bytes = section->n_bytes,
                                              .name = name};
    }
}

/* delta = gamma is a key nobody has contributed to, delta = generator one whose only secret is one:
 * either way delta is known and proofs can be forged. */
static uint32_t find_insecurity(const struct pm_key_parts *parts, const struct pm_curve *curve) {
    return pm_insecurity_find(curve, parts->alpha_g1, parts->gamma_g2, parts->delta_g2);
}

static pm_status describe_zkey(pm_context *context, const struct pm_mapping *mapping,
                               const pm_control *control, pm_file_info *info, pm_error *error) {
    struct pm_zkey zkey;
    PM_TRY(pm_zkey_open(mapping, context->team, control, &zkey, error));
    describe_container(&zkey.container, &pm_format_zkey, info);
    info->curve = (uint32_t)zkey.parts.curve;
    info->log_n = zkey.parts.log_n;
    info->n_vars = zkey.parts.n_vars;
    info->n_public = zkey.parts.n_public;
    info->n_constraints = zkey.n_rows;
    info->n_coefficients = zkey.parts.n_coefficients;
    info->has_circuit_hash = zkey.has_circuit_hash;
    info->n_contributions = zkey.n_contributions;
    if (zkey.has_circuit_hash) {
        memcpy(info->circuit_hash, zkey.circuit_hash, sizeof info->circuit_hash);
    }
    info->insecure = find_insecurity(&zkey.parts, pm_curve_get(zkey.parts.curve, context->body));
    return PM_OK;
}

static pm_status describe_wtns(pm_context *context, const struct pm_mapping *mapping,
                               const pm_control *control, pm_file_info *info, pm_error *error) {
    struct pm_wtns wtns;
    PM_TRY(pm_wtns_open(mapping, context->team, control, &wtns, error));
    describe_container(&wtns.container, &pm_format_wtns, info);
    info->curve = (uint32_t)wtns.curve;
    info->n_vars = (uint32_t)wtns.n_values;
    return PM_OK;
}

static pm_status describe_r1cs(const struct pm_mapping *mapping, const pm_control *control,
                               pm_file_info *info, pm_error *error) {
    struct pm_r1cs r1cs;
    PM_TRY(pm_r1cs_open(mapping, control, &r1cs, error));
    describe_container(&r1cs.container, &pm_format_r1cs, info);
    info->curve = (uint32_t)r1cs.curve;
    info->n_vars = r1cs.n_wires;
    info->n_public = r1cs.n_outputs + r1cs.n_public_inputs;
    info->n_outputs = r1cs.n_outputs;
    info->n_public_inputs = r1cs.n_public_inputs;
    info->n_private_inputs = r1cs.n_private_inputs;
    info->n_constraints = r1cs.n_constraints;
    info->n_labels = r1cs.n_labels;
    info->n_coefficients = r1cs.n_terms;
    return PM_OK;
}

static pm_status describe_ptau(const struct pm_mapping *mapping, pm_file_info *info,
                               pm_error *error) {
    struct pm_container container;
    PM_TRY(pm_container_open(mapping, &pm_format_ptau, &container, error));
    describe_container(&container, &pm_format_ptau, info);
    return PM_OK;
}

static pm_file_kind recognise(const struct pm_mapping *mapping) {
    const struct pm_container_format *format = pm_container_recognise(mapping);
    return format != NULL                ? (pm_file_kind)format->kind
           : pm_pmasg_recognise(mapping) ? PM_FILE_ASSIGNMENT
                                         : pm_params_recognise(mapping);
}

static pm_status open_params(const struct pm_mapping *mapping, pm_file_kind kind,
                             struct pm_params *params, pm_error *error) {
    return pm_params_open(mapping, kind == PM_FILE_PARAMS ? PM_PARAMS_WHOLE : PM_PARAMS_VK_FILE,
                          params, error);
}

static void add_section(pm_file_info *info, uint64_t offset, uint64_t n_bytes, const char *name) {
    info->sections[info->n_sections] = (pm_section_info){
        .type = info->n_sections + 1, .known = 1, .offset = offset, .bytes = n_bytes, .name = name};
    info->n_sections += 1;
}

/* The file has no table of sections; what follows one another in it is numbered from 1. */
static void describe_params_sections(const struct pm_params *params, pm_file_info *info) {
    const struct pm_params_layout *layout = &params->layout;
    const uint64_t header_bytes = layout->offset[PM_PARAMS_IC] - sizeof(uint32_t);
    add_section(info, 0, header_bytes, "header points");
    for (int i = PM_PARAMS_N_FIXED; i < (int)params->n_parts; ++i) {
        const enum pm_params_part part = (enum pm_params_part)i;
        add_section(info, layout->offset[part], layout->n[part] * pm_params_point_bytes(part),
                    pm_params_part_name(part));
    }
    if (params->circuit_hash != NULL) {
        add_section(info, layout->n_bytes, params->mapping->n_bytes - layout->n_bytes,
                    "transcript");
    }
}

/* A header point that is malformed hides what there is to see, and is for a check to find. */
static uint32_t find_params_insecurity(const struct pm_params *params,
                                       const struct pm_curve *curve) {
    uint8_t points[PM_PARAMS_N_FIXED][PM_G2_BYTES_MAX];
    for (int i = 0; i < PM_PARAMS_N_FIXED; ++i) {
        if (pm_params_decode(params, curve, (enum pm_params_part)i, 0, 1, PM_POINT_CHECK_NONE, NULL,
                             NULL, points[i], NULL) != PM_OK) {
            return 0;
        }
    }
    const struct pm_key_parts parts = {.curve = curve->id,
                                       .alpha_g1 = points[PM_PARAMS_ALPHA_G1],
                                       .beta_g1 = points[PM_PARAMS_BETA_G1],
                                       .beta_g2 = points[PM_PARAMS_BETA_G2],
                                       .gamma_g2 = points[PM_PARAMS_GAMMA_G2],
                                       .delta_g1 = points[PM_PARAMS_DELTA_G1],
                                       .delta_g2 = points[PM_PARAMS_DELTA_G2]};
    return find_insecurity(&parts, curve);
}

static pm_status describe_params(pm_context *context, const struct pm_mapping *mapping,
                                 pm_file_kind kind, pm_file_info *info, pm_error *error) {
    struct pm_params params;
    PM_TRY(open_params(mapping, kind, &params, error));
    const uint64_t *n = params.layout.n;
    info->kind = (uint32_t)kind;
    info->curve = PM_CURVE_BLS12_381;
    info->n_public = (uint32_t)(n[PM_PARAMS_IC] - 1);
    info->log_n = params.layout.log_n;
    if (kind == PM_FILE_PARAMS) {
        const uint64_t n_vars = n[PM_PARAMS_IC] + n[PM_PARAMS_L];
        info->n_vars = n_vars < UINT32_MAX ? (uint32_t)n_vars : UINT32_MAX;
        info->n_h = (uint32_t)n[PM_PARAMS_H];
        info->n_l = (uint32_t)n[PM_PARAMS_L];
        info->n_a = (uint32_t)n[PM_PARAMS_A];
        info->n_b = (uint32_t)n[PM_PARAMS_B_G1];
        info->parameters_bytes = params.layout.n_bytes;
    }
    if (params.circuit_hash != NULL) {
        info->has_circuit_hash = 1;
        info->n_contributions = params.n_contributions;
        memcpy(info->circuit_hash, params.circuit_hash, sizeof info->circuit_hash);
    }
    describe_params_sections(&params, info);
    info->insecure =
        find_params_insecurity(&params, pm_curve_get(PM_CURVE_BLS12_381, context->body));
    return PM_OK;
}

static uint32_t fit_u32(uint64_t value) {
    return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

static pm_status describe_assignment(const struct pm_mapping *mapping, pm_file_info *info,
                                     pm_error *error) {
    struct pm_pmasg pmasg;
    PM_TRY(pm_pmasg_open(mapping, &pmasg, error));
    const struct pm_pmasg_sizes *sizes = &pmasg.sizes;
    info->kind = PM_FILE_ASSIGNMENT;
    info->version = PM_PMASG_VERSION;
    info->curve = (uint32_t)sizes->curve;
    info->n_vars = fit_u32(sizes->n_inputs + sizes->n_aux);
    info->n_public = fit_u32(sizes->n_inputs - 1);
    info->n_constraints = fit_u32(sizes->n_rows);
    info->scalar_form = (uint32_t)sizes->form;
    info->n_vectors = sizes->n_vectors;
    info->has_densities = sizes->has_densities;
    info->n_inputs = sizes->n_inputs;
    info->n_aux = sizes->n_aux;
    info->n_rows = sizes->n_rows;
    memcpy(info->n_density_bits, sizes->n_bits, sizeof info->n_density_bits);
    for (int i = 0; i < PM_PMASG_ARRAYS; ++i) {
        if (pmasg.layout.n_bytes[i] > 0) {
            add_section(info, pmasg.layout.offset[i], pmasg.layout.n_bytes[i],
                        pm_pmasg_array_name((enum pm_pmasg_array)i));
        }
    }
    add_section(info, pmasg.layout.digest_offset, PM_PMASG_DIGEST_BYTES, "digest");
    return PM_OK;
}

static pm_status describe_by_kind(pm_context *context, const struct pm_mapping *mapping,
                                  const pm_control *control, pm_file_info *info, pm_error *error) {
    const pm_file_kind kind = recognise(mapping);
    switch (kind) {
    case PM_FILE_ZKEY:
        return describe_zkey(context, mapping, control, info, error);
    case PM_FILE_WTNS:
        return describe_wtns(context, mapping, control, info, error);
    case PM_FILE_R1CS:
        return describe_r1cs(mapping, control, info, error);
    case PM_FILE_PTAU:
        return describe_ptau(mapping, info, error);
    case PM_FILE_PARAMS:
    case PM_FILE_BELLMAN_VK:
        return describe_params(context, mapping, kind, info, error);
    case PM_FILE_ASSIGNMENT:
        return describe_assignment(mapping, info, error);
    default:
        return pm_container_refuse_kind(mapping, NULL, error);
    }
}

static pm_status digest_file(const struct pm_mapping *mapping, const pm_control *control,
                             pm_file_info *info, pm_error *error) {
    struct pm_blake2b state;
    uint64_t reported_ns = pm_clock_now_ns();
    pm_blake2b_init(&state, sizeof info->digest);
    for (uint64_t done = 0; done < mapping->n_bytes;) {
        const uint64_t left = mapping->n_bytes - done;
        const uint64_t n = left < DIGEST_STEP_BYTES ? left : DIGEST_STEP_BYTES;
        PM_TRY(pm_control_check(control, error));
        pm_blake2b_update(&state, mapping->bytes + done, n);
        done += n;
        const uint64_t now_ns = pm_clock_now_ns();
        if (now_ns - reported_ns >= PM_PROGRESS_INTERVAL_MS * UINT64_C(1000000)) {
            reported_ns = now_ns;
            pm_control_progress(control, "hashing the file", done, mapping->n_bytes);
        }
    }
    pm_blake2b_final(&state, info->digest);
    info->has_digest = 1;
    return PM_OK;
}

pm_status pm_file_describe(pm_context *context, const char *path, int with_digest,
                           const pm_control *control, pm_file_info *info, pm_error *error) {
    PM_FAIL_IF(context == NULL || path == NULL || info == NULL, error, PM_INVALID_ARGUMENT,
               "context, path or info is NULL");
    struct pm_mapping mapping;
    pm_file_info full = {.struct_bytes = info->struct_bytes};
    PM_TRY(pm_mapping_open(path, PM_MAPPING_MAP, FILE_BYTES_MAX, NULL, control, &mapping, error));
    full.file_bytes = mapping.n_bytes;
    pm_status status = describe_by_kind(context, &mapping, control, &full, error);
    if (status == PM_OK && with_digest != 0) {
        status = digest_file(&mapping, control, &full, error);
    }
    if (status == PM_OK) {
        status = pm_mapping_check(&mapping, error);
    }
    pm_mapping_close(&mapping);
    PM_TRY(status);
    memcpy(info, &full, info->struct_bytes < sizeof full ? info->struct_bytes : sizeof full);
    return PM_OK;
}

static pm_status check_zkey(pm_context *context, const struct pm_mapping *mapping,
                            const pm_control *control, pm_error *error) {
    struct pm_zkey zkey;
    PM_TRY(pm_zkey_open(mapping, context->team, control, &zkey, error));
    return pm_zkey_check_points(&zkey, pm_curve_get(zkey.parts.curve, context->body),
                                PM_POINT_CHECK_SUBGROUP, context->team, control, error);
}

static pm_status check_params(pm_context *context, const struct pm_mapping *mapping,
                              pm_file_kind kind, const pm_control *control, pm_error *error) {
    struct pm_params params;
    PM_TRY(open_params(mapping, kind, &params, error));
    return pm_params_check_points(&params, pm_curve_get(PM_CURVE_BLS12_381, context->body),
                                  PM_POINT_CHECK_SUBGROUP, context->team, control, error);
}

static pm_status check_assignment(pm_context *context, const struct pm_mapping *mapping,
                                  const pm_control *control, pm_error *error) {
    struct pm_pmasg pmasg;
    PM_TRY(pm_pmasg_open(mapping, &pmasg, error));
    return pm_pmasg_check(&pmasg, context->team, control, error);
}

static pm_status check_by_kind(pm_context *context, const struct pm_mapping *mapping,
                               const pm_control *control, pm_error *error) {
    const pm_file_kind kind = recognise(mapping);
    struct pm_wtns wtns;
    struct pm_r1cs r1cs;
    struct pm_container container;
    switch (kind) {
    case PM_FILE_ZKEY:
        return check_zkey(context, mapping, control, error);
    case PM_FILE_WTNS:
        return pm_wtns_open(mapping, context->team, control, &wtns, error);
    case PM_FILE_R1CS:
        return pm_r1cs_open(mapping, control, &r1cs, error);
    case PM_FILE_PTAU:
        PM_TRY(pm_container_open(mapping, &pm_format_ptau, &container, error));
        pm_error_set(error, PM_UNSUPPORTED,
                     "the points of a .ptau file are not checked, it can only be described");
        pm_error_at(error, mapping->name, PM_NO_OFFSET);
        return PM_UNSUPPORTED;
    case PM_FILE_PARAMS:
    case PM_FILE_BELLMAN_VK:
        return check_params(context, mapping, kind, control, error);
    case PM_FILE_ASSIGNMENT:
        return check_assignment(context, mapping, control, error);
    default:
        return pm_container_refuse_kind(mapping, NULL, error);
    }
}

pm_status pm_file_check(pm_context *context, const char *path, const pm_control *control,
                        pm_error *error) {
    PM_FAIL_IF(context == NULL || path == NULL, error, PM_INVALID_ARGUMENT,
               "context or path is NULL");
    struct pm_mapping mapping;
    PM_TRY(pm_mapping_open(path, PM_MAPPING_MAP, FILE_BYTES_MAX, NULL, control, &mapping, error));
    const pm_status status = check_by_kind(context, &mapping, control, error);
    pm_mapping_close(&mapping);
    return status;
}

pm_status pm_r1cs_check_witness(pm_context *context, const char *r1cs_path,
                                const pm_witness *witness, const pm_control *control,
                                uint64_t *constraint, pm_error *error) {
    PM_FAIL_IF(context == NULL || r1cs_path == NULL || witness == NULL, error, PM_INVALID_ARGUMENT,
               "context, path or witness is NULL");
    struct pm_mapping mapping;
    struct pm_r1cs r1cs;
    uint64_t row = 0;
    PM_TRY(
        pm_mapping_open(r1cs_path, PM_MAPPING_MAP, FILE_BYTES_MAX, NULL, control, &mapping, error));
    pm_status status = pm_r1cs_open(&mapping, control, &r1cs, error);
    if (status == PM_OK && r1cs.curve != witness->curve) {
        status =
            pm_error_set(error, PM_CURVE, "the constraint system is for %s, the witness for %s",
                         pm_curve_name(r1cs.curve), pm_curve_name(witness->curve));
        pm_error_at(error, mapping.name, PM_NO_OFFSET);
    }
    if (status == PM_OK) {
        status = pm_r1cs_check(&r1cs, pm_field_fr(r1cs.curve, context->body), witness->values,
                               witness->n_values, context->team, control, &row, error);
    }
    pm_mapping_close(&mapping);
    if (status == PM_UNSATISFIED && constraint != NULL) {
        *constraint = row;
    }
    return status;
}

pm_status pm_files_write(const pm_output *outputs, size_t n_outputs, const pm_control *control,
                         pm_error *error) {
    PM_FAIL_IF(outputs == NULL && n_outputs > 0, error, PM_INVALID_ARGUMENT, "outputs is NULL");
    for (size_t i = 0; i < n_outputs; ++i) {
        PM_FAIL_IF(outputs[i].path == NULL || (outputs[i].bytes == NULL && outputs[i].n_bytes > 0),
                   error, PM_INVALID_ARGUMENT, "output %zu has no path or no bytes", i);
    }
    return n_outputs > 0 ? pm_output_write_all(outputs, n_outputs, control, error) : PM_OK;
}

static bool has_null(const char *const *names, size_t n) {
    for (size_t i = 0; i < n; ++i) {
        if (names == NULL || names[i] == NULL) {
            return true;
        }
    }
    return false;
}

pm_status pm_files_distinct(const char *const *inputs, size_t n_inputs, const char *const *outputs,
                            size_t n_outputs, pm_error *error) {
    PM_FAIL_IF(has_null(inputs, n_inputs) || has_null(outputs, n_outputs), error,
               PM_INVALID_ARGUMENT, "a path is NULL");
    return pm_output_distinct(inputs, n_inputs, outputs, n_outputs, error);
}

pm_status pm_file_read(const char *path, size_t max_bytes, const pm_control *control, void **bytes,
                       size_t *n_bytes, pm_error *error) {
    PM_FAIL_IF(path == NULL || bytes == NULL || n_bytes == NULL, error, PM_INVALID_ARGUMENT,
               "path, bytes or n_bytes is NULL");
    struct pm_mapping mapping;
    PM_TRY(
        pm_mapping_open(path, PM_MAPPING_READ_SECRET, max_bytes, NULL, control, &mapping, error));
    /* The buffer, with its NUL, goes to the caller. */
    *bytes = mapping.owned;
    *n_bytes = mapping.n_bytes;
    mapping.owned = NULL;
    pm_mapping_close(&mapping);
    return PM_OK;
}

void pm_bytes_free(void *bytes, size_t n_bytes) {
    (void)n_bytes; /* the buffer knows its own size, and is wiped whole */
    pm_memory_free(bytes);
}

pm_status pm_guard_install(pm_error *error) {
    return pm_guard_install_handler(error);
}
