-- Requirements, the schema's privileges, and what several areas use: versions of snapshots, triggers
-- that reject changes, and partitions.
--
-- Two roles use the database. pingpost_owner owns everything and applies migrations. pingpost_app is
-- the service's role. It owns nothing. 00015_rights.sql grants what it may do.

-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
    IF current_setting('server_version_num')::integer < 150000 THEN
        -- Before Postgres 15, the database's owner cannot revoke privileges on the schema public.
        RAISE EXCEPTION 'this Postgres is too old' USING HINT = 'use Postgres 15 or newer';
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

-- Nodes keep snapshots of some tables in memory: the directory of partners, the rate card, the roles of
-- staff, and the keys of evidence packs. A node reloads a snapshot when its version changes. A notification
-- alone is not enough, because a node misses it while its connection is down.
CREATE TABLE snapshot_versions (
    name    text   CONSTRAINT snapshot_versions_pkey PRIMARY KEY,
    version bigint NOT NULL
);
COMMENT ON TABLE snapshot_versions IS 'Version numbers that nodes check to detect changes to partners and rate cards.';
INSERT INTO snapshot_versions VALUES ('directory', 1), ('rate_card', 1), ('access', 1), ('evidence_keys', 1);

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

-- While a partition is being detached concurrently, or after this was interrupted, Postgres accepts no rows for
-- it. Such a partition counts as missing, and create_partitions attaches it again.
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

CREATE VIEW partitions AS
SELECT parent, name, starts_at, ends_at FROM attached_partitions WHERE NOT detaching;
COMMENT ON VIEW partitions IS 'The partitions of all tables that accept rows, each with the time at which it starts and ends.';
-- +goose StatementBegin
-- create_partition creates a partition of a table. CREATE TABLE ... PARTITION OF would lock the whole
-- table, and posts would have to wait. A separate table can be attached while rows are inserted.
-- The CHECK proves that its rows are in range, so that attaching it does not read them.
CREATE FUNCTION create_partition(parent text, starts_at timestamptz, ends_at timestamptz) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    name text := parent || to_char(starts_at, '_YYYYMMDD');
    key text;
    by_id boolean;
    lower text;
    upper text;
    definition text;
    skipped text;
BEGIN
    SELECT attname, atttypid = 'uuid'::regtype INTO STRICT key, by_id
    FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
    WHERE partrelid = ('public.' || quote_ident(parent))::regclass;
    lower := CASE WHEN by_id THEN first_id(starts_at)::text ELSE starts_at::text END;
    upper := CASE WHEN by_id THEN first_id(ends_at)::text ELSE ends_at::text END;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL EXCLUDING IDENTITY, CONSTRAINT in_range CHECK (%I >= %L AND %I < %L))',
        name, parent, key, lower, key, upper);
    -- LIKE does not copy for which columns Postgres collects no statistics.
    FOR skipped IN SELECT attname FROM pg_attribute WHERE attrelid = ('public.' || quote_ident(parent))::regclass AND attnum > 0 AND NOT attisdropped AND attstattarget = 0
    LOOP
        EXECUTE format('ALTER TABLE public.%I ALTER COLUMN %I SET STATISTICS 0', name, skipped);
    END LOOP;
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

-- create_missing_partitions creates the missing partitions of some tables, from the one that contains
-- starts_at to the one that contains ends_at, and returns how many it created. unit is day, week or
-- month, in UTC. A partition is shorter than that if it fills a gap between other partitions.
CREATE FUNCTION create_missing_partitions(tables text[], unit text, starts_at timestamptz, ends_at timestamptz) RETURNS integer
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

-- create_partitions creates the missing partitions of some tables, as create_missing_partitions does, and returns
-- how many it created or attached. It runs as the owner, so that the service needs no privilege to create tables. A partition that is being detached concurrently is attached again with its
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

-- A node that cannot store leads writes to this table until a commit succeeds.
CREATE TABLE write_checks (
    id     bigint GENERATED ALWAYS AS IDENTITY CONSTRAINT write_checks_pkey PRIMARY KEY,
    filler bytea  NOT NULL
);
-- Compressed, the filler would need hardly any space.
ALTER TABLE write_checks ALTER COLUMN filler SET STORAGE EXTERNAL;
COMMENT ON TABLE write_checks IS 'Data that nodes write to check that the database can store leads. They empty the table when it has 4 MiB.';

-- A program can read here whether it works with a schema that is newer than its own migrations.
CREATE TABLE schema_requirements (
    version        bigint CONSTRAINT schema_requirements_pkey PRIMARY KEY, -- of a migration
    oldest_program bigint NOT NULL,
    CONSTRAINT schema_requirements_oldest_program CHECK (oldest_program BETWEEN 1 AND version)
);
COMMENT ON TABLE schema_requirements IS 'The oldest program that works after each migration. A program is identified by the newest migration that it contains.';
