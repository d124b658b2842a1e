# Commands of the project. `make help` lists them.
SHELL := /bin/bash
# The distribution's Python is built with profile-guided optimization and is a sixth faster than pyenv's.
PYTHON ?= $(shell /usr/bin/python3.11 -c 'import ensurepip' 2>/dev/null && echo /usr/bin/)python3.11
VENV := .venv
BIN := $(VENV)/bin
# Locks are complete: without --no-deps pip resolves extras again, and a lock fails when a release appears.
# `pip check` after each install proves that nothing is missing.
INSTALL := pip install -q --no-deps --require-hashes
MVN := mvn -q -B -ntp
COPY := org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies -DincludeScope=runtime
# The jars that PySpark lacks; the rest of the tree would duplicate PySpark's own jars.
SPARK_JARS := delta-spark_4.2_2.13,delta-storage,delta-kernel-api,delta-kernel-defaults,unitycatalog-client,unitycatalog-hadoop,spark-sql-kafka-0-10_2.13,spark-token-provider-kafka-0-10_2.13,kafka-clients,commons-pool2

# Kafka releases whose clients the lab compares with the current one: before KIP-526, before KIP-480's fixes,
# KIP-951 with neither part, with one part, and the last release with every partitioner.
CLIENTS := 2.4.1 2.8.2 3.6.0 3.6.2 3.9.1
# Another release of brokers, for `plumbline lab start --kafka-version`.
BROKERS := 4.4.0
# Without `-DoutputFormat` the plugin also writes XML.
BOM := org.cyclonedx:cyclonedx-maven-plugin:2.9.3:makeBom -DoutputFormat=json -DoutputDirectory=$(CURDIR)/build/sbom \
  -DprojectType=application -Dcyclonedx.skipAttach=true
REPRODUCIBLE := --output-reproducible --sv 1.6 --mc-type application
VALIDATE := import sys; from pathlib import Path; from cyclonedx.schema import SchemaVersion; \
  from cyclonedx.validation.json import JsonStrictValidator; check = JsonStrictValidator(SchemaVersion.V1_6); \
  wrong = {file: error for file in sys.argv[1:] if (error := check.validate_str(Path(file).read_text()))}; \
  sys.exit(str(wrong) if wrong else 0)
LOCK := uv pip compile -q --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
SETS := kafka agent spark
LAB_SETS := $(CLIENTS:%=kafka-%) $(BROKERS:%=kafka-%)
JARS := $(SETS:%=.jars/.%.done)
CLIENT_JARS := $(CLIENTS:%=.jars/.kafka-%.done)
BROKER_JARS := $(BROKERS:%=.jars/.kafka-%.done)

LINT := $(addprefix lint-,mypy imports ruff format tables exported alerts words)

.PHONY: $(LINT) help setup lab demo test others measures faults nemesis fuzz lint docs verify verify-clients verify-throttles verify-produce verify-verdicts environments otava airflow sbom bench jar-sums locks clean

help: ## list these commands
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

setup: $(VENV)/.runtime $(JARS) ## install the Python packages and jars that Plumbline needs to run
	conf/jars/check.sh $(SETS)

lab: setup $(CLIENT_JARS) $(BROKER_JARS) ## install older Kafka clients and newer brokers, for scenarios of the lab and for tests
	conf/jars/check.sh $(LAB_SETS)

demo: setup ## start real brokers, slow one link, report it (under 5 minutes)
	$(BIN)/plumbline demo

# Tests that measure real brokers need cores that are free, and use little of them. Where the other tests can be kept
# to idle cores they run at the same time, elsewhere before them.
ON_IDLE = tests/on_idle_cores.sh
test: $(VENV)/.dev lab ## run the tests: most on three workers, those that measure real brokers one at a time
	$(MAKE) --no-print-directory $(if $(shell $(ON_IDLE) echo yes),-j2,ON_IDLE=) others measures

others:
	$(ON_IDLE) $(BIN)/pytest -n 3 --dist loadfile --no-loadscope-reorder -m "not measures and not faults" $(ARGS)

measures:
	set -o pipefail; $(BIN)/pytest tests/live -m "measures and not faults" $(ARGS) | sed -u 's/^/measures: /'

