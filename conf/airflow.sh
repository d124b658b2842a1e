# What Airflow needs to run dags/ from this checkout: `. conf/airflow.sh`, in bash, from anywhere.
# What is set already stays as it is, but for the PATH.
PLUMBLINE="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
export AIRFLOW_HOME="${AIRFLOW_HOME:-$PLUMBLINE/.state/airflow}"
export AIRFLOW__CORE__DAGS_FOLDER="$PLUMBLINE/dags"
export AIRFLOW__CORE__LOAD_EXAMPLES=false
# Everything on loopback; the web server listens on all addresses by default.
export AIRFLOW__API__HOST="${AIRFLOW__API__HOST:-127.0.0.1}"
export AIRFLOW__SCHEDULER__SCHEDULER_HEALTH_CHECK_SERVER_HOST=127.0.0.1
export PYTHONPATH="$PLUMBLINE${PYTHONPATH:+:$PYTHONPATH}"
# Spark is the one of .venv: Airflow's Spark provider brings a client of another version into .airflow.
export SPARK_HOME="${SPARK_HOME:-$PLUMBLINE/.venv/lib/python3.11/site-packages/pyspark}"
export PYSPARK_PYTHON="${PYSPARK_PYTHON:-$PLUMBLINE/.venv/bin/python}"
export SPARK_CONF_DIR="${SPARK_CONF_DIR:-$PLUMBLINE/conf/spark}"
export SPARK_LOCAL_IP="${SPARK_LOCAL_IP:-127.0.0.1}"
export PATH="$PLUMBLINE/.airflow/bin:$SPARK_HOME/bin:$PATH"
export AIRFLOW_CONN_PLUMBLINE_SPARK="${AIRFLOW_CONN_PLUMBLINE_SPARK:-{\"conn_type\": \"spark\", \"host\": \"local[2]\"\}}"
export PLUMBLINE_CONF="${PLUMBLINE_CONF:-$PLUMBLINE/my.toml}"
