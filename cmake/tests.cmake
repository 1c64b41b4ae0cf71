# Helpers for tests, and the tests' own inclusion.
#
# A test is named <area>.<name>, carries its area (or what it is) as a ctest label, and has a
# TIMEOUT. Labels: unit stress misuse model conform life preload cli budget fuzz lint layering docs packaging long.
# A test labelled `long` runs in `make check-long` only.

if(NOT EBB_TESTS)
	return()
endif()
enable_testing()

# ebb_test_properties(<test> <label> <timeout-seconds> [COST <seconds>] [SERIAL])
function(ebb_test_properties test label timeout)
	cmake_parse_arguments(arg "SERIAL" "COST" "" ${ARGN})
	set_tests_properties(${test} PROPERTIES LABELS "${label}" TIMEOUT ${timeout}
		ENVIRONMENT "EBB_LIB_DIR=${CMAKE_LIBRARY_OUTPUT_DIRECTORY};EBB_BIN_DIR=${EBB_BIN_DIR};EBB_SOURCE_DIR=${CMAKE_SOURCE_DIR}")
	if(arg_COST)
		set_tests_properties(${test} PROPERTIES COST ${arg_COST})
	endif()
	if(arg_SERIAL)
		set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
	endif()
endfunction()

# ebb_add_unit(<layer> <name> [TIMEOUT <seconds>]): tests/unit/<layer>/<name>.c, linked to the objects of
# base..<layer> and nothing else. Test and executable are named unit.<layer>.<name>.
function(ebb_add_unit layer name)
	cmake_parse_arguments(arg "" "TIMEOUT" "" ${ARGN})
	if(NOT arg_TIMEOUT)
		set(arg_TIMEOUT 180) # it ends what hangs, not what a busy machine lets wait
	endif()
	set(test unit.${layer}.${name})
	add_executable(${test} "${CMAKE_SOURCE_DIR}/tests/unit/${layer}/${name}.c")
	ebb_link_layers(${test} ${layer})
	target_include_directories(${test} PRIVATE "${CMAKE_SOURCE_DIR}/tests/unit")
	set_target_properties(${test} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/unit")
	add_test(NAME ${test} COMMAND ${test})
	ebb_test_properties(${test} unit ${arg_TIMEOUT})
endfunction()

# --- Layering: link check. base..N alone must make a shared object with no undefined symbol, so
# --- that an upcall declared by hand fails to link.

function(ebb_add_link_checks)
	foreach(layer IN LISTS EBB_ALL_LAYERS)
		if(NOT TARGET ${layer})
			continue()
		endif()
		set(target closed_${layer})
		add_library(${target} SHARED EXCLUDE_FROM_ALL)
		ebb_link_layers(${target} ${layer})
		target_link_options(${target} PRIVATE -Wl,-z,defs)
		set_target_properties(${target} PROPERTIES LINKER_LANGUAGE C
			LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests/layering")
		add_test(NAME layering.link.${layer}
			COMMAND "${CMAKE_COMMAND}" --build "${CMAKE_BINARY_DIR}" --target ${target})
		# One lock for all: they call the build tool on the same build directory.
		ebb_test_properties(layering.link.${layer} layering 120)
		set_tests_properties(layering.link.${layer} PROPERTIES RESOURCE_LOCK build_directory)
	endforeach()
endfunction()

# A sanitizer's runtime leaves symbols to be resolved by the executable: no link check there.
if(NOT EBB_SANITIZED)
	ebb_add_link_checks()
endif()

add_test(NAME layering.includes COMMAND "${CMAKE_SOURCE_DIR}/scripts/check-includes")
ebb_test_properties(layering.includes layering 60)

# --- The areas

file(GLOB areas CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/tests/*/CMakeLists.txt" "${CMAKE_SOURCE_DIR}/bench/CMakeLists.txt")
if(EBB_AREAS)
	set(areas ${EBB_AREAS})
	list(TRANSFORM areas PREPEND "${CMAKE_SOURCE_DIR}/tests/")
	list(TRANSFORM areas APPEND "/CMakeLists.txt")
endif()
foreach(area IN LISTS areas)
	get_filename_component(directory "${area}" DIRECTORY)
	add_subdirectory("${directory}")
endforeach()
