# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# libproofmill-gpu, a shared object of its own that the core opens when a device is asked for, and
# the programs that test and time it on a card. Only built with PM_GPU, which needs nvcc 12 or
# later. Machine code is for the card of this machine, or for sm_90 where there is none;
# CMAKE_CUDA_ARCHITECTURES overrides it.

if(NOT CMAKE_CUDA_ARCHITECTURES)
    if(EXISTS /dev/nvidia0)
        set(CMAKE_CUDA_ARCHITECTURES native)
    else()
        set(CMAKE_CUDA_ARCHITECTURES 90)
    endif()
endif()
if(NOT CMAKE_CUDA_COMPILER AND EXISTS /usr/local/cuda/bin/nvcc)
    set(CMAKE_CUDA_COMPILER /usr/local/cuda/bin/nvcc)
endif()
enable_language(CUDA CXX)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)
find_package(CUDAToolkit REQUIRED)

set(gpu_dir ${PROJECT_SOURCE_DIR}/src/gpu)
add_library(pm_gpu_flags INTERFACE)
target_include_directories(pm_gpu_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                           ${PROJECT_SOURCE_DIR}/src)
target_compile_options(pm_gpu_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-O3 -Xcompiler=-Wall,-Wextra,-Wno-unknown-pragmas>)

# pm_gpu_add_instances(<prefix> <objects variable> <source>...): one object library a curve.
function(pm_gpu_add_instances prefix objects)
    set(all "")
    foreach(curve IN LISTS PM_CURVES)
        string(TOUPPER ${curve} curve_upper)
        add_library(${prefix}_${curve} OBJECT ${ARGN})
        target_link_libraries(${prefix}_${curve} PRIVATE pm_gpu_flags)
        target_compile_definitions(${prefix}_${curve} PRIVATE PM_INSTANCE_CURVE=${curve}
                                   PM_INSTANCE_${curve_upper}=1)
        set_target_properties(${prefix}_${curve} PROPERTIES CUDA_VISIBILITY_PRESET hidden)
        list(APPEND all $<TARGET_OBJECTS:${prefix}_${curve}>)
    endforeach()
    set(${objects} ${all} PARENT_SCOPE)
endfunction()

