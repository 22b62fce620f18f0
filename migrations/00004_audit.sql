-- The audit log. Each event contains the hash of the one before, so that changes and deletions can be
-- detected (decision 45).

-- +goose Up
CREATE TABLE audit_events (
    id          bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_events_pkey PRIMARY KEY,
    at          timestamptz NOT NULL,
    staff_id    uuid        CONSTRAINT audit_events_staff_fkey REFERENCES staff, -- NULL for the service and its operators
    actor       text        NOT NULL,
    role        text        NOT NULL,
    action      text        NOT NULL,
    object_kind text        NOT NULL,
    object_id   text        NOT NULL,
    partner_id  uuid,
    before      json, -- json rather than jsonb, because the text is part of the hash
    after       json,
    reason      text        NOT NULL,
    address     text        NOT NULL,
    request_id  text        NOT NULL,
    outcome     text        NOT NULL CONSTRAINT audit_events_outcome_known CHECK (outcome IN ('done', 'rejected')),
    prev_hash   bytea       NOT NULL CONSTRAINT audit_events_prev_once UNIQUE CONSTRAINT audit_events_prev_length CHECK (length(prev_hash) = 32),
    hash        bytea       NOT NULL CONSTRAINT audit_events_hash_length CHECK (length(hash) = 32)
);
COMMENT ON TABLE audit_events IS 'The audit log. Each event contains the hash of the one before. Events are never changed.';
CREATE INDEX audit_events_by_object ON audit_events (object_kind, object_id, id);
CREATE INDEX audit_events_by_partner ON audit_events (partner_id, id);
CREATE INDEX audit_events_by_staff ON audit_events (staff_id, id);
CREATE INDEX audit_events_by_time ON audit_events (at);
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER audit_events_no_truncate BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

-- Rejections that are counted instead of recorded one by one (decision 67).
CREATE TABLE rejection_counts (
    staff_id uuid        CONSTRAINT rejection_counts_staff_fkey REFERENCES staff,
    minute   timestamptz,
    recorded integer     NOT NULL, -- events in the audit log
    counted  jsonb       NOT NULL, -- the number of further rejections by action
    CONSTRAINT rejection_counts_pkey PRIMARY KEY (staff_id, minute)
);
COMMENT ON TABLE rejection_counts IS 'Rejected actions by user and minute, until their number is in the audit log.';
