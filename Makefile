# demo: the learned policy beside its baselines on a bundled trace.   test: all tests.   bench: timings beside libCacheSim.
# avif: the tests of the optional product HalcyonAVIF.   soak: the long forms of the tests that kill processes.   sanitize: load under the thread and the address sanitizer.
# fuzz: every parser under libFuzzer, SECONDS each, or one of them: TARGET=http.   nightly: all that takes longer than a change may.
# bench-cache: the tiers of the image cache, memory beside NSCache.
# bench-log: what the access log costs who records, and how many accesses a second it takes.
# bench-images: pictures decoded and processed beside TurboJPEG and Pillow.   bench-network: loads beside URLSession.
# standins: the parts for Apple's platforms, type-checked against declarations.   screen: a gallery in a window of GTK 4, read back.
# bench-manager: loads, hits and animations of a manager.
# bench-views: views with a binding beside views without one.
# kernels: the bits of the matrix routines, on this processor and emulated arm64.   bench-kernels: their speed beside OpenBLAS.
# Each bench… has a short form, SHORT=1, which shows that it works; its figures mean nothing.
# model-exchange: models to Python's safetensors and back.
# check: exact results and limits of the suite regression, and of regression-real where HALCYON_TRACES is set.
# accept REASON="…": renews every file that a moved result touches. SUITES="policies bytes": these suites' results, too.
# notebooks: checks and executes Notebooks/, results in .build/notebooks.
# acceptance: does the test of the hypothesis claim what is so, and nothing else? 20 seeds, some 30 minutes of one core.
# test-lab: the Python package Experiments/lab: its types, its tests on worker processes, in a virtual environment.
# evidence: runs what is missing of the suites behind Experiments/results.md, some ten minutes on two cores, and writes its tables.
# check-evidence: the tables against the stored results, and some stored cells run again.   confirmatory: the frozen suite.
# report: the stored results as a page, .build/report/index.html, and its picture.   RESULTS=FOLDERS: other results.
# peers: libCacheSim's counts behind Experiments/peers.md, some half an hour.   check-peers: a part of them again.
# rivals: the learned baselines that need LightGBM, on the traces on which libCacheSim trains them, some fifteen minutes.
# lint: format and spelling of the code.   snippets: the Swift examples of the documents compile.   docs: the API documentation.   Missing system packages are installed on the way.

# Package.swift reads it: debug builds of the laboratory's libraries are optimized, and keep their assertions.
export HALCYON_OPTIMIZED := 1

REPLAY := .build/release/replay
PYTHON := python3
VENV   := .build/venv
IMAGES_VENV := .build/venv-images
LAB_VENV := .build/lab
# Where .ci/install-dependencies puts LightGBM, which a user may have elsewhere.
LIGHTGBM := $(CURDIR)/.build/lightgbm/lightgbm/lib/lib_lightgbm.so
PEERS_READY := $(if $(filter Linux-x86_64,$(shell uname -s)-$(shell uname -m)),$(LAB_VENV)/peers)

.PHONY: demo test avif standins screen fuzz nightly kernels bench-kernels soak sanitize check accept acceptance acceptance-short bench bench-cache bench-log bench-images bench-manager bench-network bench-views notebooks model-exchange lab-environment test-lab evidence check-evidence peers check-peers rivals confirmatory report lint snippets products beside docs release dependencies example clean

demo: release
	@echo
	@$(REPLAY) Traces/shop.csv --policy learned --policy w-tinylfu --capacity 1%,5% --seeds 5

# All tests; with TESTS=HalcyonEvictionTests those of one module, for which nothing else is built. In two runs, so that tests of the
# network share the processor with fewer others. Every suite has a time limit, which .ci/check-tests checks; .ci/within ends what
# hangs in spite of it. As many tests run at a time as there are processors, so that a limit counts a test's own time. Those of the
# cache mostly wait: four times as many.
TESTS :=
test: export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH := $(shell getconf _NPROCESSORS_ONLN)
ifneq ($(TESTS),)
test: dependencies
	HALCYON_TESTS=$(TESTS) .ci/within 40 .ci/beside . test --test-product HalcyonPackageTests --filter '^$(TESTS)\.'
