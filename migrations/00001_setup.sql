-- Requirements, the schema's privileges, and what several areas use: versions of snapshots, and
-- triggers that reject changes.
--
-- Two roles use the database. pingpost_owner owns everything and applies migrations. pingpost_app is
-- the service's role. It owns nothing, and 00013_rights.sql lists everything it may do.

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

-- After five failed logins, Vault locks an AppRole for all nodes. The nodes count their failures
-- together, to stop before that.
CREATE TABLE vault_logins (
    id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT vault_logins_pkey PRIMARY KEY,
    credential   bytea       NOT NULL, -- a keyed digest
    counts_until timestamptz NOT NULL
);
COMMENT ON TABLE vault_logins IS 'Vault login attempts, which all nodes count together.';

-- +goose Down
DROP TABLE vault_logins, snapshot_versions;
DROP FUNCTION bump_snapshot(), reject_change(), reject_row();
