"""Reads chats, keeps the users' turns, drops duplicates, shuffles by a hash and writes JSONL shards, with DuckDB."""

import sys

import duckdb

from peer import report

path, output, threads = sys.argv[1:]
connection = duckdb.connect()
connection.execute(f"SET threads = {threads}")
connection.execute("SET preserve_insertion_order = false")
connection.execute(f"SET temp_directory = '{output}/temporary'")
(rows,) = connection.execute(
    f"""
    COPY (
        WITH rows AS (
            SELECT id, list_filter(conversations, lambda turn: turn."from" = 'human') AS turns
            FROM read_json(
                '{path}',
                format = 'newline_delimited',
                columns = {{id: 'VARCHAR', source: 'VARCHAR', conversations: 'STRUCT("from" VARCHAR, "value" VARCHAR)[]'}}
            )
        ),
        keyed AS (
            SELECT md5(array_to_string(list_transform(turns, lambda turn: turn."value"), chr(31))) AS promptId, id, turns
            FROM rows
        ),
        unique_rows AS (SELECT promptId, first(id) AS id, first(turns) AS turns FROM keyed GROUP BY promptId)
        SELECT promptId, id, turns FROM unique_rows ORDER BY md5(promptId || 'seed')
    ) TO '{output}/shards' (FORMAT json, FILE_SIZE_BYTES '2MB')
    """
).fetchone()
report(rows)