else
test: export HALCYON_LIGHTGBM ?= $(LIGHTGBM)
test:
	@.ci/install-dependencies tests
	@.ci/check-tests
	swift build --build-tests
	.ci/within 40 swift test --skip-build --skip '^HalcyonTests\.'
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$$((4 * $$SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH)) \
		.ci/within 30 swift test --skip-build --filter '^HalcyonTests\.'
	SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$$((4 * $$SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH)) \
		.ci/within 30 .ci/beside Sources/Integrations test
	$(MAKE) example
endif

# The optional product HalcyonAVIF, with libavif. What was compiled before libavif was installed is compiled again.
avif:
	@.ci/install-dependencies avif
	@touch Sources/Integrations/CAVIF/avif.c
	HALCYON_AVIF=1 .ci/beside Sources/Integrations test --filter '^HalcyonAVIFTests\.'

# The code for ImageIO, UIKit, AppKit and SwiftUI, type-checked on Linux against the declarations in Tests/StandIns.
standins: dependencies
	@Tests/StandIns/run

# A gallery and a feed in a window of GTK 4 on a virtual display, whose pixels are checked; the screenshots are in .build/screen. Linux only.
screen:
	@.ci/install-dependencies screen
	Experiments/Examples/Screen/run

# SECONDS=20 for the short form. See Tests/Fuzzing/run.
# SEED=1 repeats a run; without it, each run has another.
TARGET := all
fuzz: dependencies
	Tests/Fuzzing/run $(TARGET) $(SECONDS) $(if $(SEED),--seed $(SEED))

# What takes longer than a change may: first what shows that everything still works, then the long forms. Some hours on two cores.
# Checks on real traces run where HALCYON_TRACES names them.
nightly: export HALCYON_STRICT := 1
nightly:
	@date
	$(MAKE) kernels standins docs avif screen products beside model-exchange report acceptance-short
	HALCYON_NOTEBOOK_SMALL=1 $(MAKE) notebooks
	$(REPLAY) generate informative --set requests=10000 --output .build/notebook-trace.csv
	HALCYON_NOTEBOOK_SMALL=1 HALCYON_NOTEBOOK_TRACE=.build/notebook-trace.csv $(MAKE) notebooks
	$(MAKE) soak
	$(MAKE) sanitize SECONDS=600
	$(MAKE) fuzz SECONDS=600
	$(MAKE) acceptance
	for name in bench bench-cache bench-log bench-images bench-manager bench-network bench-views bench-kernels; do $(MAKE) $$name || exit 1; done
	@test -z "$$HALCYON_TRACES" || $(MAKE) evidence
	$(if $(PEERS_READY),$(MAKE) peers)
	@date

# The portable matrix routines against a committed table of digests: at each instruction set of this processor, and compiled for
# arm64 under qemu's user emulation.
kernels:
	@.ci/install-dependencies kernels
	@Tests/Kernels/run
	@Tests/Kernels/run arm64

bench-kernels: dependencies
	@Experiments/Benchmarks/Kernels/run

# The long forms: processes killed 200 times, longer traces through live caches. Some minutes in all.
soak:
	@.ci/install-dependencies tests
	HALCYON_SOAK=1 swift test --filter 'HalcyonTests|HalcyonAccessLogTests'

# Eight threads at everything that a cache offers, for SECONDS under the thread sanitizer and under the address sanitizer, after
# which every count must be exact. Each is first shown a fault that it must report.
SECONDS := 180
sanitize: dependencies
	Tests/Sanitizers/run thread $(SECONDS)
	Tests/Sanitizers/run address $(SECONDS)

# An image cache that records, and its record replayed; pictures from a server through a manager; the metrics of a manager in
# Prometheus's format; then the command with a policy of one's own, in a package of one's own.
example: dependencies
	.ci/beside Experiments/Examples run RecordAndReplay
	.ci/beside Experiments/Examples run Gallery
	.ci/beside Experiments/Examples run MetricsExample
	.ci/within 10 .ci/beside Experiments/CustomPolicy test
	Experiments/CustomPolicy/run .build/debug/myreplay .build/own-policy

# Runs the regression suites and compares them with their stored results, which have no tolerance: they move only with a new result
# version. Limits hold for every version. JUnit XML and Markdown are for tools that show them.
REGRESSION := regression $(if $(HALCYON_TRACES),regression-real)
check: release
	@for suite in $(REGRESSION); do $(REPLAY) check Experiments/suites/$$suite.yml \
	    --junit .build/$$suite.xml --markdown .build/$$suite.md || exit 1; done
	@test -n "$$HALCYON_TRACES" || echo "halcyon: HALCYON_TRACES is not set; results on real traces were not checked" >&2

