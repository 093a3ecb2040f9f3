"""What an error of PostgreSQL or Redis means to an operator."""


def known(error: BaseException) -> str | None:
    """One line about it, or None when it is no error of a server."""
    import asyncpg
    from redis.exceptions import RedisError

    from leadwire.infrastructure.db import GONE, Canceled

    if isinstance(error, asyncpg.UndefinedTableError):
        return "this database has no Leadwire tables yet: run `leadwire migrate`"
    if isinstance(error, asyncpg.InvalidAuthorizationSpecificationError | asyncpg.InvalidCatalogNameError):
        return f"the database refuses: {error}"
    if isinstance(error, asyncpg.DuplicatePreparedStatementError | asyncpg.InvalidSQLStatementNameError):
        return (
            "a pooler between us and the database loses prepared statements: PgBouncer 1.21 or later with"
            " max_prepared_statements, or pool_mode = session"
        )
    if isinstance(error, RedisError):
        return f"Redis cannot be reached: {error}"
    if isinstance(error, (*GONE, Canceled)):
        what = "ended a statement" if isinstance(error, Canceled) else "cannot be reached"
        return f"the database {what}: {str(error) or type(error).__name__}"
    return None
