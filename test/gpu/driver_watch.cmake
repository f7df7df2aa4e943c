# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# What stands in for libcuda.so.1 and writes down what is asked of it (tools/gpu_test.sh runs it on
# a card), and its test over a driver of no card.
include_guard(GLOBAL)

# Each in a folder of its own, since all such libraries have one name.
foreach(name IN ITEMS watch stub)
    add_library(driver_${name} MODULE EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/driver_${name}.c)
    target_link_libraries(driver_${name} PRIVATE pm_flags ${CMAKE_DL_LIBS})
    set_target_properties(driver_${name} PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/driver_${name})
endforeach()

if(PM_BUILD_TESTS AND NOT PM_STATIC AND NOT CMAKE_CROSSCOMPILING)
    set_target_properties(driver_watch driver_stub PROPERTIES EXCLUDE_FROM_ALL OFF)
    add_executable(driver_probe ${CMAKE_CURRENT_LIST_DIR}/driver_probe.c)
    target_link_libraries(driver_probe PRIVATE pm_flags ${CMAKE_DL_LIBS})
    add_test(NAME gpu/driver_watch
             COMMAND ${CMAKE_CURRENT_LIST_DIR}/test_driver_watch.py
                     ${PROJECT_BINARY_DIR}/driver_watch_test $<TARGET_FILE:driver_probe>
                     $<TARGET_FILE:driver_watch> $<TARGET_FILE:driver_stub>)
    set_tests_properties(gpu/driver_watch PROPERTIES TIMEOUT 300)
endif()
