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

    partner_reference text      NOT NULL DEFAULT '',
    sub_id            text      NOT NULL DEFAULT '',
    CONSTRAINT leads_encrypted_or_erased CHECK ((state = 'erased') = (ciphertext IS NULL)),
    CONSTRAINT leads_signed_by CHECK (hmac_verified = (secret_id IS NOT NULL))
) PARTITION BY RANGE (id);
COMMENT ON TABLE leads IS 'Delivered leads: transaction, price, encrypted contact record and lookup digests.';
COMMENT ON COLUMN leads.partner_reference IS 'The partner''s own ID of the lead, or an empty text.';
COMMENT ON COLUMN leads.sub_id IS 'The partner''s name for the source of the lead, or an empty text.';
CREATE INDEX leads_by_time ON leads (received_at, id);
CREATE INDEX leads_by_partner ON leads (partner_id, received_at, id);
CREATE INDEX leads_by_email ON leads (email_digest);
CREATE INDEX leads_by_phone ON leads (phone_digest);
CREATE INDEX leads_by_partner_reference ON leads (partner_id, partner_reference, received_at, id) WHERE partner_reference <> '';
-- The included columns are for totals by subId.
CREATE INDEX leads_by_sub_id ON leads (partner_id, sub_id, received_at, id) INCLUDE (sandbox, currency, price_minor) WHERE sub_id <> '';

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

-- A lead is stored only if the key that wrapped its data key is registered (decision 55).
CREATE TABLE wrapping_keys (
    wrapper       text        NOT NULL,
    key           text        NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT wrapping_keys_pkey PRIMARY KEY (wrapper, key)
);
COMMENT ON TABLE wrapping_keys IS 'The keys that may wrap the data keys of leads: a local key by its version, or a Vault key by its mount and name.';

CREATE TABLE consents (
    lead_id             uuid        CONSTRAINT consents_pkey PRIMARY KEY,
    partner_id          uuid        NOT NULL,
    acknowledged        boolean     NOT NULL CONSTRAINT consents_acknowledged CHECK (acknowledged),
    acknowledged_at     timestamptz,
    recipient_hash      text,
    form_cert_url       text,
    third_party_lead_id text,
    sandbox             boolean     NOT NULL,
    received_at         timestamptz NOT NULL,
    disclosure_digest   bytea,
    acknowledged_text   text -- a time without a UTC offset is stored only as text, because an assumed offset would be false evidence
) PARTITION BY RANGE (lead_id);
COMMENT ON TABLE consents IS 'The consent of each lead. It never changes, except that its details are deleted when the lead is erased.';
COMMENT ON COLUMN consents.acknowledged_text IS 'The time of consent as the partner sent it.';
-- This index finds the leads to delete. An index on leads would make every search slower to plan.
CREATE INDEX consents_sandbox ON consents (received_at) WHERE sandbox;

-- Disclosure texts are stored once, and not with each consent.
CREATE TABLE disclosures (
    id             uuid        CONSTRAINT disclosures_pkey PRIMARY KEY DEFAULT gen_random_uuid(),
    digest         bytea       NOT NULL CONSTRAINT disclosures_digest_unique UNIQUE CONSTRAINT disclosures_digest_size CHECK (length(digest) = 32),
    text           text        NOT NULL, -- as the partner sent it, unless it was replaced
    partner_id     uuid        NOT NULL CONSTRAINT disclosures_partner_fkey REFERENCES partners, -- the first one that sent it
    first_used_at  timestamptz NOT NULL,
    standard       boolean     NOT NULL DEFAULT false,
    replaced_at    timestamptz,
    replaced_by    text        NOT NULL DEFAULT '',
    replaced_by_id uuid        CONSTRAINT disclosures_replaced_by_fkey REFERENCES staff,
    CONSTRAINT disclosures_replaced CHECK ((replaced_at IS NULL) = (replaced_by = ''))
);
COMMENT ON TABLE disclosures IS 'Disclosure texts, each stored once and identified by the SHA-256 digest of the text that the partner sent. A text that is not standard is deleted with the last lead that uses it.';
CREATE INDEX disclosures_by_time ON disclosures (standard, first_used_at, id);
CREATE INDEX disclosures_by_partner ON disclosures (partner_id, standard, first_used_at, id);
CREATE INDEX disclosures_replaced_by_time ON disclosures (first_used_at, id) WHERE replaced_at IS NOT NULL;
CREATE TRIGGER disclosures_unchanged BEFORE UPDATE ON disclosures FOR EACH ROW
    WHEN (OLD.standard AND NOT NEW.standard OR NEW.text <> OLD.text AND NEW.replaced_at IS NULL
        OR (NEW.id, NEW.digest, NEW.partner_id, NEW.first_used_at) IS DISTINCT FROM (OLD.id, OLD.digest, OLD.partner_id, OLD.first_used_at))
    EXECUTE FUNCTION reject_change();

