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
    reason       text        NOT NULL CONSTRAINT erasure_entries_reason_known CHECK (reason IN ('request', 'complaint', 'no_consent', 'legal', 'other')),
    actor        text        NOT NULL,
    staff_id     uuid        CONSTRAINT erasure_entries_staff_fkey REFERENCES staff, -- null on the command line
    requested_at timestamptz NOT NULL,
    erased_at    timestamptz -- null while the erasure is pending
);
COMMENT ON TABLE erasure_entries IS 'Entries of the erasure journal: who erased which leads, when and why. Never changed, except that erased_at is set.';
CREATE INDEX erasure_entries_pending ON erasure_entries (sequence) WHERE erased_at IS NULL;

CREATE TABLE erasures (
    lead_id  uuid   CONSTRAINT erasures_pkey PRIMARY KEY, -- without a foreign key, like all references to leads (decision 48)
    sequence bigint NOT NULL CONSTRAINT erasures_entry_fkey REFERENCES erasure_entries,
    note     text   NOT NULL -- must not identify the consumer
);
COMMENT ON TABLE erasures IS 'The erased leads, each with its entry in the erasure journal.';
CREATE INDEX erasures_by_entry ON erasures (sequence);

-- +goose StatementBegin
-- erase_leads deletes all personal data of the leads in a journal entry, and marks the entry as carried
-- out. It runs as the owner, so that the service can only erase leads that are in an entry. If it is
-- called again, it deletes what has been added since, for example because a part of the database was
-- restored from a backup. first and last limit the partitions that are read.
CREATE FUNCTION erase_leads(entry bigint, at timestamptz) RETURNS void
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

CREATE FUNCTION reject_late_erasure() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM erasure_entries WHERE sequence = NEW.sequence AND erased_at IS NULL) THEN
        RAISE EXCEPTION 'this erasure has already been carried out' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'erasures_in_time';
    END IF;
    RETURN NEW;
END
$$;

-- The details of a consent can only be deleted, and only those of a lead that is in an entry of the journal.
CREATE FUNCTION reject_consent_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
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

CREATE TRIGGER erasure_journal_unchanged BEFORE UPDATE OR DELETE ON erasure_journal FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasure_entries_unchanged BEFORE UPDATE ON erasure_entries FOR EACH ROW
    WHEN (OLD.erased_at IS NOT NULL OR (NEW.sequence, NEW.hash, NEW.body, NEW.reason, NEW.actor, NEW.staff_id, NEW.requested_at)
        IS DISTINCT FROM (OLD.sequence, OLD.hash, OLD.body, OLD.reason, OLD.actor, OLD.staff_id, OLD.requested_at))
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasure_entries_stay BEFORE DELETE ON erasure_entries FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasure_entries_no_truncate BEFORE TRUNCATE ON erasure_entries FOR EACH STATEMENT EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasures_in_time BEFORE INSERT ON erasures FOR EACH ROW EXECUTE FUNCTION reject_late_erasure();
CREATE TRIGGER erasures_append_only BEFORE UPDATE OR DELETE ON erasures FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasures_no_truncate BEFORE TRUNCATE ON erasures FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

GRANT SELECT ON erasure_journal TO pingpost_app;
GRANT SELECT, INSERT ON erasures TO pingpost_app;
GRANT SELECT, INSERT (sequence, hash, body, reason, actor, staff_id, requested_at) ON erasure_entries TO pingpost_app;
REVOKE ALL ON FUNCTION erase_leads(bigint, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_leads(bigint, timestamptz) TO pingpost_app;

-- The role privacy.
ALTER TABLE staff_roles DROP CONSTRAINT staff_roles_role_known, ADD CONSTRAINT staff_roles_role_known
    CHECK (role IN ('administrator', 'account_manager', 'pricing_manager', 'finance', 'privacy', 'auditor'));

-- Notes and evidence may describe the consumer, so they are erased with the lead.
ALTER TABLE lead_reveals DROP CONSTRAINT lead_reveals_other_explained;
ALTER TABLE returns DROP CONSTRAINT returns_evidence_given;
CREATE INDEX returns_by_lead ON returns (lead_id);
ALTER TABLE reconciliation_resolutions DROP CONSTRAINT reconciliation_resolutions_note_given;
DROP TRIGGER reconciliation_resolutions_append_only ON reconciliation_resolutions;
CREATE TRIGGER reconciliation_resolutions_unchanged BEFORE UPDATE ON reconciliation_resolutions FOR EACH ROW
    WHEN (NEW.note <> '' OR (NEW.id, NEW.reconciliation_id, NEW.line, NEW.resolved_by, NEW.at)
        IS DISTINCT FROM (OLD.id, OLD.reconciliation_id, OLD.line, OLD.resolved_by, OLD.at))
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER reconciliation_resolutions_stay BEFORE DELETE ON reconciliation_resolutions FOR EACH ROW EXECUTE FUNCTION reject_change();

-- Posts insert consents, so their table is locked last, and only briefly.
DROP TRIGGER consents_unchanged ON consents;
CREATE TRIGGER consents_unchanged BEFORE UPDATE ON consents FOR EACH ROW EXECUTE FUNCTION reject_consent_change();
COMMENT ON TABLE consents IS 'The consent of each lead. Never changed, except that the details are deleted when the lead is erased.';

-- +goose Down
DROP TRIGGER reconciliation_resolutions_stay ON reconciliation_resolutions;
DROP TRIGGER reconciliation_resolutions_unchanged ON reconciliation_resolutions;
CREATE TRIGGER reconciliation_resolutions_append_only BEFORE UPDATE OR DELETE ON reconciliation_resolutions FOR EACH ROW EXECUTE FUNCTION reject_change();
ALTER TABLE reconciliation_resolutions ADD CONSTRAINT reconciliation_resolutions_note_given CHECK (note <> '') NOT VALID;
DROP INDEX returns_by_lead;
ALTER TABLE returns ADD CONSTRAINT returns_evidence_given CHECK (evidence <> '') NOT VALID;
ALTER TABLE lead_reveals ADD CONSTRAINT lead_reveals_other_explained CHECK (reason <> 'other' OR note <> '') NOT VALID;
DELETE FROM staff_roles WHERE role = 'privacy';
ALTER TABLE staff_roles DROP CONSTRAINT staff_roles_role_known, ADD CONSTRAINT staff_roles_role_known
    CHECK (role IN ('administrator', 'account_manager', 'pricing_manager', 'finance', 'auditor'));
DROP TRIGGER consents_unchanged ON consents;
CREATE TRIGGER consents_unchanged BEFORE UPDATE ON consents FOR EACH ROW EXECUTE FUNCTION reject_change();
COMMENT ON TABLE consents IS 'The consent of each lead. Rows are never changed.';
DROP FUNCTION erase_leads(bigint, timestamptz), reject_consent_change();
DROP TABLE erasures, erasure_entries, erasure_journal;
DROP FUNCTION reject_late_erasure();
