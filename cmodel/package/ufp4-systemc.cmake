# SPDX-License-Identifier: Apache-2.0
# ufp4_find_systemc(SCOPE PLACE) finds SystemC, for this project (SCOPE is GLOBAL) and for those that link what it
# installs (SCOPE is "").
#
# CMAKE_PREFIX_PATH is searched first, then PLACE, the folder of an earlier search. A CMake package (SystemCLanguage, from
# SystemC's own CMake) is preferred to a .pc file (from configure, or Debian's). An existing target SystemC::systemc is
# used. A change of the paths repeats the search.
# Sets for the caller, all empty if SystemC is not found:
#   UFP4_SYSTEMC_LIBRARY  the target to link
#   UFP4_SYSTEMC_VERSION  like 2.3.4
#   UFP4_SYSTEMC_PLACE    the folder of the CMake package or of the .pc file
function(ufp4_find_systemc scope place)
  set(paths ${CMAKE_PREFIX_PATH})
  string(REPLACE ":" ";" more "$ENV{CMAKE_PREFIX_PATH}")
  list(APPEND paths ${more})
  string(MD5 key "${paths}|${place}|$ENV{PKG_CONFIG_PATH}|$ENV{PKG_CONFIG_LIBDIR}")
  string(SUBSTRING ${key} 0 8 key)
  set(pc UFP4_SYSTEMC_${key})
  if(NOT key STREQUAL "${UFP4_SYSTEMC_KEY}" AND "${SystemCLanguage_DIR}" STREQUAL "${UFP4_SYSTEMC_DIR}")
    unset(SystemCLanguage_DIR CACHE) # an earlier search found it by other paths
  endif()
  set(UFP4_SYSTEMC_KEY ${key} CACHE INTERNAL "of the paths by which SystemC was looked for")

  set(pc_folder "")
  if(TARGET SystemC::systemc)
    set(SystemCLanguage_FOUND ON)
  else()
    find_package(SystemCLanguage CONFIG QUIET NO_SYSTEM_ENVIRONMENT_PATH NO_CMAKE_PACKAGE_REGISTRY NO_CMAKE_SYSTEM_PATH
      NO_CMAKE_SYSTEM_PACKAGE_REGISTRY)
    find_package(PkgConfig QUIET)
    if(PkgConfig_FOUND AND NOT SystemCLanguage_FOUND)
      set(before "$ENV{PKG_CONFIG_PATH}")
      set(ENV{PKG_CONFIG_PATH} "$ENV{PKG_CONFIG_PATH}:${place}")
      pkg_check_modules(${pc} QUIET IMPORTED_TARGET ${scope} systemc)
      pkg_get_variable(pc_folder systemc pcfiledir)
      set(ENV{PKG_CONFIG_PATH} "${before}")
    endif()
    set(named OFF)
    foreach(path ${paths} ${place})
      string(REGEX REPLACE "/+$" "" path "${path}")
      string(FIND "${pc_folder}/" "${path}/" at)
      if(at EQUAL 0)
        set(named ON)
      endif()
    endforeach()
    if(NOT SystemCLanguage_FOUND AND NOT named)
      find_package(SystemCLanguage CONFIG QUIET HINTS ${place})
    endif()
    if(SystemCLanguage_FOUND AND scope)
      set_target_properties(SystemC::systemc PROPERTIES IMPORTED_GLOBAL ON)
    endif()
  endif()

  set(UFP4_SYSTEMC_LIBRARY "" PARENT_SCOPE)
  set(version "")
  set(found "")
  if(SystemCLanguage_FOUND)
    set(UFP4_SYSTEMC_LIBRARY SystemC::systemc PARENT_SCOPE)
    set(version "${SystemCLanguage_VERSION}")
    set(found "${SystemCLanguage_DIR}")
    set(UFP4_SYSTEMC_DIR "${SystemCLanguage_DIR}" CACHE INTERNAL "where SystemC was found by them")
  elseif(${pc}_FOUND)
    set(UFP4_SYSTEMC_LIBRARY PkgConfig::${pc} PARENT_SCOPE)
    set(version "${${pc}_VERSION}")
    set(found "${pc_folder}")
  endif()
  string(REGEX MATCH "^[0-9]+\\.[0-9]+\\.[0-9]+" version "${version}") # a package's version may end in the release date
  set(UFP4_SYSTEMC_VERSION "${version}" PARENT_SCOPE)
  set(UFP4_SYSTEMC_PLACE "${found}" PARENT_SCOPE)
endfunction()
