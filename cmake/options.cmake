# Build options and the flags that every target shares.

set(EBB_BUILD "release" CACHE STRING "release, checked (cheap asserts), paranoid (full checks on slow paths)")
set_property(CACHE EBB_BUILD PROPERTY STRINGS release checked paranoid)
set(EBB_SANITIZE "" CACHE STRING "empty, address (with undefined) or thread")
set_property(CACHE EBB_SANITIZE PROPERTY STRINGS "" address thread)
option(EBB_WERROR "treat warnings as errors" ON)
option(EBB_TESTS "build and register the tests" ON)
# Off where only the library is wanted: a cross build needs none of the command's libraries for its target then.
option(EBB_COMMAND "build the command ebb" ON)
option(EBB_CXX_TESTS "there is a C++ library of the target's C library: build the tests in C++" ON)
option(EBB_ARCHIVE_TESTS "build test programs on the archive, too" ON)
set(EBB_AREAS "" CACHE STRING "the directories of tests/ that are built; empty for all, and the benchmarks")

# Where lib/ and bin/ go. The release preset points it at build/, so that `make` yields
# build/lib/libebb.so and build/bin/ebb whatever the name of the build directory.
set(EBB_OUTPUT_DIR "${CMAKE_BINARY_DIR}" CACHE PATH "directory that receives lib/ and bin/")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${EBB_OUTPUT_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${EBB_OUTPUT_DIR}/lib")
set(EBB_BIN_DIR "${EBB_OUTPUT_DIR}/bin")

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# One build type for everything. CMake's own RelWithDebInfo would add -DNDEBUG and so switch off
# the assert()s of tests.
if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
endif()
set(CMAKE_C_FLAGS_RELWITHDEBINFO "-O2 -g")
set(CMAKE_CXX_FLAGS_RELWITHDEBINFO "-O2 -g")

add_compile_options(-Wall -Wextra -Wundef -Wshadow -Wvla
	$<$<COMPILE_LANGUAGE:C>:-Wmissing-prototypes>
	$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes>)
if(EBB_WERROR)
	add_compile_options(-Werror)
endif()
# File names in messages are relative to the source tree: short, and the same on every machine.
add_compile_options("-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=")

# The GNU interfaces, for every C file: do not define it again in a file. (C++ compilers do it themselves.)
add_compile_definitions($<$<COMPILE_LANGUAGE:C>:_GNU_SOURCE>)

# -Wundef insists that each of these is always defined, to 0 or to 1.
set(ebb_checked 0)
set(ebb_paranoid 0)
set(EBB_SANITIZED 0)
if(EBB_BUILD STREQUAL "checked")
	set(ebb_checked 1)
elseif(EBB_BUILD STREQUAL "paranoid")
	set(ebb_checked 1)
	set(ebb_paranoid 1)
elseif(NOT EBB_BUILD STREQUAL "release")
	message(FATAL_ERROR "EBB_BUILD is '${EBB_BUILD}': expected release, checked or paranoid")
endif()

if(EBB_SANITIZE STREQUAL "address")
	set(EBB_SANITIZED 1)
	set(ebb_sanitizer -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(EBB_SANITIZE STREQUAL "thread")
	set(EBB_SANITIZED 1)
	set(ebb_sanitizer -fsanitize=thread)
elseif(NOT EBB_SANITIZE STREQUAL "")
	message(FATAL_ERROR "EBB_SANITIZE is '${EBB_SANITIZE}': expected nothing, address or thread")
endif()
if(EBB_SANITIZED)
	add_compile_options(${ebb_sanitizer} -fno-omit-frame-pointer)
	add_link_options(${ebb_sanitizer})
endif()
add_compile_definitions(EBB_CHECKED=${ebb_checked} EBB_PARANOID=${ebb_paranoid} EBB_SANITIZED=${EBB_SANITIZED})

find_package(Threads REQUIRED)
