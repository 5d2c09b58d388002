"""Model files in and out, and what all files share: where a line stands, tables, whole writes."""
