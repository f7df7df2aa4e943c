/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/*
 * support/mutants.h - every way to damage a container file that we could think of, one at a time.
 *
 * A mutant is handed to a sink and lives until the sink returns. Its bytes are an allocation of
 * their own, to the byte, so that a read past the end is seen. Mutants that equal the file are left
 * out.
 */
#ifndef PM_TEST_SUPPORT_MUTANTS_H
#define PM_TEST_SUPPORT_MUTANTS_H

#include "support/file_layout.h"
#include "support/seeded_random.h"

/* Kind of mutation, its words in the table of outcomes. */
#define MUTATION_MAP(X)                                                                            \
    X(MAGIC, "magic or version changed")                                                           \
    X(SECTION_COUNT, "number of sections changed")                                                 \
    X(SECTION_MISSING, "section missing")                                                          \
    X(SECTION_DOUBLED, "section doubled")                                                          \
    X(SECTION_BYTE, "section a byte shorter or longer")                                            \
    X(SECTION_ELEMENT, "section an element shorter or longer")                                     \
    X(SECTION_MOVED, "section moved to the front or end")                                          \
    X(SECTION_RENUMBERED, "section's type changed")                                                \
    X(SECTION_LENGTH, "section's length field changed")                                            \
    X(PRIME, "prime changed")                                                                      \
    X(COUNT, "count or length field changed")                                                      \
    X(INDEX, "index changed")                                                                      \
    X(VALUE, "scalar at the edge of its field")                                                    \
    X(COORDINATE, "coordinate at the edge of its field")                                           \
    X(POINT_ZERO, "point at infinity")                                                             \
    X(POINT_OFF_CURVE, "point off the curve")                                                      \
    X(POINT_OFF_SUBGROUP, "point outside the subgroup")                                            \
    X(POINT_COFACTOR, "point plus one of the cofactor's order")                                    \
    X(POINT_NEGATED, "point negated")                                                              \
    X(POINT_SWAPPED, "point swapped with the next")                                                \
    X(BIT, "one bit flipped")

enum mutation {
#define MUTATION_ENUM(name, words) MUTATION_##name,
    MUTATION_MAP(MUTATION_ENUM)
#undef MUTATION_ENUM
        MUTATIONS
};

const char *mutation_words(enum mutation kind);

struct mutant {
    enum mutation kind;
    const struct layout *layout;      /* of the file before */
    const struct layout_field *field; /* NULL when a whole section was touched */
    uint32_t section;                 /* its type; 0: none */
    uint64_t value;                   /* what was written, or the bit; for messages */
    const uint8_t *bytes;
    size_t n_bytes;
};

typedef void mutant_sink(void *user, const struct mutant *mutant);

/* Magic, version, sections as wholes. */
void mutants_of_sections(const struct layout *layout, mutant_sink *sink, void *user);
/* Counts, indices, primes, scalars, coordinates, points: each sample-th mutant of a kind. */
void mutants_of_fields(const struct layout *layout, unsigned sample, mutant_sink *sink, void *user);
/* One bit in each of every `step` bytes, drawn from *random; with step 0 every bit of the file. */
void mutants_of_bits(const struct layout *layout, size_t step, struct seeded_random *random,
                     mutant_sink *sink, void *user);
/* "section 4, coefficient's row at 1234: 4294967295". Returns text. */
const char *mutant_text(const struct mutant *mutant, char text[160]);

#endif
