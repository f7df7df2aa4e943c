# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# Memory as the kernel and libc see it, beside what the command says of itself. The circuits are
# made once for all of these tests.

if(PM_BUILD_CLI AND PM_BUILD_BENCH)
    set(memory_circuits ${PROJECT_BINARY_DIR}/memory_circuits)
    # A sanitizer's own memory is in no plan: only what the command tells is tried with one.
    set(memory_sets fast slow)
    set(memory_least "")
    if(PM_SANITIZE)
        set(memory_sets fast)
        set(memory_least --least)
    endif()
    foreach(size IN LISTS memory_sets)
        set(option ${memory_least})
        set(limits TIMEOUT 900)
        if(size STREQUAL slow)
            set(option --slow)
            set(limits TIMEOUT 3600 LABELS slow)
        endif()
        add_test(NAME memory/circuits_${size}
                 COMMAND ${CMAKE_CURRENT_LIST_DIR}/make_memory_circuits.py ${memory_circuits}
                         $<TARGET_FILE:proofmill> $<TARGET_FILE:pm_synthetic> ${option})
        set_tests_properties(memory/circuits_${size} PROPERTIES
                             FIXTURES_SETUP memory_circuits_${size} RESOURCE_LOCK memory_circuits
                             ${limits})
        if(PM_SANITIZE)
            continue()
        endif()
        foreach(name rss caps bytes_per_constraint ledger_is_true)
            set(recorder "")
            if(name STREQUAL ledger_is_true)
                set(recorder $<TARGET_FILE:pm_allocation_recorder>)
            endif()
            add_test(NAME memory/${name}_${size}
                     COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_${name}.py ${memory_circuits}
                             $<TARGET_FILE:proofmill> ${recorder} ${option})
            set_tests_properties(memory/${name}_${size} PROPERTIES
                                 FIXTURES_REQUIRED memory_circuits_${size} ${limits})
        endforeach()
    endforeach()
    add_test(NAME memory/cli COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_memory_cli.py ${memory_circuits}
                                     $<TARGET_FILE:proofmill>)
    set_tests_properties(memory/cli PROPERTIES FIXTURES_REQUIRED memory_circuits_fast TIMEOUT 900)
endif()
if(NOT PM_SANITIZE)
    add_library(pm_allocation_recorder MODULE ${CMAKE_CURRENT_LIST_DIR}/allocation_recorder.c)
    target_link_libraries(pm_allocation_recorder PRIVATE pm_flags)
    set_target_properties(pm_allocation_recorder PROPERTIES C_VISIBILITY_PRESET default)
endif()
