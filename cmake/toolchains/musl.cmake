# The same machine with musl as its C library, by Debian's musl-tools.
#
# There is no C++ library for musl in Debian: CXX is named because the project has that language, and nothing is
# built with it. musl-gcc looks for headers at musl's only, so the kernel's own are linked to from the build.
set(CMAKE_C_COMPILER musl-gcc)
set(CMAKE_CXX_COMPILER g++)
set(EBB_CXX_TESTS OFF CACHE BOOL "" FORCE)
set(EBB_MUSL ON)
foreach(headers linux asm-generic x86_64-linux-gnu/asm)
	get_filename_component(name "${headers}" NAME)
	if(NOT EXISTS "${CMAKE_BINARY_DIR}/kernel-headers/${name}")
		file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/kernel-headers")
		file(CREATE_LINK "/usr/include/${headers}" "${CMAKE_BINARY_DIR}/kernel-headers/${name}" SYMBOLIC)
	endif()
endforeach()
set(CMAKE_C_FLAGS_INIT "-idirafter ${CMAKE_BINARY_DIR}/kernel-headers")
