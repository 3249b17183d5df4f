"""A run for other tools, and other tools' results for us.

rows           results, attempts and events as tables        files      CSV, JSONL, Parquet
latex          the result table for a paper                  otel       attempts as OpenTelemetry spans
inspect_write  a log for each player that Inspect opens      inspect_read, imports    and back
"""
