-- oldest program: 26
-- While a partition is being detached concurrently, or after this was interrupted, Postgres accepts no rows for it. Such
-- a partition counts as missing, and create_partitions attaches it again.

-- +goose Up
CREATE VIEW attached_partitions AS
SELECT parent.relname::text AS parent, child.relname::text AS name,
    partition_time(substring(bounds FROM $$FROM \('([^']+)'\)$$)) AS starts_at,
    partition_time(substring(bounds FROM $$TO \('([^']+)'\)$$)) AS ends_at,
    bounds, inhdetachpending AS detaching
FROM pg_inherits
    JOIN pg_class parent ON parent.oid = inhparent AND parent.relkind = 'p' AND parent.relnamespace = 'public'::regnamespace
    JOIN pg_class child ON child.oid = inhrelid
    CROSS JOIN LATERAL pg_get_expr(child.relpartbound, child.oid) AS bounds;
COMMENT ON VIEW attached_partitions IS 'The partitions of all tables, including those that are being detached concurrently.';

CREATE OR REPLACE VIEW partitions AS
SELECT parent, name, starts_at, ends_at FROM attached_partitions WHERE NOT detaching;
COMMENT ON VIEW partitions IS 'The partitions of all tables that accept rows, each with the time at which it starts and ends.';

ALTER FUNCTION create_partitions(text[], text, timestamptz, timestamptz) RENAME TO create_missing_partitions;
REVOKE ALL ON FUNCTION create_missing_partitions(text[], text, timestamptz, timestamptz) FROM pingpost_app;
-- +goose StatementBegin
-- create_partitions creates the missing partitions of some tables, as create_missing_partitions does, and returns
-- how many it created or attached. A partition that is being detached concurrently is attached again with its
-- bounds. FINALIZE waits for the transactions that still read the partition.
CREATE FUNCTION create_partitions(tables text[], unit text, starts_at timestamptz, ends_at timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    attached integer := 0;
    p record;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('partitions'));
    FOR p IN SELECT parent, name, bounds FROM attached_partitions a WHERE detaching AND parent = ANY (tables)
        AND a.starts_at <= create_partitions.ends_at AND a.ends_at > create_partitions.starts_at
    LOOP
        EXECUTE format('ALTER TABLE public.%I DETACH PARTITION public.%I FINALIZE', p.parent, p.name);
        EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I %s', p.parent, p.name, p.bounds);
        attached := attached + 1;
    END LOOP;
    RETURN attached + create_missing_partitions(tables, unit, starts_at, ends_at);
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION create_partitions(text[], text, timestamptz, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION create_partitions(text[], text, timestamptz, timestamptz) TO pingpost_app;

-- +goose Down
DROP FUNCTION create_partitions(text[], text, timestamptz, timestamptz);
ALTER FUNCTION create_missing_partitions(text[], text, timestamptz, timestamptz) RENAME TO create_partitions;
GRANT EXECUTE ON FUNCTION create_partitions(text[], text, timestamptz, timestamptz) TO pingpost_app;
CREATE OR REPLACE VIEW partitions AS
SELECT parent.relname::text AS parent, child.relname::text AS name,
    partition_time(substring(bounds FROM $$FROM \('([^']+)'\)$$)) AS starts_at,
    partition_time(substring(bounds FROM $$TO \('([^']+)'\)$$)) AS ends_at
FROM pg_inherits
    JOIN pg_class parent ON parent.oid = inhparent AND parent.relkind = 'p' AND parent.relnamespace = 'public'::regnamespace
    JOIN pg_class child ON child.oid = inhrelid
    CROSS JOIN LATERAL pg_get_expr(child.relpartbound, child.oid) AS bounds;
COMMENT ON VIEW partitions IS 'The partitions of all tables, each with the time at which it starts and ends.';
DROP VIEW attached_partitions;
