-- Partners, their accounts and signing secrets, and the versions that nodes use to detect
-- changes.

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
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO pingpost_app', current_database());
END
$$;
-- +goose StatementEnd

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE ON SCHEMA public TO pingpost_app;

-- One row for each snapshot that nodes keep in memory. A node misses a NOTIFY while its connection
-- is down, so nodes also compare the version.
CREATE TABLE snapshot_versions (
    name    text   CONSTRAINT snapshot_versions_pkey PRIMARY KEY,
    version bigint NOT NULL
);
INSERT INTO snapshot_versions VALUES ('directory', 1), ('rate_card', 1);
GRANT SELECT ON snapshot_versions TO pingpost_app;

-- This function runs as the owner, so that the service needs no privilege to write versions.
-- +goose StatementBegin
CREATE FUNCTION bump_snapshot() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE snapshot_versions SET version = version + 1 WHERE name = TG_ARGV[0];
    PERFORM pg_notify('pingpost_snapshot', TG_ARGV[0]);
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TABLE partners (
    id              uuid        CONSTRAINT partners_pkey PRIMARY KEY,
    slug            text        NOT NULL CONSTRAINT partners_slug_key UNIQUE
                                CONSTRAINT partners_slug_form CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    name            text        NOT NULL CONSTRAINT partners_name_given CHECK (name <> ''),
    legal_name      text        NOT NULL DEFAULT '',
    address         text        NOT NULL DEFAULT '',
    tax_id          text        NOT NULL DEFAULT '',
    contacts        jsonb       NOT NULL DEFAULT '[]',
    payment_terms   text        NOT NULL DEFAULT '',
    status          text        NOT NULL CONSTRAINT partners_status_known CHECK (status IN ('pending', 'approved', 'suspended')),
    signing_mode    text        NOT NULL CONSTRAINT partners_signing_mode_known CHECK (signing_mode IN ('default', 'required', 'report_only', 'off')),
    shared_address  boolean     NOT NULL,
    account_manager text        NOT NULL DEFAULT '',
    notes           text        NOT NULL DEFAULT '',
    row_version     integer     NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL
);

CREATE TABLE accounts (
    id           uuid        CONSTRAINT accounts_pkey PRIMARY KEY,
    partner_id   uuid        NOT NULL CONSTRAINT accounts_partner_fkey REFERENCES partners,
    identifier   text        NOT NULL CONSTRAINT accounts_identifier_key UNIQUE -- "partnerId" in a post
                             CONSTRAINT accounts_identifier_form CHECK (identifier ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$'),
    name         text        NOT NULL CONSTRAINT accounts_name_given CHECK (name <> ''),
    is_default   boolean     NOT NULL,
    sandbox      boolean     NOT NULL,
    status       text        NOT NULL CONSTRAINT accounts_status_known CHECK (status IN ('active', 'suspended')),
    signing_mode text        NOT NULL CONSTRAINT accounts_signing_mode_known CHECK (signing_mode IN ('inherit', 'required', 'report_only', 'off')),
    row_version  integer     NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL
);
CREATE UNIQUE INDEX accounts_one_default ON accounts (partner_id) WHERE is_default;
CREATE INDEX accounts_by_partner ON accounts (partner_id);
-- Identifiers that differ only in case are easily confused.
CREATE UNIQUE INDEX accounts_identifier_folded ON accounts (lower(identifier));

CREATE TABLE signing_secrets (
    id          uuid        CONSTRAINT signing_secrets_pkey PRIMARY KEY,
    partner_id  uuid        NOT NULL CONSTRAINT signing_secrets_partner_fkey REFERENCES partners,
    label       text        NOT NULL,
    prefix      text        NOT NULL,
    last_four   text        NOT NULL,
    sealed      bytea       NOT NULL,
    digest      bytea       NOT NULL CONSTRAINT signing_secrets_digest_key UNIQUE,
    state       text        NOT NULL CONSTRAINT signing_secrets_state_known CHECK (state IN ('active', 'revoked')),
    not_before  timestamptz NOT NULL,
    retires_at  timestamptz,
    revoked_at  timestamptz,
    created_at  timestamptz NOT NULL,
    CONSTRAINT signing_secrets_revoked_when CHECK ((state = 'revoked') = (revoked_at IS NOT NULL))
);
CREATE INDEX signing_secrets_by_partner ON signing_secrets (partner_id);

CREATE TRIGGER partners_changed AFTER INSERT OR UPDATE ON partners
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('directory');
CREATE TRIGGER accounts_changed AFTER INSERT OR UPDATE ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('directory');
CREATE TRIGGER signing_secrets_changed AFTER INSERT OR UPDATE ON signing_secrets
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('directory');

-- DELETE is not granted, so that partners that have delivered leads stay on record.
GRANT SELECT, INSERT, UPDATE ON partners, accounts, signing_secrets TO pingpost_app;

-- The platform account owns unsigned posts without a partnerId, if the default signing mode
-- accepts them (decision 13).
INSERT INTO partners (id, slug, name, status, signing_mode, shared_address, created_at, updated_at)
VALUES ('00000000-0000-7000-8000-000000000001', 'house', 'House', 'approved', 'default', false, now(), now());
INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
VALUES ('00000000-0000-7000-8000-000000000002', '00000000-0000-7000-8000-000000000001', 'house', 'House', true, false, 'active', 'inherit', now(), now());

-- +goose Down
DROP TABLE signing_secrets, accounts, partners, snapshot_versions;
DROP FUNCTION bump_snapshot();
REVOKE USAGE ON SCHEMA public FROM pingpost_app;
