-- Erasure: deletes the personal data of leads, and keeps a record of it.

-- +goose Up

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

ALTER TABLE staff_roles DROP CONSTRAINT staff_roles_role_known, ADD CONSTRAINT staff_roles_role_known
    CHECK (role IN ('administrator', 'account_manager', 'pricing_manager', 'finance', 'privacy', 'auditor'));

-- Erasing a lead is the only change to its consent: the fact and the time of the consent stay.
DROP TRIGGER consents_unchanged ON consents;
CREATE TRIGGER consents_unchanged BEFORE UPDATE ON consents FOR EACH ROW
    WHEN ((NEW.lead_id, NEW.partner_id, NEW.acknowledged, NEW.acknowledged_at, NEW.sandbox, NEW.received_at)
            IS DISTINCT FROM (OLD.lead_id, OLD.partner_id, OLD.acknowledged, OLD.acknowledged_at, OLD.sandbox, OLD.received_at)
        OR num_nonnulls(NEW.disclosure_text, NEW.recipient_hash, NEW.form_cert_url, NEW.third_party_lead_id) > 0)
    EXECUTE FUNCTION reject_change();

-- A note on a view of contact data may describe the consumer, so it is erased with the lead.
ALTER TABLE lead_reveals DROP CONSTRAINT lead_reveals_other_explained;
-- The same applies to the evidence of a return, and to the note on a finding about a lead.
ALTER TABLE returns DROP CONSTRAINT returns_evidence_given;
ALTER TABLE reconciliation_resolutions DROP CONSTRAINT reconciliation_resolutions_note_given;
DROP TRIGGER reconciliation_resolutions_append_only ON reconciliation_resolutions;
CREATE TRIGGER reconciliation_resolutions_unchanged BEFORE UPDATE ON reconciliation_resolutions FOR EACH ROW
    WHEN (NEW.note <> '' OR (NEW.id, NEW.reconciliation_id, NEW.line, NEW.resolved_by, NEW.at)
        IS DISTINCT FROM (OLD.id, OLD.reconciliation_id, OLD.line, OLD.resolved_by, OLD.at))
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER reconciliation_resolutions_stay BEFORE DELETE ON reconciliation_resolutions FOR EACH ROW EXECUTE FUNCTION reject_change();

-- +goose StatementBegin
-- erase_leads deletes all personal data of the leads in a journal entry, and marks the entry as carried
-- out. It runs as the owner, so that the service can only erase leads that are in an entry. Calling it
-- again for the same entry changes nothing. first and last limit the partitions that are read.
CREATE FUNCTION erase_leads(entry bigint, at timestamptz) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    ids uuid[];
    first uuid;
    last uuid;
BEGIN
    PERFORM FROM erasure_entries WHERE sequence = entry AND erased_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    ids := ARRAY(SELECT lead_id FROM erasures WHERE sequence = entry ORDER BY lead_id);
    first := ids[1];
    last := ids[cardinality(ids)];
    -- The same order of tables as when a lead is stored, so that no deadlock is possible.
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
    -- An id contains the time of its ping in milliseconds.
    DELETE FROM pings WHERE transaction = ANY (ids)
        AND issued_at BETWEEN partition_time(first::text) - interval '1 second' AND partition_time(last::text) + interval '1 second';
    UPDATE erasure_entries SET erased_at = at WHERE sequence = entry;
    RETURN true;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER erasure_entries_unchanged BEFORE UPDATE ON erasure_entries FOR EACH ROW
    WHEN (OLD.erased_at IS NOT NULL OR (NEW.sequence, NEW.hash, NEW.body, NEW.reason, NEW.actor, NEW.staff_id, NEW.requested_at)
        IS DISTINCT FROM (OLD.sequence, OLD.hash, OLD.body, OLD.reason, OLD.actor, OLD.staff_id, OLD.requested_at))
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasure_entries_stay BEFORE DELETE ON erasure_entries FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasure_entries_no_truncate BEFORE TRUNCATE ON erasure_entries FOR EACH STATEMENT EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasures_append_only BEFORE UPDATE OR DELETE ON erasures FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER erasures_no_truncate BEFORE TRUNCATE ON erasures FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

GRANT SELECT, INSERT ON erasures TO pingpost_app;
GRANT SELECT, INSERT (sequence, hash, body, reason, actor, staff_id, requested_at) ON erasure_entries TO pingpost_app;
REVOKE ALL ON FUNCTION erase_leads(bigint, timestamptz) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION erase_leads(bigint, timestamptz) TO pingpost_app;

-- +goose Down
DROP FUNCTION erase_leads(bigint, timestamptz);
DROP TABLE erasures, erasure_entries;
DELETE FROM staff_roles WHERE role = 'privacy';
ALTER TABLE staff_roles DROP CONSTRAINT staff_roles_role_known, ADD CONSTRAINT staff_roles_role_known
    CHECK (role IN ('administrator', 'account_manager', 'pricing_manager', 'finance', 'auditor'));
DROP TRIGGER reconciliation_resolutions_stay ON reconciliation_resolutions;
DROP TRIGGER reconciliation_resolutions_unchanged ON reconciliation_resolutions;
CREATE TRIGGER reconciliation_resolutions_append_only BEFORE UPDATE OR DELETE ON reconciliation_resolutions FOR EACH ROW EXECUTE FUNCTION reject_change();
ALTER TABLE reconciliation_resolutions ADD CONSTRAINT reconciliation_resolutions_note_given CHECK (note <> '') NOT VALID;
ALTER TABLE returns ADD CONSTRAINT returns_evidence_given CHECK (evidence <> '') NOT VALID;
ALTER TABLE lead_reveals ADD CONSTRAINT lead_reveals_other_explained CHECK (reason <> 'other' OR note <> '') NOT VALID;
DROP TRIGGER consents_unchanged ON consents;
CREATE TRIGGER consents_unchanged BEFORE UPDATE ON consents FOR EACH ROW EXECUTE FUNCTION reject_change();
