-- One statement, so that no moment has more rights than the end. Names cannot be parameters of it.
DO $$ BEGIN
GRANT USAGE ON SCHEMA public TO "{role}";
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "{role}";
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO "{role}";
-- What a later migration makes is theirs at once: processes go on beside it.
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO "{role}";
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE, SELECT ON SEQUENCES TO "{role}";
REVOKE EXECUTE ON FUNCTION make_event_partitions, drop_event_partitions FROM PUBLIC;
GRANT EXECUTE ON FUNCTION make_event_partitions, drop_event_partitions TO "{role}";
REVOKE INSERT, UPDATE, DELETE ON migration FROM "{role}";
REVOKE DELETE ON workspace, audit_chain FROM "{role}";
REVOKE UPDATE ON audit_entry FROM "{role}";
GRANT UPDATE (number, hash) ON audit_entry TO "{role}";
ALTER TABLE audit_entry ENABLE ROW LEVEL SECURITY;
DROP POLICY IF EXISTS entries ON audit_entry;
DROP POLICY IF EXISTS past_retention ON audit_entry;
CREATE POLICY entries ON audit_entry USING (true);
-- The hour is for clocks that differ.
CREATE POLICY past_retention ON audit_entry AS RESTRICTIVE FOR DELETE
    USING (at < now() - interval '{days} days' + interval '1 hour');
IF (SELECT rolbypassrls OR rolcreaterole OR pg_has_role(oid, (SELECT relowner FROM pg_class
        WHERE oid = 'audit_entry'::regclass), 'MEMBER') FROM pg_roles WHERE rolname = '{role}')
    OR has_table_privilege('{role}', 'audit_entry', 'UPDATE, TRUNCATE, TRIGGER')
    OR has_table_privilege('{role}', 'workspace', 'DELETE') OR has_schema_privilege('{role}', 'public', 'CREATE') THEN
    RAISE insufficient_privilege USING MESSAGE = '{role} could still change the audit log: it must not be the owner'
        ' of the tables or its member, have BYPASSRLS or CREATEROLE, or be given more, as CREATE ON SCHEMA public';
END IF;
END $$
