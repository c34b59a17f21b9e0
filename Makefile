# Two commands set everything up on a fresh machine: `make demo` and `make test`.
# The resolver would take the newest torch; torchvision and the zoo are tested with this one.
TORCH   := 2.13.0
PYTHON  ?= python3
DEMO    ?= work/demo
VENV    := .venv
BIN     := $(VENV)/bin
STAMP   := $(VENV)/.installed
KERNEL  := $(VENV)/.kernel
# google/rpc/status.proto comes with googleapis-common-protos.
LIBRARY := $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
PROTOC  := $(BIN)/python -m grpc_tools.protoc -Iproto -I$(LIBRARY) proto/nar/v1/retrieval.proto
APT     := apt-get -qq -o APT::Sandbox::User=$$(id -un)
# Without what it recommends, which is mostly drivers of graphics cards.
BROWSE  := DEBIAN_FRONTEND=noninteractive $(APT) install -y --no-install-recommends chromium fonts-liberation
PIP     := install -qq --no-compile --disable-pip-version-check

# Many short processes import torch here: without byte code each compiles it anew, for seconds.
export PYTHONDONTWRITEBYTECODE :=

# What a campaign has done is a line of a log, of which `make reliability` makes a page.
LOG     ?= work/campaigns.log
# Tests wait for processes much of the time, so that there are more of these than cores.
PROCESSES ?= 4
SPREAD    = -n $(PROCESSES) --dist loadscope --no-loadscope-reorder
# What the kernel does where it is built, once more without it. Ranks that learn together, and who
# has more features than memory, read graphs as one does: their tests start processes with torch, and
# say nothing of the kernel. The paper's encoder asks it for motifs alone, as tests/motifs do.
READ      = tests/motifs tests/encoding tests/test_canonical.py tests/test_fingerprints.py \
            --ignore=tests/encoding/test_together.py --ignore=tests/encoding/test_larger_than_memory.py \
            --ignore-glob='*/encoding/test_paper_*'
# What `make bench` runs; with KEEP=results/bench its figures are the stored ones from then on.
BENCHES ?= motifs capture darts embed kernel serve vectors memory cli page peers jobs
KEEP    ?=
# Sizes of `make scale`, and where it keeps what it has.
SIZES   ?= 30000 100000
SCALE   ?= work/scale
# Of `make faults`: how many runs, drawn from what, and where each is a line.
RUNS    ?= 100
SEED    ?= 1
FAULTS  ?= work/faults.jsonl
CAMPAIGN := $(BIN)/python -m benchmark campaign
# Of `make matrix`: interpreters, or their versions, with what is taken of every dependency.
MATRIX  ?= 3.11:lowest-direct 3.12:highest 3.13:highest
EXTRAS  ?= capture cluster cyclonedx index keras mcp pandas plots trace zoo
UV      := build/matrix/uv/bin/uv

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint types docs proto proto-check pytest without-kernel quick kernel-check matrix extras faults campaigns reliability bench scale fleet fleet-hundred hub results notebook pictures week lock prometheus milvus s3 chromium clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: $(STAMP) $(KERNEL)  ## make .venv from requirements.lock (a few minutes)

