# What `make` yields: lib/libebb.so, lib/libebb.a, bin/ebb.
#
# Sanitized builds make no libebb: a sanitizer brings its own malloc. Their tests link the layers
# up to heap or stats statically, without the malloc names.

if(TARGET api AND NOT EBB_SANITIZED)
	ebb_layers_up_to(api library_layers)
	add_library(ebb_shared SHARED)
	target_link_libraries(ebb_shared PRIVATE ${library_layers})
	set_target_properties(ebb_shared PROPERTIES OUTPUT_NAME ebb LINKER_LANGUAGE C)
	target_link_options(ebb_shared PRIVATE
		-Wl,-z,now -Wl,-z,relro -Wl,-z,defs -Wl,-z,noexecstack -Wl,--as-needed -Wl,-soname,libebb.so
		# A dlclose must not take the code away from under the scavenger and ending threads.
		-Wl,-z,nodelete)
	# dlopen stands in for libc's, so it is not for the archive. Its sibling call needs the optimiser in every build.
	include(CheckSymbolExists)
	set(CMAKE_REQUIRED_DEFINITIONS -D_GNU_SOURCE)
	check_symbol_exists(RTLD_DEEPBIND dlfcn.h EBB_HAVE_DEEPBIND)
	unset(CMAKE_REQUIRED_DEFINITIONS)
	if(EBB_HAVE_DEEPBIND)
		set(dlopen "${CMAKE_SOURCE_DIR}/src/api/preload/dlopen.c")
		target_sources(ebb_shared PRIVATE "${dlopen}")
		set_source_files_properties("${dlopen}" PROPERTIES COMPILE_OPTIONS "${ebb_heap_flags};-O2")
		target_link_libraries(ebb_shared PRIVATE ${CMAKE_DL_LIBS})
	endif()
	set(mmap "${CMAKE_SOURCE_DIR}/src/api/preload/mmap.c")
	target_sources(ebb_shared PRIVATE "${mmap}")
	set_source_files_properties("${mmap}" PROPERTIES COMPILE_OPTIONS "${ebb_heap_flags};-O2")
	set(exports "${CMAKE_SOURCE_DIR}/src/api/exports.map")
	if(EXISTS "${exports}")
		target_link_options(ebb_shared PRIVATE "-Wl,--version-script=${exports}")
		set_target_properties(ebb_shared PROPERTIES LINK_DEPENDS "${exports}")
	endif()

	# The archive holds one object in which every internal name is local: a program that links it
	# gets the whole malloc family or none of it, and no ebbi_ name can meet one of its own.
	set(objects "")
	foreach(layer IN LISTS library_layers)
		list(APPEND objects "$<TARGET_OBJECTS:${layer}>")
	endforeach()
	set(archive "${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libebb.a")
	set(whole "${CMAKE_BINARY_DIR}/ebb.o")
	add_custom_command(OUTPUT "${archive}"
		COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}"
		COMMAND "${CMAKE_C_COMPILER}" ${EBB_TARGET_FLAGS} -nostdlib -r -o "${whole}" ${objects}
		COMMAND "${CMAKE_OBJCOPY}" --localize-hidden "${whole}"
		COMMAND "${CMAKE_COMMAND}" -E rm -f "${archive}"
		COMMAND "${CMAKE_AR}" rcs "${archive}" "${whole}"
		DEPENDS ${objects}
		COMMAND_EXPAND_LISTS
		COMMENT "Linking libebb.a"
		VERBATIM)
	add_custom_target(ebb_static ALL DEPENDS "${archive}")
endif()

if(TARGET cli)
	ebb_layers_up_to(cli command_layers)
	add_executable(ebb_command)
	target_link_libraries(ebb_command PRIVATE ${command_layers})
	set_target_properties(ebb_command PROPERTIES
		OUTPUT_NAME ebb LINKER_LANGUAGE C RUNTIME_OUTPUT_DIRECTORY "${EBB_BIN_DIR}")
	target_link_options(ebb_command PRIVATE -Wl,-z,now -Wl,-z,relro -Wl,--as-needed)
endif()
