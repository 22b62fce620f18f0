-- Leads with their consents and timelines.

-- +goose Up

-- partner_id, account_id and secret_id have no foreign keys, because every post would then lock
-- the same few rows in share mode. The rows exist in any case: the statement that stores a lead
-- reads all three, and the service has no privilege to delete them.
CREATE TABLE leads (
    id              uuid        CONSTRAINT leads_pkey PRIMARY KEY,
    attempt_id      uuid        NOT NULL DEFAULT gen_random_uuid(), -- random; identifies the stored post among all posts for the transaction
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
    -- The wrapped key that the partner received, if the lead has been rewrapped since then. If the
    -- post is replayed, the response contains this key again (decision 20). It is deleted together
    -- with body_digest.
    answered_key    bytea,
    CONSTRAINT leads_sealed_or_erased CHECK ((state = 'erased') = (salt IS NULL)),
    CONSTRAINT leads_signed_by CHECK (hmac_verified = (secret_id IS NOT NULL))
);
COMMENT ON TABLE leads IS 'Delivered leads: transaction, price, encrypted contact record and lookup digests.';
-- Ids are UUIDv7, so an index on them is ordered by time.
CREATE INDEX leads_by_partner ON leads (partner_id, id);
CREATE INDEX leads_with_body ON leads (id) WHERE body_digest IS NOT NULL; -- about one day of leads, until their digests are deleted
CREATE INDEX leads_sandbox ON leads (received_at) WHERE sandbox;
-- Counts the leads by key version, and finds those to rewrap.
CREATE INDEX leads_by_key ON leads (key_wrapper, key_version, id);
-- These indexes find a consumer's leads by a key of seven bytes. The first three bytes are the start
-- of the lead's id, which is its time in spans of 2^24 ms. So posts only write to the pages of the
-- current span. The other four are the first bytes of the digest after the id of the digest's key.
-- The indexes include leads without a digest, because Postgres only collects statistics for complete
-- indexes.
CREATE INDEX leads_by_span_email ON leads ((substr(uuid_send(id), 1, 3) || substr(email_digest, 5, 4)));
CREATE INDEX leads_by_span_phone ON leads ((substr(uuid_send(id), 1, 3) || substr(phone_digest, 5, 4)));

CREATE TABLE consents (
    lead_id             uuid        CONSTRAINT consents_pkey PRIMARY KEY CONSTRAINT consents_lead_fkey REFERENCES leads,
    partner_id          uuid        NOT NULL,
    acknowledged        boolean     NOT NULL CONSTRAINT consents_acknowledged CHECK (acknowledged),
    acknowledged_at     timestamptz,
    disclosure_text     text,
    recipient_hash      text,
    form_cert_url       text,
    third_party_lead_id text,
    sandbox             boolean     NOT NULL,
    received_at         timestamptz NOT NULL
);
COMMENT ON TABLE consents IS 'The consent of each lead. Never changed.';

CREATE TABLE lead_events (
    id      bigint      GENERATED ALWAYS AS IDENTITY,
    lead_id uuid        NOT NULL CONSTRAINT lead_events_lead_fkey REFERENCES leads,
    kind    text        NOT NULL,
    detail  jsonb       NOT NULL DEFAULT '{}',
    at      timestamptz NOT NULL,
    CONSTRAINT lead_events_pkey PRIMARY KEY (lead_id, id)
);
COMMENT ON TABLE lead_events IS 'The timeline of each lead: when it was delivered and returned.';

-- Consents of sandbox leads are deleted with their leads after 7 days (decision 25). All other
-- consents are permanent.
-- +goose StatementBegin
CREATE FUNCTION reject_consent_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' AND OLD.sandbox THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'consents is append-only' USING ERRCODE = 'insufficient_privilege';
END
$$;
-- delete_sandbox_leads runs as the owner. The service can only delete leads by calling it.
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
CREATE TRIGGER consents_append_only BEFORE UPDATE OR DELETE ON consents FOR EACH ROW EXECUTE FUNCTION reject_consent_change();
CREATE TRIGGER consents_no_truncate BEFORE TRUNCATE ON consents FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

-- +goose Down
DROP FUNCTION delete_sandbox_leads(timestamptz, integer);
DROP TABLE lead_events, consents, leads;
DROP FUNCTION reject_consent_change();
