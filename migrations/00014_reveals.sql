-- Views of contact records. A user views one field at a time, with a reason.

-- +goose Up
CREATE TABLE lead_reveals (
    id         uuid        CONSTRAINT lead_reveals_pkey PRIMARY KEY,
    lead_id    uuid        NOT NULL, -- without a foreign key, like all references to leads (decision 48)
    partner_id uuid        NOT NULL CONSTRAINT lead_reveals_partner_fkey REFERENCES partners,
    staff_id   uuid        CONSTRAINT lead_reveals_staff_fkey REFERENCES staff, -- null on the command line
    actor      text        NOT NULL,
    field      text        NOT NULL CONSTRAINT lead_reveals_field_known CHECK (field IN ('email', 'name', 'phone', 'address', 'notes', 'answers')),
    reason     text        NOT NULL CONSTRAINT lead_reveals_reason_known CHECK (reason IN ('return', 'complaint', 'request', 'legal', 'other')),
    note       text        NOT NULL, -- may describe the consumer, so it is not in the audit log, which no one can change
    at         timestamptz NOT NULL,
    CONSTRAINT lead_reveals_other_explained CHECK (reason <> 'other' OR note <> '')
);
COMMENT ON TABLE lead_reveals IS 'Each view of a field of a contact record: who viewed it, when and why.';
CREATE INDEX lead_reveals_by_lead ON lead_reveals (lead_id, at);
CREATE INDEX lead_reveals_by_user ON lead_reveals (staff_id, at); -- counts a user's views of one day

GRANT SELECT, INSERT ON lead_reveals TO pingpost_app;

-- +goose Down
DROP TABLE lead_reveals;
