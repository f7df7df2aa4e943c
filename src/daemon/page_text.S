/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* The live page as it lies in page.html, between pm_page and pm_page_end. */
    .section .rodata
    .globl pm_page, pm_page_end
    .type pm_page, @object
    .type pm_page_end, @object
pm_page:
    .incbin PM_PAGE
pm_page_end:
    .byte 0
    .size pm_page, pm_page_end - pm_page
    .section .note.GNU-stack,"",@progbits
