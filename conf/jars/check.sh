#!/usr/bin/env bash
# Compare jars with the SHA-256 sums in conf/jars/sums; `make setup` and `make lab` run this.
# Usage: conf/jars/check.sh SET... (kafka, agent, spark, kafka-2.4.1, ...)
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/../.." || exit 2
failed=0

fail() {
  echo "$1" >&2
  failed=1
}

for name in "$@"; do
  folder=.jars/$name sums=conf/jars/sums/$name.sha256
  if [ ! -s "$sums" ]; then
    fail "$sums is missing: restore it, or run make jar-sums and review the difference"
    continue
  fi
  if [ ! -d "$folder" ]; then
    fail "$folder is missing"
    continue
  fi
  expected=$(sed 's/^[0-9a-f]*  //' "$sums" | sort)
  present=$(cd "$folder" && find . -name '*.jar' -printf '%P\n' | sort)
  while read -r jar; do fail "$folder/$jar is missing"; done < <(comm -23 <(echo "$expected") <(echo "$present") | grep .)
  while read -r jar; do fail "$folder/$jar is not listed in $sums"; done < <(comm -13 <(echo "$expected") <(echo "$present") | grep .)
  wrong=$(cd "$folder" && sha256sum --check --strict --quiet --ignore-missing "../../$sums" 2>&1) || {
    while read -r line; do
      case $line in
        *": FAILED"*) fail "$folder/${line%: FAILED*} has another SHA-256 than $sums" ;;
        sha256sum:*"did NOT match"* | sha256sum:*"no file was verified"*) ;;
        *) fail "$sums: $line" ;;
      esac
    done <<<"$wrong"
    failed=1
  }
done

if [ "$failed" -ne 0 ]; then
  cat >&2 <<'END'
Fix: rm -rf .jars, then run make again. If the same jar fails again, the copy in Maven's local repository
(~/.m2/repository) is wrong: remove that artifact there too.
After a change of versions in conf/jars/*.xml or CLIENTS, run make jar-sums and review the difference.
END
fi
exit "$failed"
