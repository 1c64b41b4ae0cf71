# Test programs that are run on top of libebb, both ways a program can get it: by LD_PRELOAD and by
# being linked against it.
#
#   ebb_test_program(NAME SOURCE...)
#       builds NAME (no allocator of its own) and NAME-linked (linked with libebb.so)
#   ebb_test_archive(NAME "archive;static" SOURCE...)
#       builds NAME-archive (linked with libebb.a), NAME-static (and with a static C library), or one;
#       neither, nor their tests, with EBB_ARCHIVE_TESTS off
#   ebb_test_run(TEST PROGRAM NAME [ARGS ...] [ENV K=V ...] [REFUSE rule ...] [EXPECT option ...]
#                [WAYS preload linked archive static] [LABELS ...] [TIMEOUT seconds] [COST n] [SERIAL])
#       registers TEST (preload) and TEST.linked, or the WAYS that are named; with REFUSE the program runs under `refuse`, with
#       EXPECT it is judged by `expect`
#
# EBB_SHARED_TARGET names the target of libebb.so.
if(NOT DEFINED EBB_SHARED_TARGET)
	set(EBB_SHARED_TARGET ebb_shared)
endif()

set(EBB_SUPPORT_DIR ${CMAKE_CURRENT_LIST_DIR})
# -fno-builtin: the calls under test must reach the library, not the optimiser.
# -fsized-deallocation: clang 14 declares the sized forms of operator delete only then.
set(EBB_PROGRAM_FLAGS -fno-builtin -O1 -g $<$<COMPILE_LANGUAGE:CXX>:-fsized-deallocation>)

# Each area includes this file for its variables; the two launchers are built once.
if(NOT TARGET ebb-test-expect)
	add_executable(ebb-test-expect ${EBB_SUPPORT_DIR}/expect.c)
	add_executable(ebb-test-refuse ${EBB_SUPPORT_DIR}/refuse.c)
endif()

# Compiled once, linked both ways.
function(ebb_test_program name)
	add_library(${name}-objects OBJECT ${ARGN})
	target_include_directories(${name}-objects PRIVATE ${EBB_SUPPORT_DIR})
	# SYSTEM, as an installed header is.
	target_include_directories(${name}-objects SYSTEM PRIVATE ${EBB_SUPPORT_DIR}/../../include)
	target_compile_options(${name}-objects PRIVATE ${EBB_PROGRAM_FLAGS})
	foreach(target ${name} ${name}-linked)
		add_executable(${target} $<TARGET_OBJECTS:${name}-objects>)
		# No SHELL: one flag each; the library comes first, as in a real link line.
		target_link_options(${target} PRIVATE -pthread)
	endforeach()
	target_link_libraries(${name}-linked PRIVATE ${EBB_SHARED_TARGET})
	target_link_options(${name}-linked PRIVATE -Wl,--no-as-needed)
endfunction()

function(ebb_test_archive name ways)
	if(NOT EBB_ARCHIVE_TESTS)
		return()
	endif()
	foreach(way ${ways})
		set(target ${name}-${way})
		add_executable(${target} ${ARGN})
		target_include_directories(${target} PRIVATE ${EBB_SUPPORT_DIR})
		target_include_directories(${target} SYSTEM PRIVATE ${EBB_SUPPORT_DIR}/../../include)
		target_compile_options(${target} PRIVATE ${EBB_PROGRAM_FLAGS})
		add_dependencies(${target} ebb_static)
		target_link_libraries(${target} PRIVATE ${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libebb.a)
		target_link_options(${target} PRIVATE -pthread)
		if(way STREQUAL static)
			target_compile_definitions(${target} PRIVATE EBB_TEST_STATIC=1)
			target_link_options(${target} PRIVATE -static)
		else()
			set_target_properties(${target} PROPERTIES ENABLE_EXPORTS ON)
		endif()
	endforeach()
endfunction()

# Registers one test from the T_ variables of ebb_test_run, its caller.
function(ebb_test_register test way)
	set(environment EBB_TEST_EXPECT=ebb ${T_ENV})
	# In a cross build the launchers below are emulated, too, and start an emulator of their own.
	set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${T_PROGRAM}>)
	if(way STREQUAL preload)
		list(APPEND environment "LD_PRELOAD=$<TARGET_FILE:${EBB_SHARED_TARGET}>")
	else()
		set(program ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:${T_PROGRAM}-${way}>)
		# Another label: builds other than the release repeat the preloaded half only.
		list(TRANSFORM T_LABELS APPEND -linked)
	endif()
	set(passed)
	foreach(item ${environment})
		list(APPEND passed --env ${item})
	endforeach()
	# The launchers themselves run without the library and without its variable.
	set(launcher)
	if(DEFINED T_EXPECT AND DEFINED T_REFUSE)
		set(launcher ebb-test-expect ${T_EXPECT} -- ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:ebb-test-refuse>
			${T_REFUSE} ${passed} --)
	elseif(DEFINED T_EXPECT)
		set(launcher ebb-test-expect ${passed} ${T_EXPECT} --)
	elseif(DEFINED T_REFUSE)
		set(launcher ebb-test-refuse ${T_REFUSE} ${passed} --)
	endif()
	if(launcher)
		set(environment)
	endif()
	add_test(NAME ${test} COMMAND ${launcher} ${program} ${T_ARGS})
	set_tests_properties(${test} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}"
		ENVIRONMENT "${environment}")
	if(DEFINED T_COST)
		set_tests_properties(${test} PROPERTIES COST ${T_COST})
	endif()
	if(T_SERIAL)
		set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
	endif()
endfunction()

function(ebb_test_run test)
	cmake_parse_arguments(T "SERIAL" "PROGRAM;TIMEOUT;COST"
		"ARGS;ENV;REFUSE;EXPECT;LABELS;WAYS" ${ARGN})
	if(DEFINED T_UNPARSED_ARGUMENTS)
		message(FATAL_ERROR "${test}: what is '${T_UNPARSED_ARGUMENTS}'?")
	endif()
	if(NOT DEFINED T_WAYS)
		set(T_WAYS preload linked)
	endif()
	if(NOT DEFINED T_TIMEOUT)
		set(T_TIMEOUT 120) # machines are busy; tests themselves end within seconds
	endif()
	if(preload IN_LIST T_WAYS)
		ebb_test_register(${test} preload)
	endif()
	foreach(way linked archive static)
		if(way IN_LIST T_WAYS AND (way STREQUAL linked OR EBB_ARCHIVE_TESTS))
			ebb_test_register(${test}.${way} ${way})
		endif()
	endforeach()
endfunction()
