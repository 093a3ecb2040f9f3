"""A row for every table that there is, made from the catalog."""

from itertools import groupby

import asyncpg

# The columns that an insert must give, with a literal unless any text fits; tables before those that refer to them.
COLUMNS = r"""
SELECT relname AS name, quote_ident(attname) AS column, coalesce(
    (SELECT substring(pg_get_constraintdef(oid) FROM '''(\w+)''::text') FROM pg_constraint
     WHERE conrelid = attrelid AND contype = 'c' AND conkey = ARRAY[attnum]),
    CASE WHEN typname IN ('text', 'bytea', 'tsvector') THEN NULL WHEN typcategory = 'A' OR typname = 'json' THEN '{}'
        WHEN typcategory = 'D' THEN 'now' ELSE '1' END) AS value
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_type ON pg_type.oid = atttypid
WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition
    -- without those that triggers keep, or that have one row
    AND relname NOT IN ('migration', 'lead_by_update', 'login', 'search_due', 'ledger_check')
    AND attnum > 0 AND (attnotnull AND NOT atthasdef
        OR (relname, attname) IN (('lead', 'email'), ('consent', 'lead_id'), ('audit_entry', 'workspace_id'),
            ('audit_chain', 'workspace_id'), ('audit_count', 'workspace_id')))
ORDER BY attrelid, attnum"""


async def insert(sql: asyncpg.Connection, columns: list[asyncpg.Record], text: str) -> None:
    """Insert one row into each table. Every text is the same, so that each reference finds its row."""
    for table, of_table in groupby(columns, key=lambda column: column["name"]):
        values = {column["column"]: f"'{column['value'] or text}'" for column in of_table}
        await sql.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join(values.values())})")
