# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# The services of the daemon without its sockets (service_world.h), for tests and fuzzers.

include_guard(GLOBAL)
file(GLOB service_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/daemon/service_*.c)
add_library(pm_service_world STATIC ${CMAKE_CURRENT_LIST_DIR}/service_world.c ${service_sources})
target_include_directories(pm_service_world PUBLIC ${CMAKE_CURRENT_LIST_DIR}/..
                           ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(pm_service_world PRIVATE pm_flags
                      PUBLIC pm_messages pm_json proofmill_engine_static)
