# fulcrum_room(NAME [LINK rooms...] [PRIVATE_LINK libraries...])
#
# A room is one folder of the house, built as one static library from all its .cc files. LINK names the
# rooms that it may include from; tests/structure holds the includes against docs/architecture.md.
add_library(fulcrum_flags INTERFACE)
target_compile_features(fulcrum_flags INTERFACE cxx_std_20)
target_include_directories(fulcrum_flags INTERFACE
  ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR}/include ${PROJECT_SOURCE_DIR})
target_compile_options(fulcrum_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wunused-result
  $<$<BOOL:${FULCRUM_WERROR}>:-Werror>)
if(FULCRUM_SANITIZE)
  target_compile_options(fulcrum_flags INTERFACE
    -fsanitize=${FULCRUM_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(fulcrum_flags INTERFACE -fsanitize=${FULCRUM_SANITIZE})
  if(FULCRUM_SANITIZE MATCHES undefined)
    # The vptr check opens a pipe to look at memory, and errs in tests that take all descriptors away.
    target_compile_options(fulcrum_flags INTERFACE -fno-sanitize=vptr)
  endif()
  if(FULCRUM_SANITIZE MATCHES thread AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(fulcrum_flags INTERFACE -Wno-tsan)  # Boost.Asio uses fences, which it warns of
  endif()
endif()

function(fulcrum_room name)
  cmake_parse_arguments(PARSE_ARGV 1 ROOM "" "" "LINK;PRIVATE_LINK")
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  add_library(fulcrum_${name} STATIC ${sources})
  set_target_properties(fulcrum_${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_EXTENSIONS OFF)
  target_link_libraries(fulcrum_${name} PUBLIC fulcrum_flags Boost::headers)
  foreach(room IN LISTS ROOM_LINK)
    target_link_libraries(fulcrum_${name} PUBLIC fulcrum_${room})
  endforeach()
  target_link_libraries(fulcrum_${name} PRIVATE ${ROOM_PRIVATE_LINK})
endfunction()