file(GLOB gpu_instances CONFIGURE_DEPENDS ${gpu_dir}/*/*_instance.cu)
file(GLOB gpu_sources CONFIGURE_DEPENDS ${gpu_dir}/device/*.c ${gpu_dir}/op/*.c
     ${gpu_dir}/kernel/*.cu)
list(REMOVE_ITEM gpu_sources ${gpu_instances})
pm_gpu_add_instances(pm_gpu_kernels gpu_objects ${gpu_instances})

# What it needs of the core comes from the archive and stays inside.
add_library(proofmill_gpu SHARED ${gpu_sources} ${gpu_objects})
set_target_properties(proofmill_gpu PROPERTIES OUTPUT_NAME proofmill-gpu LINKER_LANGUAGE CUDA
                      VERSION ${PROJECT_VERSION} SOVERSION 0 CUDA_VISIBILITY_PRESET hidden)
target_include_directories(proofmill_gpu SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(proofmill_gpu PRIVATE $<$<COMPILE_LANGUAGE:C>:pm_flags> pm_gpu_flags
                      proofmill_static)
target_link_options(proofmill_gpu PRIVATE LINKER:--exclude-libs,ALL)

# Programs for a machine with a card. They link no test framework.
pm_gpu_add_instances(pm_gpu_card card_objects
                     ${PROJECT_SOURCE_DIR}/test/gpu/card_kernels_instance.cu)
file(GLOB card_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/gpu/card_*.c)
list(FILTER card_sources EXCLUDE REGEX "card_(msm_|prove|engine|partition|supraseal)")
add_executable(card_test EXCLUDE_FROM_ALL ${card_sources} ${card_objects}
               ${PROJECT_SOURCE_DIR}/test/gpu/card_device.cu)
target_include_directories(card_test PRIVATE ${PROJECT_SOURCE_DIR}/test ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(card_test PRIVATE proofmill_static ${CMAKE_DL_LIBS})
target_compile_definitions(card_test PRIVATE _GNU_SOURCE)

# Multi-scalar multiplication: tests and, with known results, times.
pm_gpu_add_instances(pm_gpu_card_msm card_msm_objects
                     ${PROJECT_SOURCE_DIR}/test/gpu/card_msm_kernels_instance.cu)
file(GLOB card_msm_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/test/gpu/card_msm_*.c)
add_executable(card_msm_test EXCLUDE_FROM_ALL ${card_msm_sources} ${card_msm_objects})
target_include_directories(card_msm_test PRIVATE ${PROJECT_SOURCE_DIR}/test
                           ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(card_msm_test PRIVATE proofmill_static ${CMAKE_DL_LIBS})
target_compile_definitions(card_msm_test PRIVATE _GNU_SOURCE)

# Whole proofs, compared with the CPU's and timed.
add_executable(card_prove EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/gpu/card_prove.c
               ${PROJECT_SOURCE_DIR}/test/gpu/card_prove_partition.c
               ${PROJECT_SOURCE_DIR}/test/gpu/card_partition.c
               ${PROJECT_SOURCE_DIR}/test/gpu/card_prove_ledger.c
               ${PROJECT_SOURCE_DIR}/bench/synthetic.c ${PROJECT_SOURCE_DIR}/bench/synthetic_plan.c)
target_include_directories(card_prove PRIVATE ${PROJECT_SOURCE_DIR}/test ${PROJECT_SOURCE_DIR}/src
                           ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/bench)
target_link_libraries(card_prove PRIVATE pm_flags proofmill_static ${CMAKE_DL_LIBS} m)
target_compile_definitions(card_prove PRIVATE _GNU_SOURCE)

# Many proofs through the engine, whose SQLite goes into the program: a machine with a card need not
# have it.
if(TARGET pm_engine)
    find_library(PM_SQLITE_ARCHIVE libsqlite3.a)
endif()
if(PM_SQLITE_ARCHIVE)
    add_executable(card_engine EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/gpu/card_engine.c
                   ${PROJECT_SOURCE_DIR}/test/gpu/card_engine_report.c
                   ${PROJECT_SOURCE_DIR}/test/gpu/card_engine_samples.c
                   ${PROJECT_SOURCE_DIR}/bench/synthetic.c
                   ${PROJECT_SOURCE_DIR}/bench/synthetic_plan.c $<TARGET_OBJECTS:pm_engine>)
    target_include_directories(card_engine PRIVATE ${PROJECT_SOURCE_DIR}/bench)
    target_link_libraries(card_engine PRIVATE pm_flags pm_sched proofmill_static
                          ${PM_SQLITE_ARCHIVE} ${CMAKE_DL_LIBS} m)
endif()

# A partition through supraseal-c2's interface. The drop-in, the watch and what they need find each
# other in one folder, wherever that is.
add_library(card_supraseal_watch MODULE EXCLUDE_FROM_ALL
            ${PROJECT_SOURCE_DIR}/test/gpu/card_supraseal_watch.c)
set_target_properties(card_supraseal_watch PROPERTIES PREFIX "")
add_executable(card_supraseal EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/gpu/card_supraseal.c
               ${PROJECT_SOURCE_DIR}/test/gpu/card_supraseal_file.c
               ${PROJECT_SOURCE_DIR}/test/gpu/card_supraseal_lend.c
               ${PROJECT_SOURCE_DIR}/test/gpu/card_supraseal_library.c
               ${PROJECT_SOURCE_DIR}/test/gpu/card_partition.c)
foreach(target IN ITEMS card_supraseal_watch card_supraseal)
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/test
                               ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
    target_link_libraries(${target} PRIVATE pm_flags)
    target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
endforeach()
target_link_libraries(card_supraseal PRIVATE proofmill_static ${CMAKE_DL_LIBS})
add_dependencies(card_supraseal card_supraseal_watch proofmill_supraseal_curio_shared)
set_target_properties(proofmill_supraseal_curio_shared PROPERTIES BUILD_RPATH "$ORIGIN")

include(${PROJECT_SOURCE_DIR}/test/gpu/driver_watch.cmake)

file(GLOB bench_instances CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/gpu/*_instance.cu)
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/gpu/*.c
     ${PROJECT_SOURCE_DIR}/bench/gpu/*.cu)
list(REMOVE_ITEM bench_sources ${bench_instances})
pm_gpu_add_instances(pm_gpu_bench bench_objects ${bench_instances})
add_executable(proofmill-gpu-bench EXCLUDE_FROM_ALL ${bench_sources} ${bench_objects})
target_include_directories(proofmill-gpu-bench PRIVATE ${PROJECT_SOURCE_DIR}/bench/gpu
                           ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
target_link_libraries(proofmill-gpu-bench PRIVATE proofmill_static ${CMAKE_DL_LIBS})
target_compile_definitions(proofmill-gpu-bench PRIVATE _GNU_SOURCE)

install(TARGETS proofmill_gpu LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})

add_custom_target(gpu_programs DEPENDS proofmill_gpu card_test card_msm_test card_prove
                  card_supraseal proofmill-gpu-bench driver_watch)
if(TARGET card_engine)
    add_dependencies(gpu_programs card_engine)
endif()
