-- Requirements, the schema's privileges, and what several areas use: versions of snapshots, triggers
-- that reject changes, and partitions.
--
-- Two roles use the database. pingpost_owner owns everything and applies migrations. pingpost_app is
-- the service's role. It owns nothing. 00013_rights.sql and later migrations grant what it may do.

-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
    IF current_setting('server_version_num')::integer < 150000 THEN
        -- Before Postgres 15, the database's owner cannot revoke privileges on the schema public.
        RAISE EXCEPTION 'this Postgres is too old' USING HINT = 'use Postgres 15 or newer';
    END IF;
    IF to_regclass('public.goose_db_version') IS NOT NULL THEN
        RAISE EXCEPTION 'this database has the schema of an early development version, which cannot be upgraded'
            USING HINT = 'create a new, empty database; for pingpost dev, use another data folder';
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'pingpost_app') THEN
        RAISE EXCEPTION 'the role pingpost_app does not exist'
            USING HINT = 'create it first: CREATE ROLE pingpost_app LOGIN PASSWORD ...; see docs/how-to/deploy.md';
    END IF;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
END
$$;
-- +goose StatementEnd
REVOKE ALL ON SCHEMA public FROM PUBLIC;

-- Nodes keep snapshots of some tables in memory: the directory of partners, the rate card, and the
-- roles of staff. A node reloads a snapshot when its version changes. A notification
-- alone is not enough, because a node misses it while its connection is down.
CREATE TABLE snapshot_versions (
    name    text   CONSTRAINT snapshot_versions_pkey PRIMARY KEY,
    version bigint NOT NULL
);
COMMENT ON TABLE snapshot_versions IS 'Version numbers that nodes check to detect changes to partners and rate cards.';
INSERT INTO snapshot_versions VALUES ('directory', 1), ('rate_card', 1), ('access', 1);

-- bump_snapshot runs as the owner, so that the service needs no privilege to write versions.
-- +goose StatementBegin
CREATE FUNCTION bump_snapshot() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE snapshot_versions SET version = version + 1 WHERE name = TG_ARGV[0];
    PERFORM pg_notify('pingpost_snapshot', TG_ARGV[0]);
    RETURN NULL;
END
$$;

-- Privileges restrict the service. Triggers with the following functions restrict all other roles.
CREATE FUNCTION reject_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END
$$;

-- The arguments are the name of a constraint, and a message. The trigger's WHEN condition selects
-- the rows to reject.
CREATE FUNCTION reject_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[1] USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_ARGV[0];
END
$$;
-- +goose StatementEnd

-- Partitions. Each partition of a table contains the rows of one period. The time of a row is a
-- timestamp, or the first 48 bits of a UUIDv7, which are the time in milliseconds.

-- first_id returns the smallest ID with the given time. This ID is the bound of a partition or a search.
-- +goose StatementBegin
CREATE FUNCTION first_id(at timestamptz) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
RETURN rpad(lpad(to_hex(floor(extract(epoch FROM at) * 1000)::bigint), 12, '0'), 32, '0')::uuid;

-- partition_time returns the time of a partition's bound. The bound is the text of a timestamp or of a
-- UUIDv7.
CREATE FUNCTION partition_time(bound text) RETURNS timestamptz LANGUAGE sql STABLE AS $$
SELECT CASE WHEN bound ~ '^[0-9a-f]{8}-'
    THEN to_timestamp(('x' || left(replace(bound, '-', ''), 12))::bit(48)::bigint / 1000.0)
    ELSE bound::timestamptz END
$$;
-- +goose StatementEnd