faults: $(VENV)/.dev lab ## inject 291 faults, two at once, write docs/faults.md (hours, resumes; needs root; ARGS=--short: a few kills)
	$(BIN)/python -m benchmarks.faults.campaign $(ARGS)

nemesis: $(VENV)/.dev setup ## overlap random faults of all kinds, add the run to docs/faults.md (2 hours; needs root; ARGS="--for 10m")
	$(BIN)/python -m benchmarks.faults.nemesis $(ARGS)

fuzz: $(VENV)/.dev ## mutate real lines to find one that crashes a parser (minutes; ARGS="--kind metrics")
	$(BIN)/python -m tests.fuzz $(ARGS)

lint: $(LINT) ## ruff, mypy --strict, import-linter, generated docs up to date, plain words

# Each check is a target, so that `make -j` runs several at once.
lint-ruff: check = ruff check .
lint-format: check = ruff format --check .
lint-mypy: check = mypy
lint-imports: check = lint-imports
lint-tables: check = python -m benchmarks.reference.tables --check
lint-exported: check = python -m benchmarks.reference.exported --check
lint-alerts: check = python -m benchmarks.reference.alerts --check
lint-words: check = python -m tests.words
$(LINT): $(VENV)/.dev
	$(BIN)/$(check)

docs: $(VENV)/.dev ## generate docs/tables.md, the exported metrics and the alert expressions
	$(BIN)/python -m benchmarks.reference.tables
	$(BIN)/python -m benchmarks.reference.exported
	$(BIN)/python -m benchmarks.reference.alerts

verify: $(VENV)/.dev setup ## compare verdicts with injected faults, write docs/truth.md (about 4 hours, resumes)
	$(BIN)/python -m benchmarks.truth

verify-clients: $(VENV)/.dev lab ## the same for old and new Kafka clients (about an hour, resumes)
	$(BIN)/python -m benchmarks.clients

verify-throttles: $(VENV)/.dev setup ## the same for throttles and reassignments (about 40 minutes, resumes)
	$(BIN)/python -m benchmarks.throttles

verify-produce: $(VENV)/.dev setup ## the same for who holds produce back (about 20 minutes, resumes)
	$(BIN)/python -m benchmarks.produce $(ARGS)

verify-verdicts: $(VENV)/.dev ## count wrong verdicts on simulated runs, write docs/verdicts.md (minutes)
	$(BIN)/python -m benchmarks.verdicts $(ARGS)

environments: $(VENV)/.dev lab otava airflow ## install everything; `make -j4 environments` downloads in parallel

otava: .otava/.done ## install Apache Otava (change points in series of runs) in a separate environment

airflow: .airflow/.done ## install Airflow in a separate environment: its Spark provider needs another PySpark

