"""Exports of runs for other tools, and imports of other tools' results.

base     the Export protocol (`mashq.extensions` lists them)     files    files that are written atomically
rows     results, attempts and events as CSV, JSONL, Parquet     tables   the rows to export
latex    the result table for a paper                            otel     attempts as OpenTelemetry spans
inspect  one Inspect log per player, written and read             imports  other tools' results
"""
