-- Leads with their keys, consents and timelines.
--
-- All four tables are partitioned by the lead's id, which is a UUIDv7 from the time of the ping. The
-- four rows of a lead are therefore in partitions of the same period. The tables have no foreign keys,
-- because the statement that stores a lead stores all of its rows, and an hourly job checks them
-- (decision 48).

-- +goose Up

-- partner_id, account_id and secret_id have no foreign keys, because every post would then lock the same
-- few rows in share mode. The rows always exist, because the statement that stores a lead reads all
-- three, and the service has no privilege to delete them.
CREATE TABLE leads (
    id              uuid        CONSTRAINT leads_pkey PRIMARY KEY, -- the transaction's id (decision 32), so that a transaction has at most one lead (decision 3)
    attempt_id      uuid        NOT NULL, -- random; identifies the stored post among all posts for the transaction
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

    ciphertext      bytea,
    iv              bytea       CONSTRAINT leads_iv_size CHECK (length(iv) = 12),
    auth_tag        bytea       CONSTRAINT leads_auth_tag_size CHECK (length(auth_tag) = 16),
    CONSTRAINT leads_encrypted_or_erased CHECK ((state = 'erased') = (ciphertext IS NULL)),
    CONSTRAINT leads_signed_by CHECK (hmac_verified = (secret_id IS NOT NULL))
) PARTITION BY RANGE (id);
COMMENT ON TABLE leads IS 'Delivered leads: transaction, price, encrypted contact record and lookup digests.';
CREATE INDEX leads_by_time ON leads (received_at, id);
CREATE INDEX leads_by_partner ON leads (partner_id, received_at, id);
CREATE INDEX leads_by_email ON leads (email_digest);
CREATE INDEX leads_by_phone ON leads (phone_digest);

-- Postgres rewrites a whole row when one of its columns changes. Columns that change are therefore here,
-- and not in leads, whose rows are ten times as large. Without its row in lead_keys, a lead cannot be
-- decrypted.
CREATE TABLE lead_keys (
    lead_id      uuid  CONSTRAINT lead_keys_pkey PRIMARY KEY,
    salt         bytea NOT NULL CONSTRAINT lead_keys_salt_size CHECK (length(salt) = 16),
    wrapped_key  bytea NOT NULL,
    key_wrapper  text  NOT NULL,
    key_version  text  NOT NULL,
    body_digest  bytea, -- of the post's body; deleted after 24 hours (decision 3)
    -- The wrapped key that the partner received, if the lead has been rewrapped since then. If the
    -- post is replayed, the response contains this key again (decision 20). It is deleted together
    -- with body_digest.
    answered_key bytea
) PARTITION BY RANGE (lead_id);
COMMENT ON TABLE lead_keys IS 'The wrapped data key of each lead and, for one day, the digest of the post''s body.';
CREATE INDEX lead_keys_by_version ON lead_keys (key_wrapper, key_version);
CREATE INDEX lead_keys_with_body ON lead_keys (lead_id) WHERE body_digest IS NOT NULL; -- about one day of leads, until their digests are deleted

CREATE TABLE consents (
    lead_id             uuid        CONSTRAINT consents_pkey PRIMARY KEY,
    partner_id          uuid        NOT NULL,
    acknowledged        boolean     NOT NULL CONSTRAINT consents_acknowledged CHECK (acknowledged),
    acknowledged_at     timestamptz,
    disclosure_text     text,
    recipient_hash      text,
    form_cert_url       text,
    third_party_lead_id text,
    sandbox             boolean     NOT NULL,
    received_at         timestamptz NOT NULL
) PARTITION BY RANGE (lead_id);
COMMENT ON TABLE consents IS 'The consent of each lead. Rows are never changed.';
-- This index finds the leads to delete. An index on leads would make every search slower to plan.
CREATE INDEX consents_sandbox ON consents (received_at) WHERE sandbox;

CREATE TABLE lead_events (
    id      bigint      GENERATED ALWAYS AS IDENTITY,
    lead_id uuid        NOT NULL,
    kind    text        NOT NULL,
    detail  jsonb       NOT NULL DEFAULT '{}',
    at      timestamptz NOT NULL,
    CONSTRAINT lead_events_pkey PRIMARY KEY (lead_id, id)
) PARTITION BY RANGE (lead_id);
COMMENT ON TABLE lead_events IS 'The timeline of each lead: when it was delivered and returned.';

-- A job checks that each lead has all of its rows. Leads that were received earlier have been checked.
CREATE TABLE lead_checks (
    only_row      boolean     CONSTRAINT lead_checks_pkey PRIMARY KEY DEFAULT true CONSTRAINT lead_checks_one CHECK (only_row),
    checked_until timestamptz NOT NULL
);
COMMENT ON TABLE lead_checks IS 'The time up to which leads were checked for missing rows. The table has one row.';

-- Sandbox leads are deleted after retention.sandbox_days (decision 25). Other leads and consents are never deleted.
CREATE TRIGGER leads_stay BEFORE DELETE ON leads FOR EACH ROW WHEN (NOT OLD.sandbox) EXECUTE FUNCTION reject_change();
CREATE TRIGGER consents_stay BEFORE DELETE ON consents FOR EACH ROW WHEN (NOT OLD.sandbox) EXECUTE FUNCTION reject_change();
CREATE TRIGGER consents_unchanged BEFORE UPDATE ON consents FOR EACH ROW EXECUTE FUNCTION reject_change();

-- +goose StatementBegin
-- delete_sandbox_leads runs as the owner. The service can only delete leads by calling it.
CREATE FUNCTION delete_sandbox_leads(before timestamptz, at_most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE gone uuid[];
BEGIN
    gone := ARRAY(SELECT lead_id FROM consents WHERE sandbox AND received_at < before AND lead_id < first_id(before + interval '5 seconds')
        LIMIT at_most FOR UPDATE SKIP LOCKED);
    DELETE FROM consents WHERE lead_id = ANY (gone);
    DELETE FROM lead_keys WHERE lead_id = ANY (gone);
    DELETE FROM lead_events WHERE lead_id = ANY (gone);
    DELETE FROM leads WHERE id = ANY (gone);
    RETURN cardinality(gone);
END
$$;
-- +goose StatementEnd

-- +goose Down
DROP FUNCTION delete_sandbox_leads(timestamptz, integer);
DROP TABLE lead_checks, lead_events, consents, lead_keys, leads;
