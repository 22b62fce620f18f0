-- Disclosure texts are stored once, and not with each consent.

-- +goose Up

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

-- +goose StatementBegin
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
REVOKE ALL ON FUNCTION delete_disclosures(uuid[]) FROM PUBLIC;

CREATE OR REPLACE FUNCTION erase_leads(entry bigint, at timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ids uuid[];
    batch uuid[];
    keeps boolean;
    first uuid;
    last uuid;
    span record;
BEGIN
    SELECT keeps_consent INTO keeps FROM erasure_entries WHERE sequence = entry FOR UPDATE;
    IF NOT FOUND OR at IS NULL THEN
        RAISE EXCEPTION 'no such entry' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'erasures_entry';
    END IF;
    ids := ARRAY(SELECT lead_id FROM erasures WHERE sequence = entry ORDER BY lead_id);
    -- Posts run during the pauses. The tables are in the same order as when a lead is stored, so that no deadlock
    -- is possible.
    FOR n IN 0..(cardinality(ids) - 1) / 100 LOOP
        IF n > 0 THEN
            PERFORM pg_sleep(0.004);
        END IF;
        batch := ids[n * 100 + 1:n * 100 + 100];
        first := batch[1];
        last := batch[cardinality(batch)];
        UPDATE leads SET state = 'erased', transaction_id = '', quoted_postcode = '', postcode = '',
                email_digest = NULL, phone_digest = NULL, ciphertext = NULL, iv = NULL, auth_tag = NULL
            WHERE id BETWEEN first AND last AND id = ANY (batch) AND state <> 'erased';
        DELETE FROM lead_keys WHERE lead_id BETWEEN first AND last AND lead_id = ANY (batch);
        IF NOT keeps THEN
            UPDATE consents SET disclosure_digest = NULL, disclosure_text = NULL, recipient_hash = NULL, form_cert_url = NULL, third_party_lead_id = NULL
                WHERE lead_id BETWEEN first AND last AND lead_id = ANY (batch)
                    AND num_nonnulls(disclosure_digest, disclosure_text, recipient_hash, form_cert_url, third_party_lead_id) > 0;
        END IF;
    END LOOP;
    DELETE FROM ledger_notes n USING ledger_references r WHERE r.lead_id = ANY (ids) AND n.entry_id = r.entry_id;
    UPDATE returns SET evidence = '', decision_note = '' WHERE lead_id = ANY (ids);
    UPDATE lead_reveals SET note = '' WHERE lead_id = ANY (ids);
    UPDATE reconciliation_resolutions r SET note = '' FROM reconciliation_lines l
        WHERE l.reconciliation_id = r.reconciliation_id AND l.line = r.line AND l.lead_id = ANY (ids);
    -- Pings can be found only by their time, which is in the lead's id in milliseconds. Leads whose pings are
    -- at most a minute apart are looked up together. Otherwise, all pings in between would be read.
    FOR span IN
        SELECT array_agg(lead) AS leads, min(pinged) - interval '1 second' AS since, max(pinged) + interval '1 second' AS until FROM (
            SELECT lead, pinged, count(*) FILTER (WHERE apart) OVER (ORDER BY pinged) AS number FROM (
                SELECT lead, pinged, pinged - lag(pinged) OVER (ORDER BY pinged) > interval '1 minute' AS apart FROM (
                    SELECT lead, partition_time(lead::text) AS pinged FROM unnest(ids) AS lead) AS one) AS two) AS three GROUP BY number
    LOOP
        DELETE FROM pings WHERE transaction = ANY (span.leads) AND issued_at BETWEEN span.since AND span.until;
    END LOOP;
    IF NOT keeps THEN
        PERFORM delete_disclosures(ids);
    END IF;
    UPDATE erasure_entries SET erased_at = at WHERE sequence = entry AND erased_at IS NULL;
END
$$;

CREATE OR REPLACE FUNCTION reject_consent_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF (NEW.lead_id, NEW.partner_id, NEW.acknowledged, NEW.acknowledged_at, NEW.sandbox, NEW.received_at)
            IS DISTINCT FROM (OLD.lead_id, OLD.partner_id, OLD.acknowledged, OLD.acknowledged_at, OLD.sandbox, OLD.received_at)
        OR num_nonnulls(NEW.disclosure_digest, NEW.disclosure_text, NEW.recipient_hash, NEW.form_cert_url, NEW.third_party_lead_id) > 0
        OR NOT EXISTS (SELECT FROM erasures e JOIN erasure_entries n USING (sequence) WHERE e.lead_id = OLD.lead_id AND NOT n.keeps_consent) THEN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION delete_sandbox_leads(before timestamptz, at_most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE gone uuid[];
BEGIN
    gone := ARRAY(SELECT lead_id FROM consents WHERE sandbox AND received_at < before AND lead_id < first_id(before + interval '5 seconds')
        LIMIT at_most FOR UPDATE SKIP LOCKED);
    DELETE FROM consents WHERE lead_id = ANY (gone);
    DELETE FROM lead_keys WHERE lead_id = ANY (gone);
    DELETE FROM lead_events WHERE lead_id = ANY (gone);
    DELETE FROM leads WHERE id = ANY (gone);
    PERFORM delete_disclosures(gone);
    RETURN cardinality(gone);
END
$$;
-- +goose StatementEnd

GRANT SELECT, INSERT (digest, text, partner_id, first_used_at), UPDATE (text, standard, replaced_at, replaced_by, replaced_by_id) ON disclosures TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON disclosure_uses TO pingpost_app;

-- Posts insert consents, so their table is locked last, and only briefly.
ALTER TABLE consents ADD COLUMN disclosure_digest bytea;
COMMENT ON COLUMN consents.disclosure_text IS 'Only in consents that were stored before the table disclosures existed.';

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION erase_leads(entry bigint, at timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ids uuid[];
    keeps boolean;
    first uuid;
    last uuid;
    span record;
BEGIN
    SELECT keeps_consent INTO keeps FROM erasure_entries WHERE sequence = entry FOR UPDATE;
    IF NOT FOUND OR at IS NULL THEN
        RAISE EXCEPTION 'no such entry' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'erasures_entry';
    END IF;
    ids := ARRAY(SELECT lead_id FROM erasures WHERE sequence = entry ORDER BY lead_id);
    first := ids[1];
    last := ids[cardinality(ids)];
    -- The tables are in the same order as when a lead is stored, so that no deadlock is possible.
    UPDATE leads SET state = 'erased', transaction_id = '', quoted_postcode = '', postcode = '',
            email_digest = NULL, phone_digest = NULL, ciphertext = NULL, iv = NULL, auth_tag = NULL
        WHERE id BETWEEN first AND last AND id = ANY (ids) AND state <> 'erased';
    DELETE FROM lead_keys WHERE lead_id BETWEEN first AND last AND lead_id = ANY (ids);
    IF NOT keeps THEN
        UPDATE consents SET disclosure_text = NULL, recipient_hash = NULL, form_cert_url = NULL, third_party_lead_id = NULL
            WHERE lead_id BETWEEN first AND last AND lead_id = ANY (ids)
                AND num_nonnulls(disclosure_text, recipient_hash, form_cert_url, third_party_lead_id) > 0;
    END IF;
    DELETE FROM ledger_notes n USING ledger_references r WHERE r.lead_id = ANY (ids) AND n.entry_id = r.entry_id;
    UPDATE returns SET evidence = '', decision_note = '' WHERE lead_id = ANY (ids);
    UPDATE lead_reveals SET note = '' WHERE lead_id = ANY (ids);
    UPDATE reconciliation_resolutions r SET note = '' FROM reconciliation_lines l
        WHERE l.reconciliation_id = r.reconciliation_id AND l.line = r.line AND l.lead_id = ANY (ids);
    -- Pings can be found only by their time, which is in the lead's id in milliseconds. Leads whose pings are
    -- at most a minute apart are looked up together. Otherwise, all pings in between would be read.
    FOR span IN
        SELECT array_agg(lead) AS leads, min(pinged) - interval '1 second' AS since, max(pinged) + interval '1 second' AS until FROM (
            SELECT lead, pinged, count(*) FILTER (WHERE apart) OVER (ORDER BY pinged) AS number FROM (
                SELECT lead, pinged, pinged - lag(pinged) OVER (ORDER BY pinged) > interval '1 minute' AS apart FROM (
                    SELECT lead, partition_time(lead::text) AS pinged FROM unnest(ids) AS lead) AS one) AS two) AS three GROUP BY number
    LOOP
        DELETE FROM pings WHERE transaction = ANY (span.leads) AND issued_at BETWEEN span.since AND span.until;
    END LOOP;
    UPDATE erasure_entries SET erased_at = at WHERE sequence = entry AND erased_at IS NULL;
END
$$;

CREATE OR REPLACE FUNCTION reject_consent_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF (NEW.lead_id, NEW.partner_id, NEW.acknowledged, NEW.acknowledged_at, NEW.sandbox, NEW.received_at)
            IS DISTINCT FROM (OLD.lead_id, OLD.partner_id, OLD.acknowledged, OLD.acknowledged_at, OLD.sandbox, OLD.received_at)
        OR num_nonnulls(NEW.disclosure_text, NEW.recipient_hash, NEW.form_cert_url, NEW.third_party_lead_id) > 0
        OR NOT EXISTS (SELECT FROM erasures e JOIN erasure_entries n USING (sequence) WHERE e.lead_id = OLD.lead_id AND NOT n.keeps_consent) THEN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;

CREATE OR REPLACE FUNCTION delete_sandbox_leads(before timestamptz, at_most integer) RETURNS bigint
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
ALTER TABLE consents DISABLE TRIGGER consents_unchanged;
UPDATE consents c SET disclosure_text = d.text FROM disclosures d WHERE d.digest = c.disclosure_digest;
ALTER TABLE consents ENABLE TRIGGER consents_unchanged;
COMMENT ON COLUMN consents.disclosure_text IS NULL;
ALTER TABLE consents DROP COLUMN disclosure_digest;
DROP FUNCTION delete_disclosures(uuid[]);
DROP FUNCTION disclosure_lock(bytea);
DROP TABLE disclosure_uses, disclosures;