CREATE VIEW partitions AS
SELECT parent.relname::text AS parent, child.relname::text AS name,
    partition_time(substring(bounds FROM $$FROM \('([^']+)'\)$$)) AS starts_at,
    partition_time(substring(bounds FROM $$TO \('([^']+)'\)$$)) AS ends_at
FROM pg_inherits
    JOIN pg_class parent ON parent.oid = inhparent AND parent.relkind = 'p' AND parent.relnamespace = 'public'::regnamespace
    JOIN pg_class child ON child.oid = inhrelid
    CROSS JOIN LATERAL pg_get_expr(child.relpartbound, child.oid) AS bounds;
COMMENT ON VIEW partitions IS 'The partitions of all tables, each with the time at which it starts and ends.';

-- +goose StatementBegin
-- add_partition creates a partition of a table. CREATE TABLE ... PARTITION OF would lock the whole
-- table, and posts would have to wait. A separate table can be attached while rows are inserted.
-- The CHECK proves that its rows are in range, so that attaching it does not read them.
CREATE FUNCTION add_partition(parent text, starts_at timestamptz, ends_at timestamptz) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    name text := parent || to_char(starts_at, '_YYYYMMDD');
    key text;
    by_id boolean;
    lower text;
    upper text;
    definition text;
BEGIN
    SELECT attname, atttypid = 'uuid'::regtype INTO STRICT key, by_id
    FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
    WHERE partrelid = ('public.' || quote_ident(parent))::regclass;
    lower := CASE WHEN by_id THEN first_id(starts_at)::text ELSE starts_at::text END;
    upper := CASE WHEN by_id THEN first_id(ends_at)::text ELSE ends_at::text END;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL EXCLUDING IDENTITY, CONSTRAINT in_range CHECK (%I >= %L AND %I < %L))',
        name, parent, key, lower, key, upper);
    -- A trigger on the table itself does not reject TRUNCATE on a partition.
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.%I FOR EACH STATEMENT EXECUTE FUNCTION reject_change()', name);
    -- The same is true for other statement triggers. Row triggers are added when the partition is
    -- attached.
    FOR definition IN SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = ('public.' || quote_ident(parent))::regclass AND NOT tgisinternal AND tgtype & 33 = 0 -- neither ROW nor TRUNCATE
    LOOP
        EXECUTE replace(definition, format(' ON public.%I ', parent), format(' ON public.%I ', name));
    END LOOP;
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', parent, name, lower, upper);
    EXECUTE format('ALTER TABLE public.%I DROP CONSTRAINT in_range', name);
END
$$;

-- create_partitions creates the missing partitions of some tables, from the one that contains
-- starts_at to the one that contains ends_at, and returns how many it created. unit is day, week or
-- month, in UTC. A partition is shorter than that if it fills a gap between other partitions. The
-- function runs as the owner, so that the service needs no privilege to create tables.
CREATE FUNCTION create_partitions(tables text[], unit text, starts_at timestamptz, ends_at timestamptz) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    created integer := 0;
    parent_name text;
    next_start timestamptz;
    next_end timestamptz;
BEGIN
    IF ends_at > starts_at + interval '62 days' THEN
        RAISE EXCEPTION 'at most 62 days of partitions can be created at once' USING ERRCODE = 'invalid_parameter_value',
            CONSTRAINT = 'partitions_period';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('partitions'));
    FOREACH parent_name IN ARRAY tables LOOP
        next_start := date_trunc(unit, starts_at);
        WHILE next_start <= ends_at LOOP
            SELECT p.ends_at INTO next_end FROM partitions p
            WHERE p.parent = parent_name AND p.starts_at <= next_start AND p.ends_at > next_start;
            IF NOT FOUND THEN
                SELECT least(date_trunc(unit, next_start) + ('1 ' || unit)::interval, min(p.starts_at)) INTO next_end FROM partitions p
                WHERE p.parent = parent_name AND p.starts_at > next_start;
                PERFORM add_partition(parent_name, next_start, next_end);
                created := created + 1;
            END IF;
            next_start := next_end;
        END LOOP;
    END LOOP;
    RETURN created;
END
$$;

-- analyze_partitions collects statistics about a partitioned table as a whole, unless they are less than
-- a day old. Autovacuum only does so for partitions. The function returns whether it collected
-- statistics.
CREATE FUNCTION analyze_partitions(parent text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM partitions p WHERE p.parent = analyze_partitions.parent)
        OR (SELECT last_analyze > now() - interval '1 day' FROM pg_stat_all_tables WHERE relid = ('public.' || quote_ident(parent))::regclass)
        OR NOT pg_try_advisory_xact_lock(hashtext('analyze ' || parent)) THEN
        RETURN false;
    END IF;
    EXECUTE format('ANALYZE public.%I', parent);
    RETURN true;
END
$$;
-- +goose StatementEnd

-- After five failed logins, Vault locks an AppRole for all nodes. The nodes count their failed logins
-- together, so that they stop before Vault locks the AppRole.
CREATE TABLE vault_logins (
    id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT vault_logins_pkey PRIMARY KEY,
    credential   bytea       NOT NULL, -- a keyed digest
    counts_until timestamptz NOT NULL
);
COMMENT ON TABLE vault_logins IS 'Vault login attempts, which all nodes count together.';

-- +goose Down
DROP TABLE vault_logins, snapshot_versions;
DROP FUNCTION analyze_partitions(text), create_partitions(text[], text, timestamptz, timestamptz), add_partition(text, timestamptz, timestamptz);
DROP VIEW partitions;
DROP FUNCTION partition_time(text), first_id(timestamptz), bump_snapshot(), reject_change(), reject_row();
