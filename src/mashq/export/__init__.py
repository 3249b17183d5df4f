"""A run for other tools, and other tools' results for us.

base     what an export is (`mashq.extensions` names them all)   files    files that are whole or not there
rows     results, attempts and events as CSV, JSONL, Parquet     tables   the rows themselves
latex    the result table for a paper                            otel     attempts as OpenTelemetry spans
inspect  a log for each player that Inspect opens, and back      imports  other tools' results
"""
