# A thin front of the CMake presets. `make` yields build/lib/libebb.so, build/lib/libebb.a, build/bin/ebb.

PREFIX ?= /usr/local
DESTDIR ?=
PRESET ?= release

.PHONY: all products check check-long demo bench bench-quick bench-real bench-servers golden install format lint clean

all:
	@command -v cmake >/dev/null && command -v ninja >/dev/null || { \
		echo 'make: cmake or ninja is missing; scripts/bootstrap installs what is needed' >&2; exit 1; }
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) >/dev/null
	@cmake --build --preset $(PRESET)

check:
	@scripts/check

check-long:
	@scripts/check --long

# What `make` yields without the tests and the benchmarks: the demo shall start soon.
products:
	@cmake --preset $(PRESET) $(CMAKE_FLAGS) >/dev/null
	@cmake --build --preset $(PRESET) --target ebb_shared ebb_static ebb_command

demo:
	@scripts/bootstrap demo
	@$(MAKE) --no-print-directory products
	@scripts/demo

bench:
	@scripts/bootstrap bench
	@$(MAKE) --no-print-directory all
	@scripts/bench

bench-quick:
	@scripts/bootstrap bench
	@$(MAKE) --no-print-directory all
	@scripts/bench --quick

# Real programs: redis, Python, Ruby, sqlite, gcc, ghostscript. `scripts/bench-real --help` has the options.
bench-real:
	@scripts/bootstrap real
	@$(MAKE) --no-print-directory all
	@scripts/bench-real

# ARGS goes to scripts/bench-servers: make bench-servers ARGS='--only redis --rounds 3'
bench-servers:
	@scripts/bootstrap servers
	@$(MAKE) --no-print-directory products
	@scripts/bench-servers $(ARGS)

# Accept the instruction counts of malloc and free as they are now (tests/golden).
golden: all
	@cmake --build --preset $(PRESET) --target golden

install: all
	@DESTDIR='$(DESTDIR)' cmake --install build/$(PRESET) --prefix '$(PREFIX)'

format:
	@scripts/format

lint:
	@scripts/lint

clean:
	rm -rf build
