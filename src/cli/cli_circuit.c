/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * cli/cli_circuit.c - which of Filecoin's circuits a parameter file is for: by its name, and by its
 * counts.
 *
 * Version 28 names a file v28-KIND-HASH.params (.vk, .meta), where HASH is the SHA-256 digest of
 * the circuit's identifier:
 *
 *   layered_drgporep::PublicParams{ graph: stacked_graph::StackedGraph{expansion_degree: 8
 *     base_graph: drgraph::BucketGraph{size: NODES; degree: 6; hasher: poseidon_hasher} },
 *     challenges: LayerChallenges { layers: L, max_count: C },
 *     tree: merkletree-poseidon_hasher-B-S-T }
 *   FallbackPoSt::PublicParams{sector_size: BYTES, challenge_count: C, sector_count: N}
 *   empty_sector_update::PublicParams{ sector_nodes: NODES }
 *
 * with one blank where a line ends here.
 */
#include "cli/cli_circuit.h"

#include <proofmill/experimental.h>

#include <string.h>

#define HASH_DIGITS 64u

enum kind { KIND_POREP, KIND_POST, KIND_SNAP };

static const char *const beginnings[] = {
    "v28-stacked-proof-of-replication-merkletree-poseidon_hasher-",
    "v28-proof-of-spacetime-fallback-merkletree-poseidon_hasher-",
    "v28-empty-sector-update-merkletree-poseidon_hasher-"};

/* clang-format off */
static const struct {
    const char *title;
    enum kind kind;
    const char *preset; /* whose counts it has; NULL: they are not known */
    const char *hash;
} circuits[] = {
    {"Filecoin PoRep, 2 KiB sector", KIND_POREP, "porep-2k",
     "032d3138d22506ec0082ed72b2dcba18df18477904e35bafee82b3793b06832f"},
    {"Filecoin PoRep, 8 MiB sector", KIND_POREP, "porep-8m",
     "ecd683648512ab1765faa2a5f14bab48f676e633467f0aa8aad4b55dcb0652bb"},
    {"Filecoin PoRep, 512 MiB sector", KIND_POREP, "porep-512m",
     "6babf46ce344ae495d558e7770a585b2382d54f225af8ed0397b8be7c3fcd472"},
    {"Filecoin PoRep, 32 GiB sector", KIND_POREP, "porep-32g",
     "82a357d2f2ca81dc61bb45f4a762807aedee1b0a53fd6c4e77b46a01bfef7820"},
    {"Filecoin PoRep, 64 GiB sector", KIND_POREP, "porep-64g",
     "96f1b4a04c5c51e4759bbf224bbc2ef5a42c7100f16ec0637123f16a845ddfb2"},
    {"Filecoin WindowPoSt, 2 KiB sector", KIND_POST, "window-post-2k",
     "0170db1f394b35d995252228ee359194b13199d259380541dc529fb0099096b0"},
    {"Filecoin WindowPoSt, 8 MiB sector", KIND_POST, NULL,
     "5294475db5237a2e83c3e52fd6c2b03859a1831d45ed08c4f35dbf9a803165a9"},
    {"Filecoin WindowPoSt, 512 MiB sector", KIND_POST, NULL,
     "0cfb4f178bbb71cf2ecfcd42accce558b27199ab4fb59cb78f2483fe21ef36d9"},
    {"Filecoin WindowPoSt, 32 GiB sector", KIND_POST, "window-post-32g",
     "0377ded656c6f524f1618760bffe4e0a1c51d5a70c4509eedae8a27555733edc"},
    {"Filecoin WindowPoSt, 64 GiB sector", KIND_POST, "window-post-64g",
     "2627e4006b67f99cef990c0a47d5426cb7ab0a0ad58fc1061547bf2d28b09def"},
    {"Filecoin WinningPoSt, 2 KiB sector", KIND_POST, "winning-post-2k",
     "3ea05428c9d11689f23529cde32fd30aabd50f7d2c93657c1d3650bca3e8ea9e"},
    {"Filecoin WinningPoSt, 8 MiB sector", KIND_POST, NULL,
     "50c7368dea9593ed0989e70974d28024efa9d156d585b7eea1be22b2e753f331"},
    {"Filecoin WinningPoSt, 512 MiB sector", KIND_POST, NULL,
     "7d739b8cf60f1b0709eeebee7730e297683552e4b69cab6984ec0285663c5781"},
    {"Filecoin WinningPoSt, 32 GiB sector", KIND_POST, "winning-post-32g",
     "559e581f022bb4e4ec6e719e563bf0e026ad6de42e56c18714a2c692b1b88d7e"},
    {"Filecoin WinningPoSt, 64 GiB sector", KIND_POST, NULL,
     "b62098629d07946e9028127e70295ed996fe3ed25b0f9f88eb610a0ab4385a3c"},
    {"Filecoin SnapDeals, 2 KiB sector", KIND_SNAP, NULL,
     "fb9e095bebdd77511c0269b967b4d87ba8b8a525edaa0e165de23ba454510194"},
    {"Filecoin SnapDeals, 8 MiB sector", KIND_SNAP, NULL,
     "92180959e1918d26350b8e6cfe217bbdd0a2d8de51ebec269078b364b715ad63"},
    {"Filecoin SnapDeals, 512 MiB sector", KIND_SNAP, NULL,
     "61fa69f38b9cc771ba27b670124714b4ea77fbeae05e377fb859c4a43b73a30c"},
    {"Filecoin SnapDeals, 32 GiB sector", KIND_SNAP, "snap-32g",
     "3b7f44a9362e3985369454947bc94022e118211e49fd672d52bec1cbfd599d18"},
    {"Filecoin SnapDeals, 64 GiB sector", KIND_SNAP, "snap-64g",
     "102e1444a7e9a97ebf1e3d6855dcc77e66c011ea66f936d9b2c508f87f2f83a7"},
};
/* clang-format on */
#define N_CIRCUITS (sizeof circuits / sizeof circuits[0])

