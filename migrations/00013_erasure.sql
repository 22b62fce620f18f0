-- Erasure: deletes the personal data of leads, and keeps a record of it.

-- +goose Up
-- Each entry of the erasure journal contains this id, so that a journal of another platform is not
-- mistaken for this one's.
CREATE TABLE erasure_journal (
    only_row boolean CONSTRAINT erasure_journal_pkey PRIMARY KEY DEFAULT true CONSTRAINT erasure_journal_one CHECK (only_row),
    platform uuid    NOT NULL DEFAULT gen_random_uuid()
);
COMMENT ON TABLE erasure_journal IS 'The random ID that identifies this platform in its erasure journal. The table has one row.';
INSERT INTO erasure_journal DEFAULT VALUES;

-- The database's copy of the erasure journal, which is outside the database. An entry is committed here
-- first, then written to the journal, and then its leads are erased.
CREATE TABLE erasure_entries (
    sequence     bigint      CONSTRAINT erasure_entries_pkey PRIMARY KEY CONSTRAINT erasure_entries_sequence CHECK (sequence > 0),
    hash         bytea       NOT NULL CONSTRAINT erasure_entries_hash_size CHECK (length(hash) = 32),
    body         bytea       NOT NULL, -- the entry as it is written to the journal
    reason       text        NOT NULL CONSTRAINT erasure_entries_reason_known CHECK (reason IN ('request', 'complaint', 'no_consent', 'legal', 'other', 'retention', 'key')),
    actor        text        NOT NULL,
    staff_id     uuid        CONSTRAINT erasure_entries_staff_fkey REFERENCES staff, -- null on the command line
    requested_at timestamptz NOT NULL,
    erased_at    timestamptz, -- null while the erasure is pending
    keeps_consent boolean    NOT NULL DEFAULT false, -- erases only the contact record; a later entry can also erase the details of the consent
    key          bytea       NOT NULL CONSTRAINT erasure_entries_key_size CHECK (length(key) = 32) -- entries are signed (decision 69)
);
COMMENT ON TABLE erasure_entries IS 'Entries of the erasure journal: who erased which leads, when and why. Only erased_at changes, when the leads have been erased.';
COMMENT ON COLUMN erasure_entries.key IS 'The public key that signs the next entry.';
CREATE INDEX erasure_entries_pending ON erasure_entries (sequence) WHERE erased_at IS NULL;

CREATE TABLE erasures (
    lead_id  uuid   NOT NULL, -- without a foreign key, like all references to leads (decision 48)
    sequence bigint NOT NULL CONSTRAINT erasures_entry_fkey REFERENCES erasure_entries,
    note     text   NOT NULL, -- must not identify the consumer
    CONSTRAINT erasures_pkey PRIMARY KEY (lead_id, sequence)
);
COMMENT ON TABLE erasures IS 'The erased leads, each with its entries in the erasure journal.';
CREATE INDEX erasures_by_entry ON erasures (sequence);

-- +goose StatementBegin
-- erase_leads deletes all personal data of the leads in a journal entry, and marks the entry as carried
-- out. It runs as the owner, so that the service can only erase leads that are in an entry. If it is
-- called again, it deletes what has been added since, for example because a part of the database was
-- restored from a backup.
CREATE FUNCTION erase_leads(entry bigint, at timestamptz) RETURNS void
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
            UPDATE consents SET disclosure_digest = NULL, recipient_hash = NULL, form_cert_url = NULL, third_party_lead_id = NULL
                WHERE lead_id BETWEEN first AND last AND lead_id = ANY (batch)
                    AND num_nonnulls(disclosure_digest, recipient_hash, form_cert_url, third_party_lead_id) > 0;
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

CREATE FUNCTION reject_late_erasure() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM erasure_entries WHERE sequence = NEW.sequence AND erased_at IS NULL) THEN
        RAISE EXCEPTION 'this erasure has already been carried out' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'erasures_in_time';
    END IF;
    RETURN NEW;
END
$$;

-- +goose StatementEnd

CREATE TRIGGER erasure_journal_unchanged BEFORE UPDATE OR DELETE ON erasure_journal FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasure_entries_unchanged BEFORE UPDATE ON erasure_entries FOR EACH ROW
    WHEN (OLD.erased_at IS NOT NULL OR (NEW.sequence, NEW.hash, NEW.body, NEW.key, NEW.reason, NEW.actor, NEW.staff_id, NEW.requested_at, NEW.keeps_consent)
        IS DISTINCT FROM (OLD.sequence, OLD.hash, OLD.body, OLD.key, OLD.reason, OLD.actor, OLD.staff_id, OLD.requested_at, OLD.keeps_consent))
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasure_entries_stay BEFORE DELETE ON erasure_entries FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasure_entries_no_truncate BEFORE TRUNCATE ON erasure_entries FOR EACH STATEMENT EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasures_in_time BEFORE INSERT ON erasures FOR EACH ROW EXECUTE FUNCTION reject_late_erasure();
CREATE TRIGGER erasures_append_only BEFORE UPDATE OR DELETE ON erasures FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasures_no_truncate BEFORE TRUNCATE ON erasures FOR EACH STATEMENT EXECUTE FUNCTION reject_change();
