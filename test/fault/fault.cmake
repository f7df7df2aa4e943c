# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# The interposer (fault_interposer.h) in its two shapes.

set(fault_functions malloc calloc realloc free posix_memalign mmap munmap open fstat stat fchmod
    read pread write rename linkat fsync fdatasync ftruncate pthread_create getrandom)

# For test programs of this layer: the linker sends their calls through it.
add_library(pm_fault_wrapped OBJECT ${CMAKE_CURRENT_LIST_DIR}/fault_interposer.c)
target_compile_definitions(pm_fault_wrapped PRIVATE PM_FAULT_WRAPPED)
target_include_directories(pm_fault_wrapped PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
target_link_libraries(pm_fault_wrapped PRIVATE pm_flags)
foreach(function IN LISTS fault_functions)
    target_link_options(pm_fault_wrapped INTERFACE LINKER:--wrap=${function})
endforeach()

# For the command: LD_PRELOAD. A sanitizer's runtime wants to be first, so not with those.
if(NOT PM_SANITIZE)
    add_library(pm_fault_preloaded MODULE ${CMAKE_CURRENT_LIST_DIR}/fault_interposer.c)
    target_include_directories(pm_fault_preloaded PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
    target_link_libraries(pm_fault_preloaded PRIVATE pm_flags ${CMAKE_DL_LIBS})
    set_target_properties(pm_fault_preloaded PROPERTIES C_VISIBILITY_PRESET default)
endif()

if(PM_BUILD_CLI AND NOT PM_SANITIZE)
    set(fault_cli ${CMAKE_CURRENT_LIST_DIR}/test_fault_cli.py $<TARGET_FILE:proofmill>
        $<TARGET_FILE:pm_fault_preloaded>)
    add_test(NAME fault/cli COMMAND ${fault_cli})
    add_test(NAME fault/cli_slow COMMAND ${fault_cli} --slow)
    set_tests_properties(fault/cli PROPERTIES TIMEOUT 900)
    set_tests_properties(fault/cli_slow PROPERTIES TIMEOUT 3600 LABELS slow)
endif()