sbom: .sbom/.done setup ## list all packages and jars (CycloneDX, build/sbom), look up advisories where they can be reached
	rm -rf build/sbom && mkdir -p build/sbom
	.sbom/bin/cyclonedx-py requirements $(REPRODUCIBLE) --pyproject pyproject.toml -o build/sbom/python.cdx.json \
	  conf/locks/plumbline.lock
	for set in $(SETS); do $(MVN) -f conf/jars/$$set.xml $(BOM) -DoutputName=$$set.cdx || exit 1; done
	$(BIN)/python -m conf.supply_chain jars $(VENV)/lib/python3.*/site-packages/pyspark/jars \
	  build/sbom/pyspark.cdx.json
	.sbom/bin/python -c '$(VALIDATE)' build/sbom/*.cdx.json
	# Its own last line is "No known vulnerabilities found" also if it could look up no package.
	.sbom/bin/pip-audit --disable-pip --require-hashes -r conf/locks/plumbline.lock --progress-spinner off \
	  --timeout 10 -f json -o build/sbom/pip-audit.json > build/sbom/pip-audit.log 2>&1 || true
	@echo "jars: not checked for advisories: give build/sbom/*.cdx.json to a scanner that knows Maven's"
	$(BIN)/python -m conf.supply_chain advisories build/sbom/pip-audit.json

jar-sums: $(JARS) $(CLIENT_JARS) $(BROKER_JARS) ## write conf/jars/sums from the jars in .jars; review the difference
	for set in $(SETS) $(LAB_SETS); do \
	  (cd .jars/$$set && LC_ALL=C sha256sum *.jar) > conf/jars/sums/$$set.sha256 || exit 1; \
	done

locks: ## resolve conf/locks again; needs `uv`; existing pins stay if they still fit
	$(LOCK) --extra build pyproject.toml -o conf/locks/plumbline.lock
	$(LOCK) -c conf/locks/plumbline.lock --extra build --extra dev pyproject.toml -o conf/locks/dev.lock
	$(LOCK) conf/locks/otava.in -o conf/locks/otava.lock
	$(LOCK) conf/locks/airflow.in -o conf/locks/airflow.lock
	$(LOCK) conf/locks/sbom.in -o conf/locks/sbom.lock

bench: $(VENV)/.dev setup ## measure the pipeline and its baselines, write docs/performance.md (hours)
	$(BIN)/python -m benchmarks.pipeline $(ARGS)

clean: ## stop the lab, remove its brokers and build files; keep reports, downloads, warehouses and other state
	for lab in .state/lab .state/demo/lab; do \
	  [ ! -x $(BIN)/plumbline ] || [ ! -f $$lab/lab.json ] || $(BIN)/plumbline lab stop --state $$lab || exit; \
	  [ ! -d $$lab ] || find -H $$lab -mindepth 1 -maxdepth 1 ! -name truth -exec rm -rf {} + || exit; \
	done
	rm -rf build metastore_db derby.log

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

# PySpark is built from source: with the locked setuptools, not with the newest one that pip would download. It has
# no pyproject.toml; --use-pep517 builds a wheel of it nevertheless, as later releases of pip always do.
$(VENV)/.runtime: $(VENV)/.made conf/locks/plumbline.lock pyproject.toml
	$(BIN)/$(INSTALL) -r <(sed -n '/^setuptools==/,/# via/p' conf/locks/plumbline.lock)
	$(BIN)/$(INSTALL) --use-pep517 --no-build-isolation -r conf/locks/plumbline.lock
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	$(BIN)/pip check
	touch $@

$(VENV)/.dev: $(VENV)/.runtime conf/locks/dev.lock
	$(BIN)/$(INSTALL) --no-build-isolation -r conf/locks/dev.lock
	$(BIN)/pip check
	touch $@

.otava/.done: conf/locks/otava.lock
	$(PYTHON) -m venv .otava
	.otava/bin/$(INSTALL) -r conf/locks/otava.lock
	.otava/bin/pip check
	touch $@

.sbom/.done: conf/locks/sbom.lock
	$(PYTHON) -m venv .sbom
	.sbom/bin/$(INSTALL) -r conf/locks/sbom.lock
	.sbom/bin/pip check
	touch $@

.airflow/.done: conf/locks/airflow.lock
	$(PYTHON) -m venv .airflow
	.airflow/bin/$(INSTALL) -r conf/locks/airflow.lock
	.airflow/bin/pip check
	touch $@

# Maven's local repository is not safe for several processes at once: under `make -j` each set waits for the one
# before it. A lock would not do, because its waiters take the job slots that the Python environments need.
previous :=
$(foreach set,$(SETS) $(LAB_SETS),$(eval .jars/.$(set).done: | $(previous))$(eval previous := .jars/.$(set).done))

# Each set is copied into an empty folder: the class paths take every jar there, one of an earlier version too.
.jars/.spark.done: private POM_ARGS = -DincludeArtifactIds=$(SPARK_JARS)
$(CLIENT_JARS): conf/jars/clients.xml
$(BROKER_JARS): conf/jars/kafka.xml
$(CLIENT_JARS) $(BROKER_JARS): .jars/.kafka-%.done:
	mkdir -p .jars && rm -rf .jars/kafka-$*
	$(MVN) -f $< $(COPY) -Dkafka.version=$* -DoutputDirectory=$(CURDIR)/.jars/kafka-$*
	touch $@

$(JARS): .jars/.%.done: conf/jars/%.xml
	mkdir -p .jars && rm -rf .jars/$*
	$(MVN) -f $< $(COPY) $(POM_ARGS) -DoutputDirectory=$(CURDIR)/.jars/$*
	touch $@
