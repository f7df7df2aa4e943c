# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# What stands in for libcuda.so.1 and writes down what is asked of it (tools/gpu_test.sh runs it on
# a card), and a driver of no card for its test. Each in a folder of its own, since all such
# libraries have one name.
include_guard(GLOBAL)
foreach(name IN ITEMS watch stub)
    add_library(driver_${name} MODULE EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/driver_${name}.c)
    target_link_libraries(driver_${name} PRIVATE pm_flags ${CMAKE_DL_LIBS})
    set_target_properties(driver_${name} PROPERTIES OUTPUT_NAME cuda SUFFIX .so.1
                          LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/driver_${name})
endforeach()