# After a change that moves results, its new result version and its entry in CHANGELOG.md. Refuses what moved without them.
accept: export HALCYON_LIGHTGBM ?= $(LIGHTGBM)
accept: release
	@test -n "$$REASON" || { echo 'halcyon: say why the new results are right: make accept REASON="…"' >&2; exit 64; }
	@version=$$(sed -n 's/.*resultVersion = //p' Sources/HalcyonEviction/Halcyon.swift); \
	    grep -qF "**Result version $$version**" CHANGELOG.md || \
	    { echo "halcyon: CHANGELOG.md has no entry **Result version $$version**" >&2; exit 1; }
	@case " $(SUITES) " in *" rivals "*) .ci/install-dependencies lightgbm ;; esac
	@for suite in $(REGRESSION) $(SUITES); do $(REPLAY) check Experiments/suites/$$suite.yml \
	    --results Experiments/results/$$suite --accept --reason "$$REASON" || exit 1; done
	HALCYON_RECORD=1 HALCYON_TESTS=HalcyonSimulationTests .ci/beside . test --test-product HalcyonPackageTests \
	    --filter 'DecisionDigestTests/record'
	@.ci/check-readme --write $(REPLAY)
	@test -n "$$HALCYON_TRACES" || echo "halcyon: HALCYON_TRACES is not set; results on real traces were not renewed" >&2
	@echo 'If results moved: make accept REASON="…" SUITES="$(EVIDENCE) rivals", then make evidence and make notebooks.'

# On synthetic traces whose truth is known; see Experiments/methods.md.
acceptance: release
	@$(PYTHON) Experiments/acceptance.py --replay $(REPLAY)

# The same in short: two seeds, smaller traces, a cache for each user. Then with the traces named the wrong way round,
# which must be missed in both respects: a check that cannot fail would say nothing.
FEW_REQUESTS := --requests 30000 --per user
acceptance-short: release
	@$(PYTHON) Experiments/acceptance.py --replay $(REPLAY) $(FEW_REQUESTS) --seeds 2
	@$(PYTHON) Experiments/acceptance.py --replay $(REPLAY) $(FEW_REQUESTS) --seeds 1 --informative uninformative \
	    --uninformative informative > .build/acceptance-reversed.md; test $$? -eq 1
	@grep -q ' at 0 of 1 seeds.* 1 false claims .*MISSED' .build/acceptance-reversed.md

# The short forms of the benchmarks.
SHORT :=
ifneq ($(SHORT),)
export HALCYON_BENCH_SHORT := 1
BENCH_SIZE := --requests 200000 --objects 20000 --runs 1 --sweep-requests 200000
endif

bench-cache: dependencies
	.ci/beside Experiments/Benchmarks run -c release CacheBenchmark

bench-log: dependencies
	.ci/beside Experiments/Benchmarks run -c release AccessLogBenchmark

bench-images: dependencies $(IMAGES_VENV)/ready
	.ci/beside Experiments/Benchmarks build -c release --product ImageBenchmark
	$(IMAGES_VENV)/bin/python Experiments/Benchmarks/images.py

bench-manager: dependencies
	.ci/beside Experiments/Benchmarks run -c release ManagerBenchmark

bench-network:
	@.ci/install-dependencies tests
	.ci/beside Experiments/Benchmarks run -c release NetworkBenchmark

bench-views: dependencies
	.ci/beside Experiments/Benchmarks run -c release ViewBenchmark

bench: release $(VENV)/libcachesim
	$(VENV)/bin/python Experiments/Benchmarks/bench.py --replay $(REPLAY) $(BENCH_SIZE)

