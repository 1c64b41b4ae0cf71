# `make install`: libraries, header with its .def file, the command, pkg-config file, man pages, completions.

if(TARGET ebb_shared)
	install(TARGETS ebb_shared LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
	install(FILES "${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libebb.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET ebb_command)
	install(TARGETS ebb_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/ebb" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
	FILES_MATCHING PATTERN "*.h" PATTERN "*.def")

file(RELATIVE_PATH EBB_PC_TO_PREFIX "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
string(REGEX REPLACE "/$" "" EBB_PC_TO_PREFIX "${EBB_PC_TO_PREFIX}")
configure_file("${CMAKE_SOURCE_DIR}/packaging/ebb.pc.in" "${CMAKE_BINARY_DIR}/ebb.pc" @ONLY)
install(FILES "${CMAKE_BINARY_DIR}/ebb.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")

# Man pages lie in packaging/man as name.section.
foreach(section 1 3 5 7 8)
	file(GLOB pages CONFIGURE_DEPENDS "${CMAKE_SOURCE_DIR}/packaging/man/*.${section}")
	if(pages)
		install(FILES ${pages} DESTINATION "${CMAKE_INSTALL_MANDIR}/man${section}")
	endif()
endforeach()

# ebb report --html builds Chart.js into ebb: its licence goes with it.
if(TARGET ebb_command)
	install(FILES "${CMAKE_SOURCE_DIR}/src/report/html/chart-licence.txt" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
endif()

# Completions, where each shell looks by itself. `ebb completion SHELL` prints them; a test holds them to that.
if(TARGET ebb_command)
	set(completions "${CMAKE_SOURCE_DIR}/packaging/completions")
	install(FILES "${completions}/ebb.bash" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions" RENAME ebb)
	install(FILES "${completions}/_ebb" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
	install(FILES "${completions}/ebb.fish" DESTINATION "${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d")
endif()
