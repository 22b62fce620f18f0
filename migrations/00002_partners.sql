-- Partners, their accounts and signing secrets, and links to their documentation.

-- +goose Up
-- Searches for partners and accounts by name ignore case and accents.
CREATE FUNCTION fold(text text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    -- Most texts are ASCII. They have no accents, and folding them this way takes a fifth of the time.
    RETURN CASE WHEN octet_length(text) = char_length(text) THEN lower(text)
        -- These letters have no decomposition.
        ELSE translate(lower(regexp_replace(normalize(text, NFKD), '[\u0300-\u036f]', '', 'g')), 'øłđ', 'old') END;
COMMENT ON FUNCTION fold(text) IS 'A text without accents and in lower case, for searches.';

CREATE TABLE partners (
    id              uuid        CONSTRAINT partners_pkey PRIMARY KEY,
    slug            text        NOT NULL CONSTRAINT partners_slug_key UNIQUE
                                CONSTRAINT partners_slug_form CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
    name            text        NOT NULL CONSTRAINT partners_name_given CHECK (name <> ''),
    legal_name      text        NOT NULL DEFAULT '',
    address         text        NOT NULL DEFAULT '',
    tax_id          text        NOT NULL DEFAULT '',
    contacts        jsonb       NOT NULL DEFAULT '[]' CONSTRAINT partners_contacts_list CHECK (jsonb_typeof(contacts) = 'array'),
    payment_terms   text        NOT NULL DEFAULT '',
    status          text        NOT NULL CONSTRAINT partners_status_known CHECK (status IN ('pending', 'approved', 'suspended')),
    signing_mode    text        NOT NULL CONSTRAINT partners_signing_mode_known CHECK (signing_mode IN ('default', 'required', 'report_only', 'off')),
    shared_base_url boolean     NOT NULL, -- whether posts to the shared base URL are matched to the partner by signature
    account_manager text        NOT NULL DEFAULT '',
    notes           text        NOT NULL DEFAULT '',
    row_version     integer     NOT NULL DEFAULT 1,
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    -- The text that searches for partners read. Converting three columns of each partner would take most of the time
    -- of a search.
    searched        text        GENERATED ALWAYS AS (fold(name || E'\n' || legal_name || E'\n' || slug)) STORED
);
COMMENT ON COLUMN partners.searched IS 'The text that searches for partners read.';
COMMENT ON TABLE partners IS 'Companies that sell leads, with their slug, state and signing mode.';
CREATE INDEX partners_by_name ON partners (lower(name), id);
-- This index finds slugs that are easily confused, such as acme-101 and acme-1o1. The console warns
-- users before they create one.
CREATE INDEX partners_slug_likeness ON partners (translate(slug, '01i', 'oll'));

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
    updated_at   timestamptz NOT NULL,
    searched     text        GENERATED ALWAYS AS (fold(name || E'\n' || identifier)) STORED
);
COMMENT ON COLUMN accounts.searched IS 'The text that searches for accounts read.';
COMMENT ON TABLE accounts IS 'Partners'' accounts. Each has the partnerId that the partner sends in posts.';
CREATE UNIQUE INDEX accounts_one_default ON accounts (partner_id) WHERE is_default;
CREATE INDEX accounts_by_partner ON accounts (partner_id);
-- Identifiers that differ only in case are not allowed. If identifiers are easily confused for another
-- reason, the console shows a warning, as it does for slugs.
CREATE UNIQUE INDEX accounts_identifier_folded ON accounts (lower(identifier));
CREATE INDEX accounts_identifier_likeness ON accounts (translate(lower(identifier), '01i_.', 'oll--'));

CREATE TABLE signing_secrets (
    id          uuid        CONSTRAINT signing_secrets_pkey PRIMARY KEY,
    partner_id  uuid        NOT NULL CONSTRAINT signing_secrets_partner_fkey REFERENCES partners,
    label       text        NOT NULL,
    prefix      text        NOT NULL, -- the first and last characters, to recognise the secret
    last_four   text        NOT NULL,
    sealed      bytea       NOT NULL, -- encrypted with a platform key
    digest      bytea       NOT NULL CONSTRAINT signing_secrets_digest_key UNIQUE,
    state       text        NOT NULL CONSTRAINT signing_secrets_state_known CHECK (state IN ('active', 'revoked')),
    not_before  timestamptz NOT NULL,
    expires_at  timestamptz,
    revoked_at  timestamptz,
    created_by  text        NOT NULL DEFAULT '', -- the user's name, as in the audit log
    created_at  timestamptz NOT NULL,
    CONSTRAINT signing_secrets_revoked_when CHECK ((state = 'revoked') = (revoked_at IS NOT NULL))
);
COMMENT ON TABLE signing_secrets IS 'Partners'' signing secrets, encrypted with a platform key.';
CREATE INDEX signing_secrets_by_partner ON signing_secrets (partner_id);
CREATE TRIGGER signing_secrets_stay_revoked BEFORE UPDATE ON signing_secrets
    FOR EACH ROW WHEN (OLD.state = 'revoked' AND NEW.state <> 'revoked')
    EXECUTE FUNCTION reject_row('signing_secrets_stay_revoked', 'a revoked secret stays revoked');

CREATE TRIGGER partners_changed AFTER INSERT OR UPDATE ON partners
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('directory');
CREATE TRIGGER accounts_changed AFTER INSERT OR UPDATE ON accounts
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('directory');
CREATE TRIGGER signing_secrets_changed AFTER INSERT OR UPDATE ON signing_secrets
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('directory');

-- The platform account owns unsigned posts without a partnerId, if the default signing mode
-- accepts them (decision 13).
INSERT INTO partners (id, slug, name, status, signing_mode, shared_base_url, created_at, updated_at)
VALUES ('00000000-0000-7000-8000-000000000001', 'platform', 'Platform', 'approved', 'default', false, now(), now());
INSERT INTO accounts (id, partner_id, identifier, name, is_default, sandbox, status, signing_mode, created_at, updated_at)
VALUES ('00000000-0000-7000-8000-000000000002', '00000000-0000-7000-8000-000000000001', 'platform', 'Platform', true, false, 'active', 'inherit', now(), now());

-- A link opens a page that explains how to send leads and contains no secret. The token has 256
-- random bits, so its SHA-256 needs no key. Revoked links are not deleted, so that a link is never
-- issued twice.
CREATE TABLE partner_links (
    digest     bytea       CONSTRAINT partner_links_pkey PRIMARY KEY CONSTRAINT partner_links_digest_length CHECK (length(digest) = 32),
    partner_id uuid        NOT NULL CONSTRAINT partner_links_partner_fkey REFERENCES partners,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz
);
COMMENT ON TABLE partner_links IS 'Links to partners'' documentation pages. Only a digest of the token is stored.';
CREATE UNIQUE INDEX partner_links_one ON partner_links (partner_id) WHERE revoked_at IS NULL;