# Checks the committed notebooks, then executes them from top to bottom into .build/notebooks, on the bundled traces or on
# the one that HALCYON_NOTEBOOK_TRACE names; with HALCYON_NOTEBOOK_SMALL=1, on small inputs. See Notebooks/README.md.
notebooks: release $(LAB_VENV)/ready
	.ci/beside Experiments/Examples build -c release --product RecordAndReplay
	rm -rf .build/notebooks/work
	$(LAB_VENV)/bin/python Notebooks/execute.py Notebooks/*.ipynb --check
	$(LAB_VENV)/bin/python Notebooks/execute.py Notebooks/*.ipynb --folder .build/notebooks

model-exchange: release $(LAB_VENV)/ready
	@$(LAB_VENV)/bin/python Experiments/model_exchange.py --replay $(REPLAY)

# Its virtual environment, with libcachesim where there is a wheel.
lab-environment: $(LAB_VENV)/ready $(PEERS_READY)
	@.ci/install-dependencies browser

# Its types, then its tests: plans, worker processes that are killed, a scheduler that is restarted.
test-lab: release $(LAB_VENV)/ready $(PEERS_READY)
	@.ci/install-dependencies browser
	cd Experiments/lab && ../../$(LAB_VENV)/bin/mypy
	cd Experiments/lab && REPLAY=../../$(REPLAY) ../../$(LAB_VENV)/bin/pytest

EVIDENCE := kingfisher cold-start bytes ablation prefetch visits hypothesis devices policies peers lists shown
PAGES := README.md Experiments/README.md Experiments/results.md Experiments/tables.md Experiments/methods.md Experiments/confirmatory.md \
    Experiments/peers.md Experiments/knowledge.md Experiments/lists.md
PICTURES := --pictures Experiments/results
LAB := $(LAB_VENV)/bin/python -m lab

# The suites read the traces that HALCYON_TRACES names. Stored cells are not run again; an interrupted run goes on. First it says
# how many cells are missing, and how long they will take.
evidence: release $(LAB_VENV)/ready
	@test -n "$$HALCYON_TRACES" || { echo "halcyon: HALCYON_TRACES must name the folder of the traces" >&2; exit 64; }
	@for suite in $(EVIDENCE); do printf '%s: ' $$suite && \
	    $(REPLAY) sweep Experiments/suites/$$suite.yml --results Experiments/results/$$suite --dry-run | tail -n 1 || exit 1; done
	@for suite in $(EVIDENCE); do \
	    echo "$$suite:" && $(REPLAY) sweep Experiments/suites/$$suite.yml --results Experiments/results/$$suite || exit 1; done
	@$(PYTHON) Experiments/kinds.py --replay $(REPLAY)
	@$(PYTHON) Experiments/first_requests.py --replay $(REPLAY)
	@$(LAB) evidence Experiments/results $(PAGES) $(PICTURES)

# The same in five minutes: the tables and the committed notebooks against the stored results and the code, all cells of an app's tiers on the bundled traces run again, and
# where HALCYON_TRACES names the traces three cells of each suite, drawn by the day. Fails if one byte differs.
RERUN = $(LAB) rerun Experiments/suites/$(1).yml Experiments/results/$(1) --replay $(REPLAY) --seed $$(date +%j)
check-evidence: release $(LAB_VENV)/ready
	@$(LAB) evidence --check Experiments/results $(PAGES) $(PICTURES)
	@$(LAB_VENV)/bin/python Notebooks/execute.py Notebooks/*.ipynb --check
	@$(call RERUN,kingfisher) --trace shop --trace feed --cells 100
	@$(call RERUN,bytes) --trace feed --cells 5
	@$(call RERUN,peers) --trace shop --trace feed --trace feed_objects --cells 5
	@test -z "$$HALCYON_TRACES" || for suite in $(EVIDENCE); do \
	    $(call RERUN,$$suite) --cells 3 || exit 1; done
	@$(if $(PEERS_READY),$(MAKE) --no-print-directory check-peers, \
	    echo "halcyon: libcachesim has no wheel for this machine; its counts are not run again" >&2)

PEER_COUNTS := Experiments/results/peers/libcachesim-0.3.5.csv

# Runs that release again, on the bundled traces and on those that HALCYON_TRACES names.
peers: $(LAB_VENV)/peers
	@$(LAB) peers $(PEER_COUNTS) --all

# One cell of each policy.
check-peers: $(LAB_VENV)/peers
	@$(LAB) peers $(PEER_COUNTS) --check --seed $$(date +%j)

# LRB and 3L-Cache over five seeds, where HALCYON_TRACES names the traces; then the tables.
rivals: export HALCYON_LIGHTGBM ?= $(LIGHTGBM)
rivals: release $(LAB_VENV)/ready
	@.ci/install-dependencies lightgbm
	$(REPLAY) sweep Experiments/suites/rivals.yml --results Experiments/results/rivals
	@$(LAB) evidence Experiments/results $(PAGES) $(PICTURES)

# The frozen suite: clones four public repositories (0.8 GB), writes their histories as traces, and runs what is not stored.
confirmatory: release $(LAB_VENV)/ready
	@$(PYTHON) Experiments/confirmatory.py --replay $(REPLAY)
	@$(LAB) evidence Experiments/results $(PAGES) $(PICTURES)

# Of one suite: make report RESULTS=Experiments/results/policies. RUN=FILES: results of 'replay run' or 'replay explain' with
# --format json, for the calibration. Without Chromium there is no picture, which is an error under HALCYON_STRICT=1 only.
RESULTS := $(filter-out Experiments/results/regression%,$(patsubst %/cells.jsonl.zst,%,$(wildcard Experiments/results/*/cells.jsonl.zst)))
RUN     :=
REPORT  := .build/report
report: release $(LAB_VENV)/ready
	@mkdir -p $(REPORT)
	@$(LAB) report $(RESULTS) $(REPORT)/index.html --title "Halcyon: results" $(addprefix --run ,$(RUN))
	@{ .ci/install-dependencies browser && $(LAB) screenshot $(REPORT)/index.html $(REPORT)/report.png; } || \
	    test "$$HALCYON_STRICT" != 1

