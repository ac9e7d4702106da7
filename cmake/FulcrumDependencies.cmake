# Finds what the rooms use. Missing required packages are named together, with the Debian package to install.
if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW)  # Boost brings its own package file
endif()
find_package(Threads REQUIRED)
set(fulcrum_missing "")

macro(fulcrum_find package debian_name)
  find_package(${package} ${ARGN} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND fulcrum_missing ${debian_name})
  endif()
endmacro()

fulcrum_find(Boost libboost1.81-dev 1.81)
fulcrum_find(Eigen3 libeigen3-dev)
fulcrum_find(yaml-cpp libyaml-cpp-dev)
fulcrum_find(spdlog libspdlog-dev)
fulcrum_find(nlohmann_json nlohmann-json3-dev)
if(FULCRUM_BUILD_CLI)
  fulcrum_find(CLI11 libcli11-dev)
endif()
if(FULCRUM_BUILD_TESTS)
  fulcrum_find(GTest libgtest-dev)
endif()
if(FULCRUM_BUILD_BENCH)
  fulcrum_find(benchmark libbenchmark-dev)
endif()

# Packages without CMake files.
macro(fulcrum_find_plain name header library debian_name)
  find_path(${name}_INCLUDE_DIR ${header})
  find_library(${name}_LIBRARY NAMES ${library})
  if(${name}_INCLUDE_DIR AND ${name}_LIBRARY)
    if(NOT TARGET fulcrum_dep_${name})
      add_library(fulcrum_dep_${name} UNKNOWN IMPORTED GLOBAL)
      set_target_properties(fulcrum_dep_${name} PROPERTIES
        IMPORTED_LOCATION ${${name}_LIBRARY}
        INTERFACE_INCLUDE_DIRECTORIES "${${name}_INCLUDE_DIR}")
    endif()
    set(${name}_FOUND TRUE)
  else()
    set(${name}_FOUND FALSE)
    if(NOT "${debian_name}" STREQUAL "optional")
      list(APPEND fulcrum_missing ${debian_name})
    endif()
  endif()
endmacro()

fulcrum_find_plain(xxhash xxhash.h xxhash libxxhash-dev)
fulcrum_find_plain(zstd zstd.h zstd libzstd-dev)
fulcrum_find_plain(uring liburing.h uring optional)

if(fulcrum_missing)
  list(JOIN fulcrum_missing " " fulcrum_missing)
  message(FATAL_ERROR "Missing packages. Install them and configure again:\n"
                      "  apt-get install ${fulcrum_missing}\nscripts/install_dependencies.sh does it.")
endif()
if(NOT TARGET Boost::headers)
  add_library(Boost::headers ALIAS Boost::boost)
endif()

# Distributions build xxHash with run-time choice of vectors; a copy built otherwise gives the same values, slower.
include(CheckCXXSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES fulcrum_dep_xxhash)
check_cxx_source_compiles(
  "#include <xxh_x86dispatch.h>
   int main() { return static_cast<int>(XXH3_64bits_withSeed(nullptr, 0, 1) + XXH3_128bits_withSeed(nullptr, 0, 1).low64); }"
  FULCRUM_HAVE_XXHASH_DISPATCH)
unset(CMAKE_REQUIRED_LIBRARIES)

# CUDA is used by nothing yet; the summary says whether it is there.
find_package(CUDAToolkit QUIET)
