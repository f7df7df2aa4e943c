# SPDX-License-Identifier: Apache-2.0 OR MIT
#
# A thin face over the CMake presets (CMakePresets.json). `make help` lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/bash

# Parallel compile and test jobs. Tests start threads of their own.
JOBS ?= $(shell nproc)
# Which preset `make build`, `make test` and `make install` use: release, debug, tsan, clang.
PRESET ?= release
# Where `make install` puts things; DESTDIR is honoured.
PREFIX ?= /usr/local
BUILD := build/$(PRESET)
# Options of proofmill-bench for `make bench`.
BENCH ?=
# Seconds for each fuzz target of `make fuzz`.
FUZZ_SECONDS ?= 60
FUZZ_SOURCES := $(wildcard test/fuzz/fuzz_*.c)

# Tests in which threads meet: what the thread sanitizer is asked about.
THREADED := ^(par|poly|msm|groth16|api|engine)/|^shim/test_supraseal|^daemon/test_

configure = cmake --preset $(1) --log-level=NOTICE
build = $(call configure,$(1)) && cmake --build --preset $(1) -j $(JOBS)
run_tests = tools/run_tests.sh build/$(1) $(JOBS)

.PHONY: help
help:
	@echo "make demo            prove and verify something you choose: make demo INPUT=12345"
	@echo "make test            build and run the tests (10 minutes on 2 cores at most)"
	@echo "make test-full       everything slow too: sanitizers, clang, snarkjs, installation"
	@echo "make interop         compare with snarkjs (needs npm)"
	@echo "make bench           time every layer beside its floor; BENCH=\"--help\" lists options"
	@echo "make gpu             compile the CUDA library and its programs (needs nvcc, no card)"
	@echo "make gpu-test        test it on this machine's card; make gpu-bench: time it"
	@echo "make lint            style, layers, headers, generated files"
ifneq ($(FUZZ_SOURCES),)
	@echo "make fuzz            fuzz each target for FUZZ_SECONDS=$(FUZZ_SECONDS)"
endif
	@echo "make build           compile only; PRESET=release|debug|tsan|clang"
	@echo "make install         install under PREFIX=$(PREFIX) (DESTDIR is honoured)"
	@echo "make clean           remove what was built"
	@echo
	@echo "Each target first installs what it needs and this machine lacks (tools/setup.sh)."

.PHONY: setup
setup:
	@tools/setup.sh build

.PHONY: build
build: setup
	@$(call build,$(PRESET))

.PHONY: demo
demo: setup
	@$(call configure,release)
	@cmake --build --preset release -j $(JOBS) --target proofmill pm_demo_r1cs pm_demo_witness
	@demo/run.sh build/release $(INPUT)

.PHONY: test
test: build
	@$(call run_tests,$(PRESET)) -LE slow

.PHONY: test-full
test-full:
	@tools/setup.sh build full interop browser && tools/setup_interop.sh
	@$(MAKE) --no-print-directory lint
	@$(call build,release) && $(call run_tests,release)
	@$(call build,clang) && $(call run_tests,clang) -LE slow -E '^interop/'
	@$(call build,debug) && $(call run_tests,debug) -LE slow
	@$(call build,tsan) && $(call run_tests,tsan) -R '$(THREADED)'
	@JOBS=$(JOBS) tools/arm64.sh full
	@tools/memcheck.sh build/release

.PHONY: arm64
arm64:
	@JOBS=$(JOBS) tools/arm64.sh quick

.PHONY: static
static: setup
	@$(call build,static)
	@ls -l build/static/src/proofmill

.PHONY: interop
interop:
	@tools/setup.sh build interop && tools/setup_interop.sh
	@$(call build,release)
	@$(call run_tests,release) -R '^interop/' -V

.PHONY: bench
bench: setup
	@$(call configure,release)
	@cmake --build --preset release -j $(JOBS) --target proofmill-bench
	@build/release/bench/proofmill-bench $(BENCH)

.PHONY: gpu gpu-test gpu-bench
gpu:
	@$(call build,gpu)

gpu-test: gpu
	@tools/gpu_test.sh build/gpu

gpu-bench: gpu
	@build/gpu/proofmill-gpu-bench build/gpu/libproofmill-gpu.so.0 $(or $(BENCH),full)

.PHONY: lint
lint:
	@tools/setup.sh build lint
	@$(call configure,release)
	@tools/lint.sh build/release

.PHONY: fuzz
fuzz:
ifeq ($(FUZZ_SOURCES),)
	@echo "There is no fuzz target under test/fuzz." >&2; exit 1
else
	@tools/setup.sh build full
	@$(call build,fuzz)
	@tools/run_fuzz.sh build/fuzz $(FUZZ_SECONDS)
endif

.PHONY: install
install: build
	@cmake --install $(BUILD) --prefix $(PREFIX)

.PHONY: clean
clean:
	rm -rf build
