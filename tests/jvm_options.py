"""Options of JVMs that tests start."""

C1 = "-XX:TieredStopAtLevel=1"
"""
Compile with C1 alone. A JVM that runs for seconds or does little uses more CPU for C2 than C2 saves: a
quarter of all in a Spark job of 15 s. Tests that measure must not use it.
"""
