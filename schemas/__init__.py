"""What every process agrees on: records, keys, topics, headers, settings."""
