-- Retention: contact records and the details of consents are erased when their period has passed, unless
-- the lead is under a legal hold.

-- +goose Up

-- A lead can be in several entries: one that erases its contact record, and a later one that also erases
-- the details of its consent.
ALTER TABLE erasure_entries ADD COLUMN keeps_consent boolean NOT NULL DEFAULT false,
    DROP CONSTRAINT erasure_entries_reason_known,
    ADD CONSTRAINT erasure_entries_reason_known CHECK (reason IN ('request', 'complaint', 'no_consent', 'legal', 'other', 'retention'));
DROP TRIGGER erasure_entries_unchanged ON erasure_entries;
CREATE TRIGGER erasure_entries_unchanged BEFORE UPDATE ON erasure_entries FOR EACH ROW
    WHEN (OLD.erased_at IS NOT NULL OR (NEW.sequence, NEW.hash, NEW.body, NEW.reason, NEW.actor, NEW.staff_id, NEW.requested_at, NEW.keeps_consent)
        IS DISTINCT FROM (OLD.sequence, OLD.hash, OLD.body, OLD.reason, OLD.actor, OLD.staff_id, OLD.requested_at, OLD.keeps_consent))
    EXECUTE FUNCTION reject_change();
ALTER TABLE erasures DROP CONSTRAINT erasures_pkey, ADD CONSTRAINT erasures_pkey PRIMARY KEY (lead_id, sequence);
COMMENT ON TABLE erasures IS 'The erased leads, each with its entries in the erasure journal.';

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
-- +goose StatementEnd

-- The periods in effect, and how far each of them has been carried out. The country '' stands for all
-- countries without a row of their own.
CREATE TABLE retention_periods (
    category       text        NOT NULL CONSTRAINT retention_periods_category_known CHECK (category IN ('contact', 'consent')),
    country        text        NOT NULL CONSTRAINT retention_periods_country_code CHECK (country ~ '^([A-Z]{2})?$'),
    days           integer     NOT NULL CONSTRAINT retention_periods_days_valid CHECK (days >= 0), -- 0 means until erased
    position       uuid        NOT NULL, -- leads up to this id have been erased, or are in retention_deferred
    accepted_at    timestamptz NOT NULL,
    accepted_by    text        NOT NULL, -- '' if the period took effect on its own, because it erases nothing
    accepted_by_id uuid        CONSTRAINT retention_periods_staff_fkey REFERENCES staff,
    CONSTRAINT retention_periods_pkey PRIMARY KEY (category, country)
);
COMMENT ON TABLE retention_periods IS 'The retention periods in effect by category and country, and the progress of the erasures.';
CREATE TRIGGER retention_periods_forward BEFORE UPDATE ON retention_periods FOR EACH ROW WHEN (NEW.position < OLD.position)
    EXECUTE FUNCTION reject_row('retention_periods_forward', 'the progress of retention cannot move back');

-- Leads whose period has passed, but which were under a legal hold.
CREATE TABLE retention_deferred (
    category text NOT NULL CONSTRAINT retention_deferred_category_known CHECK (category IN ('contact', 'consent')),
    lead_id  uuid NOT NULL, -- without a foreign key, like all references to leads (decision 48)
    CONSTRAINT retention_deferred_pkey PRIMARY KEY (category, lead_id)
);
COMMENT ON TABLE retention_deferred IS 'Leads under a legal hold whose retention period has passed. They are erased after the hold is released.';

CREATE TABLE retention_runs (
    id           uuid        CONSTRAINT retention_runs_pkey PRIMARY KEY,
    started_at   timestamptz NOT NULL,
    holder       uuid, -- the process that carries out the run; null if it has stopped
    heartbeat_at timestamptz NOT NULL,
    ended_at     timestamptz,
    erased       jsonb       NOT NULL DEFAULT '{}' -- the number of leads by category and country
);
COMMENT ON TABLE retention_runs IS 'Daily runs that erase leads whose retention period has passed.';
CREATE UNIQUE INDEX retention_runs_open ON retention_runs ((true)) WHERE ended_at IS NULL;

CREATE TABLE legal_holds (
    id             uuid        CONSTRAINT legal_holds_pkey PRIMARY KEY,
    lead_id        uuid        NOT NULL, -- the lead that the hold was placed on; without a foreign key (decision 48)
    partner_id     uuid        NOT NULL CONSTRAINT legal_holds_partner_fkey REFERENCES partners,
    person         boolean     NOT NULL, -- also holds all leads with one of the digests
    email_digests  bytea[]     NOT NULL, -- made with different platform keys; deleted when the hold is released
    phone_digests  bytea[]     NOT NULL,
    reason         text        NOT NULL CONSTRAINT legal_holds_reason_given CHECK (reason <> ''), -- must not identify the consumer
    placed_at      timestamptz NOT NULL,
    placed_by      text        NOT NULL,
    placed_by_id   uuid        CONSTRAINT legal_holds_placed_by_fkey REFERENCES staff,
    released_at    timestamptz,
    released_by    text        NOT NULL DEFAULT '',
    released_by_id uuid        CONSTRAINT legal_holds_released_by_fkey REFERENCES staff,
    CONSTRAINT legal_holds_released CHECK ((released_at IS NULL) = (released_by = '')),
    CONSTRAINT legal_holds_digests_needed CHECK (cardinality(email_digests) + cardinality(phone_digests) = 0 OR (person AND released_at IS NULL))
);
COMMENT ON TABLE legal_holds IS 'Legal holds. A lead under a legal hold is not erased.';
CREATE INDEX legal_holds_active ON legal_holds (lead_id) WHERE released_at IS NULL;
CREATE TRIGGER legal_holds_unchanged BEFORE UPDATE ON legal_holds FOR EACH ROW
    WHEN (OLD.released_at IS NOT NULL OR (NEW.id, NEW.lead_id, NEW.partner_id, NEW.person, NEW.reason, NEW.placed_at, NEW.placed_by, NEW.placed_by_id)
        IS DISTINCT FROM (OLD.id, OLD.lead_id, OLD.partner_id, OLD.person, OLD.reason, OLD.placed_at, OLD.placed_by, OLD.placed_by_id))
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER legal_holds_stay BEFORE DELETE ON legal_holds FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER legal_holds_no_truncate BEFORE TRUNCATE ON legal_holds FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

