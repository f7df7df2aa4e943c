/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The tables of ff/field.h for one curve in one body; compiled once for each (see ff_instance.inc).
 */
#include "ff/field.h"

#include "ff/ff_instance.inc"

/* Both tables are the same lines over another type. The elements of struct pm_field are arrays of
 * words and an F is a struct of nothing but such an array, so the pointers convert: the words stay
 * words for the aliasing rules, and the asserts keep the layouts equal. */
_Static_assert(sizeof(fp) == 8 * FP_LIMBS && _Alignof(fp) == _Alignof(uint64_t), "fp is its words");
_Static_assert(sizeof(fr) == 8 * FR_LIMBS && _Alignof(fr) == _Alignof(uint64_t), "fr is its words");

#define F fp
#define F_LIMBS FP_LIMBS
#define F_REDUCE_WIDE NULL
#define F_CONST(x) PM_PARAM(FP_##x)
#include "ff/ff_table.inc"
#undef F
#undef F_LIMBS
#undef F_REDUCE_WIDE
#undef F_CONST

static void table_fr_reduce_wide(uint64_t *r, const uint64_t in[8]) {
    fr_reduce_wide((fr *)r, in);
}

#define F fr
#define F_LIMBS FR_LIMBS
#define F_REDUCE_WIDE table_fr_reduce_wide
#define F_CONST(x) PM_PARAM(FR_##x)
#include "ff/ff_table.inc"
#undef F
#undef F_LIMBS
#undef F_REDUCE_WIDE
#undef F_CONST