/* The digits before the name's ending; NULL when there are not as many. */
static const char *hash_in(const char *name) {
    const char *dot = strrchr(name, '.');
    if (dot == NULL || (size_t)(dot - name) <= HASH_DIGITS ||
        (strcmp(dot, ".params") != 0 && strcmp(dot, ".vk") != 0)) {
        return NULL;
    }
    return dot[-(int)HASH_DIGITS - 1] == '-' ? dot - HASH_DIGITS : NULL;
}

static size_t find_by_name(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    const char *hash = hash_in(name);
    for (size_t i = 0; hash != NULL && i < N_CIRCUITS; i++) {
        const char *beginning = beginnings[circuits[i].kind];
        if (memcmp(circuits[i].hash, hash, HASH_DIGITS) == 0 &&
            strncmp(name, beginning, strlen(beginning)) == 0) {
            return i;
        }
    }
    return N_CIRCUITS;
}

/* As far as the file tells: a verifying key has nothing but the inputs. */
static bool has_counts_of(const pm_file_info *info, const char *preset) {
    pm_circuit_sizes sizes = {.struct_bytes = (uint32_t)sizeof sizes};
    pm_error ignored = PM_ERROR_INIT;
    if (preset == NULL || pm_circuit_preset(preset, &sizes, &ignored) != PM_OK) {
        return false;
    }
    if ((uint64_t)info->n_public + 1 != sizes.n_inputs) {
        return false;
    }
    return info->kind == PM_FILE_BELLMAN_VK ||
           (info->log_n == sizes.log_n && info->n_l == sizes.n_l && info->n_a == sizes.n_a &&
            info->n_b == sizes.n_b && info->n_h == sizes.n_h);
}

/* Of parameters alone: too many circuits have as many inputs as another. */
static size_t find_by_counts(const pm_file_info *info) {
    for (size_t i = 0; info->kind == PM_FILE_PARAMS && i < N_CIRCUITS; i++) {
        if (has_counts_of(info, circuits[i].preset)) {
            return i;
        }
    }
    return N_CIRCUITS;
}

void pm_cli_recognise_circuit(const char *path, const pm_file_info *info,
                              struct pm_cli_circuit *circuit) {
    const size_t by_name = find_by_name(path), by_counts = find_by_counts(info);
    *circuit = (struct pm_cli_circuit){
        .by_name = by_name < N_CIRCUITS ? circuits[by_name].title : NULL,
        .by_counts = by_counts < N_CIRCUITS ? circuits[by_counts].title : NULL,
        .name_is_wrong = by_name < N_CIRCUITS && circuits[by_name].preset != NULL &&
                         !has_counts_of(info, circuits[by_name].preset)};
}