GRANT INSERT (keeps_consent) ON erasure_entries TO pingpost_app;
GRANT SELECT, INSERT, UPDATE (days, position, accepted_at, accepted_by, accepted_by_id) ON retention_periods TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON retention_deferred TO pingpost_app;
GRANT SELECT, INSERT, UPDATE (holder, heartbeat_at, ended_at, erased) ON retention_runs TO pingpost_app;
GRANT SELECT, INSERT, UPDATE (email_digests, phone_digests, released_at, released_by, released_by_id) ON legal_holds TO pingpost_app;

-- +goose Down
DROP TABLE legal_holds, retention_runs, retention_deferred, retention_periods;
-- Entries for retention stay in the journal.
ALTER TABLE erasures DISABLE TRIGGER erasures_append_only;
DELETE FROM erasures e USING erasures o WHERE o.lead_id = e.lead_id AND o.sequence < e.sequence;
ALTER TABLE erasures ENABLE TRIGGER erasures_append_only;
ALTER TABLE erasures DROP CONSTRAINT erasures_pkey, ADD CONSTRAINT erasures_pkey PRIMARY KEY (lead_id);
COMMENT ON TABLE erasures IS 'The erased leads, each with its entry in the erasure journal.';
DROP TRIGGER erasure_entries_unchanged ON erasure_entries;
ALTER TABLE erasure_entries DROP COLUMN keeps_consent, DROP CONSTRAINT erasure_entries_reason_known,
    ADD CONSTRAINT erasure_entries_reason_known CHECK (reason IN ('request', 'complaint', 'no_consent', 'legal', 'other')) NOT VALID;
CREATE TRIGGER erasure_entries_unchanged BEFORE UPDATE ON erasure_entries FOR EACH ROW
    WHEN (OLD.erased_at IS NOT NULL OR (NEW.sequence, NEW.hash, NEW.body, NEW.reason, NEW.actor, NEW.staff_id, NEW.requested_at)
        IS DISTINCT FROM (OLD.sequence, OLD.hash, OLD.body, OLD.reason, OLD.actor, OLD.staff_id, OLD.requested_at))
    EXECUTE FUNCTION reject_change();
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION erase_leads(entry bigint, at timestamptz) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    ids uuid[];
    first uuid;
    last uuid;
    pinged_from timestamptz;
    pinged_until timestamptz;
BEGIN
    PERFORM FROM erasure_entries WHERE sequence = entry FOR UPDATE;
    IF NOT FOUND OR at IS NULL THEN
        RAISE EXCEPTION 'no such entry' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'erasures_entry';
    END IF;
    ids := ARRAY(SELECT lead_id FROM erasures WHERE sequence = entry ORDER BY lead_id);
    first := ids[1];
    last := ids[cardinality(ids)];
    -- An id contains the time of its ping in milliseconds.
    pinged_from := partition_time(first::text) - interval '1 second';
    pinged_until := partition_time(last::text) + interval '1 second';
    -- The tables are in the same order as when a lead is stored, so that no deadlock is possible.
    UPDATE leads SET state = 'erased', transaction_id = '', quoted_postcode = '', postcode = '',
            email_digest = NULL, phone_digest = NULL, ciphertext = NULL, iv = NULL, auth_tag = NULL
        WHERE id BETWEEN first AND last AND id = ANY (ids);
    DELETE FROM lead_keys WHERE lead_id BETWEEN first AND last AND lead_id = ANY (ids);
    UPDATE consents SET disclosure_text = NULL, recipient_hash = NULL, form_cert_url = NULL, third_party_lead_id = NULL
        WHERE lead_id BETWEEN first AND last AND lead_id = ANY (ids);
    DELETE FROM ledger_notes n USING ledger_references r WHERE r.lead_id = ANY (ids) AND n.entry_id = r.entry_id;
    UPDATE returns SET evidence = '', decision_note = '' WHERE lead_id = ANY (ids);
    UPDATE lead_reveals SET note = '' WHERE lead_id = ANY (ids);
    UPDATE reconciliation_resolutions r SET note = '' FROM reconciliation_lines l
        WHERE l.reconciliation_id = r.reconciliation_id AND l.line = r.line AND l.lead_id = ANY (ids);
    DELETE FROM pings WHERE transaction = ANY (ids) AND issued_at BETWEEN pinged_from AND pinged_until;
    UPDATE erasure_entries SET erased_at = at WHERE sequence = entry AND erased_at IS NULL;
END
$$;

CREATE OR REPLACE FUNCTION reject_consent_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF (NEW.lead_id, NEW.partner_id, NEW.acknowledged, NEW.acknowledged_at, NEW.sandbox, NEW.received_at)
            IS DISTINCT FROM (OLD.lead_id, OLD.partner_id, OLD.acknowledged, OLD.acknowledged_at, OLD.sandbox, OLD.received_at)
        OR num_nonnulls(NEW.disclosure_text, NEW.recipient_hash, NEW.form_cert_url, NEW.third_party_lead_id) > 0
        OR NOT EXISTS (SELECT FROM erasures e WHERE e.lead_id = OLD.lead_id) THEN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