CREATE TABLE disclosure_uses (
    lead_id uuid  CONSTRAINT disclosure_uses_pkey PRIMARY KEY, -- without a foreign key, like all references to leads (decision 48)
    digest  bytea NOT NULL
);
COMMENT ON TABLE disclosure_uses IS 'The leads that use each disclosure text. Leads that use a standard text are not listed.';
CREATE INDEX disclosure_uses_by_digest ON disclosure_uses (digest, lead_id);

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

-- +goose StatementBegin
-- The details of a consent can only be deleted, and only those of a lead that is in an entry of the erasure journal.
CREATE FUNCTION reject_consent_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF (NEW.lead_id, NEW.partner_id, NEW.acknowledged, NEW.acknowledged_at, NEW.acknowledged_text, NEW.sandbox, NEW.received_at)
            IS DISTINCT FROM (OLD.lead_id, OLD.partner_id, OLD.acknowledged, OLD.acknowledged_at, OLD.acknowledged_text, OLD.sandbox, OLD.received_at)
        OR num_nonnulls(NEW.disclosure_digest, NEW.recipient_hash, NEW.form_cert_url, NEW.third_party_lead_id) > 0
        OR NOT EXISTS (SELECT FROM erasures e JOIN erasure_entries n USING (sequence) WHERE e.lead_id = OLD.lead_id AND NOT n.keeps_consent) THEN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;

CREATE FUNCTION erase_partner_reference() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    NEW.partner_reference := '';
    NEW.sub_id := '';
    RETURN NEW;
END
$$;

-- disclosure_lock returns the key of the advisory lock on a disclosure text. A post holds the lock in
-- shared mode while it uses the text. A text is deleted under the lock in exclusive mode. There are only
-- 64 locks, because the lock table of Postgres is limited.
CREATE FUNCTION disclosure_lock(digest bytea) RETURNS integer LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN get_byte(digest, 0) / 4;

-- delete_disclosures deletes the texts that only the given leads use. It locks all texts in order of their
-- digests, like a post, so that no deadlock is possible.
CREATE FUNCTION delete_disclosures(leads uuid[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    digests bytea[];
BEGIN
    digests := ARRAY(SELECT DISTINCT digest FROM disclosure_uses WHERE lead_id = ANY (leads) ORDER BY digest);
    DELETE FROM disclosure_uses WHERE lead_id = ANY (leads);
    FOR i IN 1..cardinality(digests) LOOP
        PERFORM pg_advisory_xact_lock(hashtext('disclosures'), disclosure_lock(digests[i]));
    END LOOP;
    DELETE FROM disclosures d WHERE digest = ANY (digests) AND NOT standard
        AND NOT EXISTS (SELECT FROM disclosure_uses u WHERE u.digest = d.digest);
END
$$;

-- delete_sandbox_leads runs as the owner. The service can only delete leads by calling it. It locks leads first, in
-- the order of their ids, like an erasure. Both use the tables in the same order, so that no deadlock is possible.
CREATE FUNCTION delete_sandbox_leads(before timestamptz, at_most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    gone uuid[];
    n bigint;
BEGIN
    gone := ARRAY(SELECT lead_id FROM consents WHERE sandbox AND received_at < before AND lead_id < first_id(before + interval '5 seconds')
        LIMIT at_most);
    PERFORM FROM leads WHERE id = ANY (gone) ORDER BY id FOR NO KEY UPDATE;
    DELETE FROM leads WHERE id = ANY (gone);
    DELETE FROM lead_keys WHERE lead_id = ANY (gone);
    DELETE FROM consents WHERE lead_id = ANY (gone);
    GET DIAGNOSTICS n = ROW_COUNT; -- another node may have deleted some of them
    DELETE FROM lead_events WHERE lead_id = ANY (gone);
    PERFORM delete_disclosures(gone);
    RETURN n;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER consents_unchanged BEFORE UPDATE ON consents FOR EACH ROW EXECUTE FUNCTION reject_consent_change();
CREATE TRIGGER leads_erase_partner_reference BEFORE UPDATE ON leads FOR EACH ROW
    WHEN (NEW.state = 'erased') EXECUTE FUNCTION erase_partner_reference();
