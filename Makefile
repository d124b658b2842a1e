# One word a habit. `make help` lists them.
SHELL := /bin/bash
PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
MVN := mvn -q -B -ntp
COPY := dependency:copy-dependencies -DincludeScope=runtime
# What PySpark lacks; the rest of the tree would duplicate its own jars.
SPARK_JARS := delta-spark_4.0_2.13,delta-storage,delta-kernel-api,delta-kernel-defaults,unitycatalog-client,unitycatalog-hadoop,spark-sql-kafka-0-10_2.13,spark-token-provider-kafka-0-10_2.13,kafka-clients,commons-pool2

# Releases whose clients are run beside today's: before KIP-526, KIP-480, KIP-951 without and with its
# other half, the last with every partitioner.
CLIENTS := 2.4.1 2.8.2 3.6.0 3.6.2 3.9.1

.PHONY: help setup demo test faults lint docs verify verify-clients verify-throttles verify-verdicts otava airflow bench clean

help: ## list these words
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

setup: $(VENV)/.runtime .jars/.done ## install what running needs: Python packages and jars

demo: setup ## real cluster to report: start brokers, slow one link, find it (under 5 minutes)
	$(BIN)/plumbline demo

test: $(VENV)/.dev .jars/.done ## run the tests, then the live ones on real brokers alone: some of them measure
	$(BIN)/pytest -n 2 --dist loadfile -m "not live and not faults" $(ARGS)
	$(BIN)/pytest -m "live and not faults" $(ARGS)

faults: $(VENV)/.dev .jars/.done ## do harm 200 times, write docs/faults.md (hours, resumes; ARGS=--short: a few kills)
	$(BIN)/python -m tests.faults.campaign $(ARGS)

lint: $(VENV)/.dev ## ruff, mypy --strict, import-linter, generated docs up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m docs.tables --check
	$(BIN)/python -m docs.exported --check

docs: $(VENV)/.dev ## generate docs/tables.md from the schemas
	$(BIN)/python -m docs.tables
	$(BIN)/python -m docs.exported

verify: $(VENV)/.dev .jars/.done ## measure against injected truth, write docs/truth.md (about 2 hours, resumes)
	$(BIN)/python -m benchmarks.truth

verify-clients: $(VENV)/.dev .jars/.done ## the same for real clients old and new (about an hour, resumes)
	$(BIN)/python -m benchmarks.clients

verify-throttles: $(VENV)/.dev .jars/.done ## the same for throttles and moves of replicas (about 40 minutes, resumes)
	$(BIN)/python -m benchmarks.throttles

verify-verdicts: $(VENV)/.dev ## count how often verdicts are wrong on drawn runs, write docs/verdicts.md (minutes)
	$(BIN)/python -m benchmarks.verdicts $(ARGS)

otava: .otava/.done ## install what looks for change points in long series of runs, apart from all else

airflow: .airflow/.done ## install Airflow for dags/, apart from all else: its Spark provider brings another PySpark

bench: $(VENV)/.dev .jars/.done ## CPU, freshness and old tables beside what else there is, write docs/performance.md
	$(BIN)/python -m benchmarks.pipeline $(ARGS)

clean: ## stop the lab and remove all that was made here but the downloads
	[ ! -x $(BIN)/plumbline ] || $(BIN)/plumbline lab stop
	rm -rf .state build spark-warehouse metastore_db derby.log

$(VENV)/.made:
	$(PYTHON) -m venv $(VENV)
	touch $@

$(VENV)/.runtime: $(VENV)/.made requirements.lock pyproject.toml
	$(BIN)/pip install -q --require-hashes -r requirements.lock
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	touch $@

$(VENV)/.dev: $(VENV)/.runtime requirements-dev.lock
	$(BIN)/pip install -q --require-hashes -r requirements-dev.lock
	touch $@

.otava/.done: requirements-otava.lock
	$(PYTHON) -m venv .otava
	.otava/bin/pip install -q --require-hashes -r requirements-otava.lock
	touch $@

.airflow/.done: requirements-airflow.lock
	$(PYTHON) -m venv .airflow
	.airflow/bin/pip install -q --require-hashes -r requirements-airflow.lock
	touch $@

.jars/.done: $(wildcard conf/jars/*.xml)
	$(MVN) -f conf/jars/kafka.xml $(COPY) -DoutputDirectory=$(CURDIR)/.jars/kafka
	$(MVN) -f conf/jars/agent.xml $(COPY) -DoutputDirectory=$(CURDIR)/.jars/agent
	$(MVN) -f conf/jars/spark.xml $(COPY) -DoutputDirectory=$(CURDIR)/.jars/spark -DincludeArtifactIds=$(SPARK_JARS)
	for version in $(CLIENTS); do \
	  $(MVN) -f conf/jars/clients.xml $(COPY) -Dkafka.version=$$version -DoutputDirectory=$(CURDIR)/.jars/kafka-$$version || exit 1; \
	done
	touch $@
