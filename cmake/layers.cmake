# The layers, bottom to top. Includes and calls only ever point down; scripts/check-includes and
# the link check in tests.cmake hold that line.
#
# A layer is src/<layer>/*.c in one OBJECT library named <layer>. A directory without a .c file
# (a layer not written yet, or one of headers only) makes no library and breaks nothing.
# An optional src/<layer>/CMakeLists.txt is included after that; it may add what the layer needs:
#
#   find_package(PkgConfig REQUIRED)
#   pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-0.1)
#   target_link_libraries(lab PUBLIC PkgConfig::YAML)

set(EBB_LIBRARY_LAYERS base config platform policy pages slabs caches heap accounts stats api)

# The command stands on base alone and never links the heap: it reads other processes from outside.
set(EBB_COMMAND_LAYERS base observe doctor lab report cli)
if(NOT EBB_COMMAND)
	set(EBB_COMMAND_LAYERS base)
endif()

# What malloc itself is made of. The compiler must not turn malloc+memset into calloc inside
# calloc, nor assume that two mallocs never alias.
set(ebb_heap_flags
	-fPIC
	-fvisibility=hidden
	-ftls-model=initial-exec
	-fno-plt
	-fno-semantic-interposition
	-fno-math-errno
	-fno-builtin-malloc
	-fno-builtin-calloc
	-fno-builtin-realloc
	-fno-builtin-free
	-fno-builtin-aligned_alloc
	-fno-builtin-memalign
	-fno-builtin-posix_memalign)
# operator new throws through frames of C: they need unwind tables and cleanups.
set(ebb_api_flags -fno-builtin -fexceptions)

function(ebb_add_layer layer)
	file(GLOB sources CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/src/${layer}/*.c")
	if(NOT sources)
		return()
	endif()
	add_library(${layer} OBJECT ${sources})
	target_include_directories(${layer} PUBLIC "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/include")
	# PIC everywhere: the link check makes a shared object of any stack of layers.
	set_target_properties(${layer} PROPERTIES POSITION_INDEPENDENT_CODE ON)
	if(layer IN_LIST EBB_LIBRARY_LAYERS)
		target_compile_options(${layer} PRIVATE ${ebb_heap_flags})
	endif()
	if(layer STREQUAL "api")
		target_compile_options(${layer} PRIVATE ${ebb_api_flags})
	endif()
	target_link_libraries(${layer} PUBLIC Threads::Threads)
	if(EXISTS "${CMAKE_SOURCE_DIR}/src/${layer}/CMakeLists.txt")
		include("${CMAKE_SOURCE_DIR}/src/${layer}/CMakeLists.txt")
	endif()
endfunction()

set(EBB_ALL_LAYERS ${EBB_LIBRARY_LAYERS} ${EBB_COMMAND_LAYERS})
list(REMOVE_DUPLICATES EBB_ALL_LAYERS)
foreach(layer IN LISTS EBB_ALL_LAYERS)
	ebb_add_layer(${layer})
endforeach()

# ebb_layers_up_to(<layer> <ret>): the existing layers of the stack that <layer> belongs to, from
# base up to and with <layer>.
function(ebb_layers_up_to layer ret)
	if(layer IN_LIST EBB_LIBRARY_LAYERS)
		set(stack ${EBB_LIBRARY_LAYERS})
	elseif(layer IN_LIST EBB_COMMAND_LAYERS)
		set(stack ${EBB_COMMAND_LAYERS})
	else()
		message(FATAL_ERROR "no layer named '${layer}'")
	endif()
	set(found "")
	foreach(each IN LISTS stack)
		if(TARGET ${each})
			list(APPEND found ${each})
		endif()
		if(each STREQUAL layer)
			break()
		endif()
	endforeach()
	set(${ret} "${found}" PARENT_SCOPE)
endfunction()

# ebb_link_layers(<target> <layer>): link the objects of base..<layer> into <target>, and nothing above.
function(ebb_link_layers target layer)
	ebb_layers_up_to(${layer} stack)
	target_link_libraries(${target} PRIVATE ${stack})
	target_include_directories(${target} PRIVATE "${CMAKE_SOURCE_DIR}/src" "${CMAKE_SOURCE_DIR}/include")
endfunction()
