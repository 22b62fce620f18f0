-- A node that cannot store leads writes to the table write_checks until a commit succeeds.
-- add_partition attaches a detached partition again instead of failing.

-- +goose Up
CREATE TABLE write_checks (
    id     bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT write_checks_pkey PRIMARY KEY,
    filler bytea  NOT NULL
);
-- Compressed, the filler would need hardly any space.
ALTER TABLE write_checks ALTER COLUMN filler SET STORAGE EXTERNAL;
COMMENT ON TABLE write_checks IS 'Data that nodes write to check that the database can store leads. They empty the table when it has 4 MiB.';
GRANT INSERT, TRUNCATE ON write_checks TO pingpost_app;

ALTER FUNCTION add_partition(text, timestamptz, timestamptz) RENAME TO create_partition;
-- +goose StatementBegin
-- add_partition adds a partition to a table. If a table with the partition's name exists, it was
-- detached. It is attached again, because its leads would otherwise be missing, and could be delivered
-- and paid for a second time.
CREATE FUNCTION add_partition(parent text, starts_at timestamptz, ends_at timestamptz) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    detached text;
    by_id boolean;
BEGIN
    SELECT relname INTO detached FROM pg_class
    WHERE oid = to_regclass('public.' || quote_ident(parent || to_char(starts_at, '_YYYYMMDD'))) AND NOT relispartition;
    IF NOT FOUND THEN
        PERFORM create_partition(parent, starts_at, ends_at);
        RETURN;
    END IF;
    SELECT atttypid = 'uuid'::regtype INTO STRICT by_id
    FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
    WHERE partrelid = ('public.' || quote_ident(parent))::regclass;
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', parent, detached,
        CASE WHEN by_id THEN first_id(starts_at)::text ELSE starts_at::text END,
        CASE WHEN by_id THEN first_id(ends_at)::text ELSE ends_at::text END);
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION add_partition(text, timestamptz, timestamptz) FROM PUBLIC;

-- +goose Down
DROP FUNCTION add_partition(text, timestamptz, timestamptz);
ALTER FUNCTION create_partition(text, timestamptz, timestamptz) RENAME TO add_partition;
DROP TABLE write_checks;