lint:
	swift format lint --strict --recursive Package.swift Sources Tests Experiments

# Compiles the Swift examples of the documents, beside Tests/Snippets/Prelude.swift.
snippets: dependencies
	swift build
	.ci/beside Sources/Integrations build
	@.ci/check-snippets

# Each product by itself, as another package builds it.
products: dependencies
	.ci/beside Tests/Products build
	@for product in Tests/Products/Sources/*; do \
	    .build/debug/$$(basename $$product) && echo "$$(basename $$product) runs" || exit 1; done
	@Tests/Products/check-links .build/debug
	@Tests/Products/check-libcurl-version

# Compiles what the packages beside the root hold and `make test` does not build.
beside: dependencies
	.ci/beside Experiments/Benchmarks build
	.ci/beside Tests/Fuzzing build

docs: dependencies
	HALCYON_DOCS=1 swift package --allow-writing-to-directory .build/docs generate-documentation \
	    --target HalcyonSimulation --target HalcyonExperiments --target HalcyonEviction --target HalcyonTrace \
	    --target HalcyonLearning --target HalcyonPrefetch --target Halcyon --target HalcyonCache --target HalcyonNetworking --target HalcyonCurl --target HalcyonURLSession \
	    --target HalcyonImages --target HalcyonPipeline --target HalcyonViews --target HalcyonPrediction --target HalcyonCodecs \
	    --target HalcyonAccessLog --target HalcyonAccessLogReading \
	    --enable-experimental-combined-documentation \
	    --disable-parameters-and-returns-validation --warnings-as-errors --output-path .build/docs
	HALCYON_DOCS=1 .ci/beside Sources/Integrations package --allow-writing-to-directory .build/docs-integrations \
	    generate-documentation --target HalcyonServiceLifecycle --target HalcyonObservability --target HalcyonAVIF \
	    --enable-experimental-combined-documentation \
	    --disable-parameters-and-returns-validation --warnings-as-errors --output-path .build/docs-integrations

release: dependencies
	swift build -c release --product replay

dependencies:
	@.ci/install-dependencies

$(VENV)/libcachesim: Experiments/Benchmarks/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --requirement Experiments/Benchmarks/requirements.txt
	touch $@

$(IMAGES_VENV)/ready: Experiments/Benchmarks/requirements-images.txt
	@.ci/install-dependencies notebooks
	$(PYTHON) -m venv --clear $(IMAGES_VENV)
	$(IMAGES_VENV)/bin/pip install --quiet --disable-pip-version-check --requirement $<
	@touch $@

$(LAB_VENV)/ready: Experiments/lab/pyproject.toml Experiments/lab/constraints.txt
	@.ci/install-dependencies notebooks
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	    echo "halcyon: the tested versions need Python 3.11 or later; name one: make $(MAKECMDGOALS) PYTHON=python3.12" >&2; \
	    exit 69; }
	$(PYTHON) -m venv --clear $(LAB_VENV)
	$(LAB_VENV)/bin/pip install --quiet --disable-pip-version-check --constraint Experiments/lab/constraints.txt \
	    --editable 'Experiments/lab[test,notebooks]'
	@touch $@

# The release has a wheel for x86-64 Linux only. Its dependencies read traces from S3, and would replace pinned versions.
$(LAB_VENV)/peers: $(LAB_VENV)/ready Experiments/Benchmarks/requirements.txt
	$(LAB_VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps \
	    --requirement Experiments/Benchmarks/requirements.txt
	@touch $@

clean:
	swift package clean
