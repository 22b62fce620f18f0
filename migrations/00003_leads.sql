-- Leads, their consents and timeline, and the ledger.

-- +goose Up

-- partner_id, account_id and secret_id have no foreign keys, because every post would then lock
-- the same few rows in share mode. The rows exist in any case: the statement that stores a lead
-- reads all three, and the service has no privilege to delete them.
CREATE TABLE leads (
    id              uuid        CONSTRAINT leads_pkey PRIMARY KEY,
    transaction     uuid        NOT NULL CONSTRAINT leads_transaction_key UNIQUE, -- one lead per transaction (decision 3)
    transaction_id  text        NOT NULL, -- as the partner received it
    partner_id      uuid        NOT NULL,
    account_id      uuid        NOT NULL,
    secret_id       uuid, -- the secret that signed the post; null if unsigned
    hmac_verified   boolean     NOT NULL,
    sandbox         boolean     NOT NULL,
    state           text        NOT NULL DEFAULT 'delivered' CONSTRAINT leads_state_known CHECK (state IN ('delivered', 'erased')),

    price_minor     bigint      NOT NULL CONSTRAINT leads_price_positive CHECK (price_minor > 0),
    currency        char(3)     NOT NULL CONSTRAINT leads_currency_known CHECK (currency IN ('GBP', 'EUR', 'USD', 'CAD', 'AUD')),
    industry        text        NOT NULL,
    term_id         integer     NOT NULL,
    urgency         text        NOT NULL,
    card_version    integer     NOT NULL,
    quoted_partner  uuid, -- the partner that the quote was issued to
    quoted_country  char(2)     NOT NULL,
    quoted_postcode text        NOT NULL,
    quoted_at       timestamptz NOT NULL,
    received_at     timestamptz NOT NULL,

    country         char(2)     NOT NULL,
    postcode        text        NOT NULL,
    email_digest    bytea,
    phone_digest    bytea,
    phone_flagged   boolean     NOT NULL, -- not a valid number in the lead's country; stored as sent
    body_digest     bytea, -- deleted after 24 hours (decision 3)

    ciphertext      bytea,
    iv              bytea       CONSTRAINT leads_iv_size CHECK (length(iv) = 12),
    auth_tag        bytea       CONSTRAINT leads_auth_tag_size CHECK (length(auth_tag) = 16),
    salt            bytea       CONSTRAINT leads_salt_size CHECK (length(salt) = 16),
    wrapped_key     bytea,
    key_wrapper     text        NOT NULL,
    key_version     text        NOT NULL,
    CONSTRAINT leads_sealed_or_erased CHECK ((state = 'erased') = (salt IS NULL)),
    CONSTRAINT leads_signed_by CHECK (hmac_verified = (secret_id IS NOT NULL))
);
-- Ids are UUIDv7, so an index on them is ordered by time.
CREATE INDEX leads_by_partner ON leads (partner_id, id);
CREATE INDEX leads_by_email ON leads (email_digest) WHERE email_digest IS NOT NULL;
CREATE INDEX leads_with_body ON leads (id) WHERE body_digest IS NOT NULL; -- about one day of leads, until their digests are deleted
CREATE INDEX leads_by_phone ON leads (phone_digest) WHERE phone_digest IS NOT NULL;

CREATE TABLE consents (
    lead_id               uuid        CONSTRAINT consents_pkey PRIMARY KEY CONSTRAINT consents_lead_fkey REFERENCES leads,
    partner_id            uuid        NOT NULL,
    acknowledged          boolean     NOT NULL CONSTRAINT consents_acknowledged CHECK (acknowledged),
    acknowledged_at       timestamptz,
    disclosure_text       text,
    recipient_hash        text,
    form_cert_url         text,
    third_party_lead_id   text,
    sandbox               boolean     NOT NULL,
    received_at           timestamptz NOT NULL
);

CREATE TABLE lead_events (
    id      bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT lead_events_pkey PRIMARY KEY,
    lead_id uuid        NOT NULL CONSTRAINT lead_events_lead_fkey REFERENCES leads,
    kind    text        NOT NULL,
    detail  jsonb       NOT NULL DEFAULT '{}',
    at      timestamptz NOT NULL
);
CREATE INDEX lead_events_by_lead ON lead_events (lead_id, id);

CREATE TABLE ledger_entries (
    id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT ledger_entries_pkey PRIMARY KEY,
    partner_id   uuid        NOT NULL,
    account_id   uuid        NOT NULL,
    lead_id      uuid        CONSTRAINT ledger_entries_lead_fkey REFERENCES leads,
    kind         text        NOT NULL CONSTRAINT ledger_entries_kind_known CHECK (kind IN ('accrual', 'return', 'adjustment', 'payment')),
    reference    text        NOT NULL CONSTRAINT ledger_entries_reference_given CHECK (reference <> ''),
    amount_minor bigint      NOT NULL,
    currency     char(3)     NOT NULL CONSTRAINT ledger_entries_currency_known CHECK (currency IN ('GBP', 'EUR', 'USD', 'CAD', 'AUD')),
    occurred_at  timestamptz NOT NULL,
    CONSTRAINT ledger_entries_reference_key UNIQUE (partner_id, kind, reference),
    CONSTRAINT ledger_entries_sign CHECK (CASE kind
        WHEN 'accrual' THEN amount_minor > 0 AND lead_id IS NOT NULL
        WHEN 'return' THEN amount_minor < 0 AND lead_id IS NOT NULL
        WHEN 'payment' THEN amount_minor < 0
        ELSE amount_minor <> 0 END)
);
CREATE UNIQUE INDEX ledger_entries_one_accrual ON ledger_entries (lead_id) WHERE kind = 'accrual';

-- Grants and triggers make these tables append-only. The grants restrict the service. The
-- triggers restrict every other role.
-- +goose StatementBegin
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
END
$$;
-- Consents of sandbox leads are deleted with their leads after 7 days (decision 25). All other
-- consents are permanent.
CREATE FUNCTION refuse_consent_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.sandbox THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'consents is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
-- This function runs as the owner. The service can only delete leads by calling it.
CREATE FUNCTION delete_sandbox_leads(before timestamptz, at_most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE gone uuid[];
BEGIN
    gone := ARRAY(SELECT id FROM leads WHERE sandbox AND received_at < before LIMIT at_most FOR UPDATE SKIP LOCKED);
    DELETE FROM consents WHERE lead_id = ANY (gone);
    DELETE FROM lead_events WHERE lead_id = ANY (gone);
    DELETE FROM leads WHERE id = ANY (gone);
    RETURN cardinality(gone);
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION delete_sandbox_leads(timestamptz, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_sandbox_leads(timestamptz, integer) TO pingpost_app;
CREATE INDEX leads_sandbox ON leads (received_at) WHERE sandbox;

CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER consents_append_only BEFORE UPDATE OR DELETE ON consents FOR EACH ROW EXECUTE FUNCTION refuse_consent_change();
CREATE TRIGGER consents_no_truncate BEFORE TRUNCATE ON consents FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

GRANT SELECT, INSERT, UPDATE ON leads TO pingpost_app;
GRANT SELECT, INSERT ON consents, lead_events, ledger_entries TO pingpost_app;

-- +goose Down
DROP FUNCTION delete_sandbox_leads(timestamptz, integer);
DROP TABLE ledger_entries, lead_events, consents, leads;
DROP FUNCTION refuse_change(), refuse_consent_change();