$(STAMP): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("NAR needs Python 3.11 or newer" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into $(VENV) from requirements.lock: a few minutes, once"
	@$(PYTHON) -m venv $(VENV)
	@# The lock is the whole closure, and in one case not the package that others name.
	@$(BIN)/pip $(PIP) --no-deps -r requirements.lock
	@$(BIN)/pip $(PIP) --no-deps -e .
	@touch $@

# Never a reason to stop: without it Python and numpy do its work, to the same bit.
$(KERNEL): kernel/pyproject.toml kernel/CMakeLists.txt $(wildcard kernel/src/*) | $(STAMP)
	@if ! command -v $(CXX) >/dev/null; then \
	  echo "No compiler of C++ is here ($(CXX)): NAR goes without its compiled kernel, and is slower"; \
	elif $(BIN)/pip $(PIP) ./kernel; then \
	  echo "The compiled kernel is built, and is used"; touch $@; \
	else \
	  echo "The compiled kernel was not built, see above: NAR goes without it, and is slower"; \
	fi

kernel-check: $(STAMP)  ## the kernel's tests, with a build in which a read past an array ends the process
	$(BIN)/pip $(PIP) --no-deps --upgrade --target build/kernel \
	  --config-settings=cmake.define.NAR_KERNEL_SANITIZE=ON ./kernel
	PYTHONPATH=build/kernel ASAN_OPTIONS=detect_leaks=0 OMP_NUM_THREADS=1 \
	  LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" \
	  $(BIN)/pytest -p no:cacheprovider tests/test_kernel.py

# From within the environment, so that what is installed there answers and not this checkout.
$(UV):
	$(PYTHON) -m venv build/matrix/uv && build/matrix/uv/bin/pip $(PIP) uv

matrix: $(UV)  ## the light core with the lowest and the newest of what it needs, on Python 3.11 to 3.13
	for row in $(MATRIX); do \
	  kept="build/matrix/$$(echo "$$row" | tr -c 'a-z0-9.\n' -)" && \
	  $(UV) venv -q --clear --python "$${row%:*}" "$$kept" && \
	  $(UV) pip install -q --python "$$kept" --resolution "$${row##*:}" -r pyproject.toml 'pytest>=8' && \
	  $(UV) pip install -q --python "$$kept" --no-deps . && \
	  (cd "$$kept" && bin/pytest -q -c /dev/null --noconftest -p no:cacheprovider -o markers=slow \
	    "$(CURDIR)/tests/test_light_core.py") || exit 1; \
	done

extras: $(UV)  ## each extra alone in an environment of its own: gigabytes
	for extra in $(EXTRAS); do \
	  kept="build/matrix/$$extra" && \
	  $(UV) venv -q --clear --python 3.11 "$$kept" && \
	  $(UV) pip install -q --python "$$kept" ".[$$extra]" 'pytest>=8' && \
	  (cd "$$kept" && bin/pytest -q -c /dev/null --noconftest -p no:cacheprovider -o markers=slow \
	    "$(CURDIR)/tests/test_extras.py" -k "alone and $$extra") || exit 1; \
	done

demo: $(STAMP)  ## from a zoo of models to an answered query, in work/demo
	$(BIN)/python -m cluster.demo --work $(DEMO)

# Ruff takes seconds, and ends all where it finds something. The others run beside the tests, which
# leave a core idle where they wait for processes, and where the last of them run. What they need is
# installed before, one after the other: apt has a lock.
test: lint prometheus milvus s3 chromium  ## everything that must pass: .ci/run calls this
	$(MAKE) -j3 types pytest without-kernel

lint: $(STAMP)  ## ruff: rules and format
	$(BIN)/ruff check
	$(BIN)/ruff format --check

types: $(STAMP)  ## mypy, strict
	$(BIN)/mypy

docs: $(STAMP)  ## the site of the documentation, in build/docs; a warning is an error (part of pytest, too)
	$(BIN)/python -m sphinx -q -W --keep-going -b html docs build/docs

proto: $(STAMP)  ## generate nar/v1 from proto/; refuses what breaks clients
	$(PROTOC) --python_out=. --pyi_out=. --grpc_python_out=.
	$(BIN)/python tests/contract.py $(BREAK)

proto-check: $(STAMP)  ## the committed nar/v1 is what `make proto` writes (part of pytest, too)
	$(BIN)/pytest tests/test_generated.py

# Servers and clusters of several tests share two cores here. What fails beside others is run once
# more, alone: a fault fails twice, and a wait that was too short for a busy machine does not.
pytest: $(STAMP) prometheus milvus s3 chromium  ## the tests, against the real Prometheus, Milvus and Chromium
	$(BIN)/pytest --doctest-modules $(SPREAD) nar benchmark tests || { \
	  test $$? -eq 1 && echo "Once more, alone, what failed above:" && \
	  $(BIN)/pytest --doctest-modules --last-failed --last-failed-no-failures none \
	    nar benchmark tests; }

# In one process: each further one would import torch for a few seconds of tests.
without-kernel: $(STAMP)  ## tests of what the kernel does, where it is built, once more without it
	test ! -e $(KERNEL) || NAR_KERNEL=off $(BIN)/pytest -p no:cacheprovider $(READ)

# Of the benchmark's tests most read its data; who changes it runs tests/benchmark.
quick: PROCESSES = 2
quick: $(STAMP) lint prometheus  ## what to run after each change: no server, no browser, no Ray, nothing slow
	$(BIN)/pytest $(SPREAD) -m 'not (server or browser or ray or slow or faults)' \
	  --ignore=tests/benchmark tests

# Goes on where it was interrupted: what each run came to is a line of FAULTS, to be removed by hand.
faults: $(STAMP) milvus  ## breaks bulk jobs a hundred times, then every campaign that kills: an hour
	$(MAKE) campaign-faults OPTIONS='--runs $(RUNS) --seed $(SEED) --kept $(FAULTS)'
	$(BIN)/pytest -m faults tests/faults tests/campaigns tests/cluster

# Each at the size that the page asks for. An interrupted campaign writes down what it has by then.
campaigns: $(STAMP) milvus  ## every reliability campaign at full size, and results/reliability.md: hours
	-$(MAKE) campaign-kills
	-$(MAKE) campaign-kills OPTIONS='--store server --kills 20 --rows 10000'
	-$(MAKE) campaign-model
	-$(MAKE) campaign-model OPTIONS='--store reader'
	-$(MAKE) campaign-model OPTIONS='--store server --operations 5000'
	-$(MAKE) campaign-inputs
	-$(MAKE) campaign-heavy
	-$(MAKE) campaign-rolling
	-$(MAKE) campaign-overload
	-$(MAKE) campaign-overload OPTIONS='--kind graph'
	-$(MAKE) campaign-store
	-$(MAKE) campaign-damage
	-$(MAKE) campaign-damage OPTIONS='--of store'
	-$(MAKE) campaign-statuses
	-$(MAKE) campaign-faults OPTIONS='--runs $(RUNS) --seed $(SEED) --kept $(FAULTS)'
	-$(MAKE) campaign-rows
	-$(MAKE) campaign-rows OPTIONS='--store server'
	-$(MAKE) campaign-week
	-$(MAKE) campaign-week OPTIONS='--store server'
	-$(MAKE) campaign-soak
	$(MAKE) reliability

# Half an hour on two cores: three hundred models, Ray with two nodes, Milvus, Prometheus.
week: $(STAMP) prometheus milvus  ## five days of a zoo of one's own, on Milvus Lite and on a Milvus server
	$(MAKE) campaign-week
	$(MAKE) campaign-week OPTIONS='--store server'
	$(MAKE) reliability

reliability: $(STAMP)  ## results/reliability.md with the campaigns that were run since
	$(CAMPAIGN) report $(LOG)

campaign-%: $(STAMP)  # one of them: make campaign-kills OPTIONS='--kills 10'
	$(CAMPAIGN) $* --log $(LOG) $(OPTIONS)

bench: $(STAMP) milvus chromium  ## every benchmark beside its stored figures, in 50 minutes; BENCHES='motifs cli' are some
	for name in $(BENCHES); do $(BIN)/python -m benchmark speed $$name $(KEEP:%=%/$$name.json) || exit 1; done

# Goes on where it was interrupted; what a size has given lies below SCALE, to be removed by hand.
scale: $(STAMP) milvus  ## results/scale.md and scaling.md: DARTS networks drawn, embedded, indexed, searched
	$(BIN)/python -m benchmark speed scale $(SCALE) $(SIZES)

# Half a minute of a core, and 0.5 GiB; a hundred million rows take ten minutes and 4 GiB.
fleet: $(STAMP)  ## what a build costs the driver of 2 to 256 workers, with a stub of Ray: results/scaling.md
	$(BIN)/python -m benchmark speed fleet

fleet-hundred: $(STAMP)  ## the same with a hundred million rows and 256 workers
	$(BIN)/python -m benchmark speed fleet 100000000/256

hub: $(STAMP)  ## what 100,000 configurations of a hub cost the driver, with a stub: results/scaling.md
	$(BIN)/python -m benchmark speed hub

# Graph networks take and give back hundreds of megabytes at every step. Told to keep them, glibc
# spares the kernel clearing them anew, which takes two fifths of their time.
results: export GLIBC_TUNABLES := glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184
results: $(STAMP)  ## every table and figure of results/ from cells in work/: hours, goes on when killed
	$(BIN)/python -m benchmark run --work work --results results
	$(BIN)/python -m benchmark novelty --work work --results results
	$(BIN)/python -m benchmark misses --work work --results results
	$(BIN)/python -m benchmark inside --work work --results results
	$(BIN)/python -m benchmark origin --work work --results results
	$(BIN)/python -m benchmark predictor --results results
	$(BIN)/python -m benchmark own-encoder --results results
	$(BIN)/python -m benchmark calibrate --work work --results results
	$(BIN)/python -m benchmark targets --results results
	$(BIN)/python -m benchmark tradeoff --results results

notebook: $(STAMP)  ## run results/ask.ipynb anew, and keep what it shows
	$(BIN)/jupyter-execute --inplace results/ask.ipynb

pictures: $(STAMP) chromium  ## screenshots of the page, in build/pictures
	$(BIN)/python -m benchmark pictures build/pictures

# Without a local label; OpenCV without its windows, which want libraries of a desktop; and without
# a module for Python 3.6 that Pythae names.
export LOCKED := s/+cpu$$//; s/^opencv-python==/opencv-python-headless==/; /^dataclasses==/d

# What no resolver can put beside the rest: pyproject.toml says why.
export APART := import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['dependency-groups']['apart'])

lock:  ## resolve pyproject.toml anew and write requirements.lock
	$(PYTHON) -m venv --clear build/lock
	build/lock/bin/pip $(PIP) 'torch==$(TORCH)' -e '.[corpus,all,docs,dev]'
	build/lock/bin/pip $(PIP) --no-deps $$(build/lock/bin/python -c "$$APART")
	(echo '# Written by `make lock`: the whole closure of pyproject.toml.'; \
	 build/lock/bin/pip freeze --exclude-editable | sed "$$LOCKED") > requirements.lock

prometheus: $(BIN)/promtool  ## promtool and prometheus, which the tests of deploy/ run

# Unpacked rather than installed: needs no root, and starts no service on the host.
$(BIN)/promtool: | $(STAMP)
	@if command -v promtool >/dev/null && command -v prometheus >/dev/null; then \
	  ln -sf "$$(command -v prometheus)" "$$(command -v promtool)" $(BIN)/; \
	else \
	  mkdir -p build/prometheus && cd build/prometheus && \
	  { $(APT) download prometheus || { $(APT) update && $(APT) download prometheus; }; } && \
	  dpkg-deb -x prometheus_*.deb . && cp usr/bin/prometheus usr/bin/promtool ../../$(BIN)/; \
	fi || { echo "promtool is missing: install Prometheus, then run make again" >&2; exit 1; }

# A browser has to be installed, not only unpacked: it finds its libraries and its sandbox where
# Debian puts them. Where that cannot be, the tests of the page are skipped, and say so.
chromium:  ## Debian's chromium, which the tests of the page drive, where it can be had
	@{ command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && echo "Installing chromium" && \
	    { $(BROWSE) || { $(APT) update && $(BROWSE); }; } >/dev/null 2>&1; } || \
	  echo "no chromium here (apt-get install chromium): the tests of the page are skipped"

milvus: .venv-milvus/.installed  ## a real Milvus 2.3.5 in .venv-milvus, for the conformance suite

.venv-milvus/.installed:
	$(PYTHON) -m venv .venv-milvus
	.venv-milvus/bin/pip $(PIP) milvus==2.3.5 'setuptools<81'
	touch $@

s3: .venv-s3/.installed  ## a server that speaks S3 in .venv-s3, for a corpus in an object store

.venv-s3/.installed:
	$(PYTHON) -m venv .venv-s3
	.venv-s3/bin/pip $(PIP) 'moto[server]==5.2.5'
	touch $@

clean:  ## remove what the targets above made, demo and environments included
	rm -rf build work $(VENV) .venv-milvus .venv-s3 *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
