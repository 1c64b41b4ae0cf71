# `make install`: libraries, header with its .def file, the command, pkg-config file, man pages.

if(TARGET ebb_shared)
	install(TARGETS ebb_shared LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
	install(FILES "${CMAKE_ARCHIVE_OUTPUT_DIRECTORY}/libebb.a" DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()
if(TARGET ebb_command)
	install(TARGETS ebb_command RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
install(DIRECTORY "${CMAKE_SOURCE_DIR}/include/ebb" DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
	FILES_MATCHING PATTERN "*.h" PATTERN "*.def")
