#!/usr/bin/env bash
# Runs a command, and all that it starts, on cores that nothing else wants. `nice` cannot do that: the kernel shares
# the cores among sessions, and each broker of the lab has its own. Needs root and a `cpu` controller of the kernel.
for root in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
  group=$root/plumbline-tests
  if { mkdir -p "$group" && [ -e "$group/cpu.idle" ] && echo 1 > "$group/cpu.idle" &&
    echo $$ > "$group/cgroup.procs"; } 2> /dev/null; then
    exec "$@"
  fi
done
echo "$0: no group for idle cores, which needs root; \`make others ON_IDLE=\` runs the tests on all cores" >&2
exit 1
