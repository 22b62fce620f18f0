-- Privacy requests: a consumer asks for a copy of their personal data, or for its erasure.

-- +goose Up
CREATE TABLE privacy_requests (
    id               uuid        CONSTRAINT privacy_requests_pkey PRIMARY KEY,
    kind             text        NOT NULL CONSTRAINT privacy_requests_kind_known CHECK (kind IN ('access', 'erasure')),
    reference        text        NOT NULL, -- such as a case number; must not identify the consumer
    received_on      date        NOT NULL,
    due_on           date        NOT NULL,
    created_by       text        NOT NULL,
    created_at       timestamptz NOT NULL,
    identity         text        CONSTRAINT privacy_requests_identity_known CHECK (identity IN ('reply', 'call', 'document', 'other')), -- null until it is checked
    identity_note    text        NOT NULL DEFAULT '',
    identity_by      text,
    identity_by_id   uuid        CONSTRAINT privacy_requests_identity_by_fkey REFERENCES staff, -- null on the command line
    identity_at      timestamptz,
    extension_reason text        NOT NULL DEFAULT '',
    extended_at      timestamptz,
    outcome          text        CONSTRAINT privacy_requests_outcome_known CHECK (outcome IN ('exported', 'erased', 'nothing_found', 'rejected', 'withdrawn')), -- null while the request is open
    ground           text        CONSTRAINT privacy_requests_ground_known CHECK (ground IN ('identity', 'excessive', 'rights_of_others', 'expression', 'obligation', 'public_health', 'archiving', 'legal_claims')),
    outcome_note     text        NOT NULL DEFAULT '',
    closed_by        text,
    closed_at        timestamptz,
    file_id          uuid        CONSTRAINT privacy_requests_file_fkey REFERENCES files ON DELETE SET NULL, -- the export
    CONSTRAINT privacy_requests_identity_complete CHECK ((identity IS NULL) = (identity_at IS NULL) AND (identity IS NULL) = (identity_by IS NULL)),
    CONSTRAINT privacy_requests_outcome_complete CHECK ((outcome IS NULL) = (closed_at IS NULL) AND (outcome IS NULL) = (closed_by IS NULL)),
    CONSTRAINT privacy_requests_ground_given CHECK ((ground IS NOT NULL) = (outcome IS NOT DISTINCT FROM 'rejected'))
);
COMMENT ON TABLE privacy_requests IS 'Requests by consumers for a copy of their personal data or its erasure. What was searched for is not stored. A closed request is deleted after the configured time.';
CREATE INDEX privacy_requests_open ON privacy_requests (due_on, id) WHERE outcome IS NULL;
CREATE INDEX privacy_requests_closed ON privacy_requests (closed_at, id) WHERE outcome IS NOT NULL;
CREATE INDEX privacy_requests_by_file ON privacy_requests (file_id) WHERE file_id IS NOT NULL;

CREATE TABLE privacy_request_leads (
    request_id uuid NOT NULL CONSTRAINT privacy_request_leads_request_fkey REFERENCES privacy_requests ON DELETE CASCADE,
    lead_id    uuid NOT NULL, -- without a foreign key, like all references to leads (decision 48)
    partner_id uuid NOT NULL CONSTRAINT privacy_request_leads_partner_fkey REFERENCES partners,
    CONSTRAINT privacy_request_leads_pkey PRIMARY KEY (request_id, lead_id)
);
COMMENT ON TABLE privacy_request_leads IS 'The leads that were found for a privacy request.';

-- After an erasure, everyone who received the data must be told (GDPR, article 19).
CREATE TABLE privacy_request_notices (
    request_id  uuid        NOT NULL CONSTRAINT privacy_request_notices_request_fkey REFERENCES privacy_requests ON DELETE CASCADE,
    partner_id  uuid        NOT NULL CONSTRAINT privacy_request_notices_partner_fkey REFERENCES partners,
    notified_by text        NOT NULL,
    notified_at timestamptz NOT NULL,
    CONSTRAINT privacy_request_notices_pkey PRIMARY KEY (request_id, partner_id)
);
COMMENT ON TABLE privacy_request_notices IS 'The partners that were told about an erasure, so that they erase their own copies.';

GRANT SELECT, INSERT, DELETE ON privacy_requests TO pingpost_app;
GRANT UPDATE (due_on, identity, identity_note, identity_by, identity_by_id, identity_at, extension_reason, extended_at,
    outcome, ground, outcome_note, closed_by, closed_at, file_id) ON privacy_requests TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON privacy_request_leads, privacy_request_notices TO pingpost_app;

COMMENT ON TABLE erasure_entries IS 'Entries of the erasure journal: who erased which leads, when and why. Only erased_at changes, when the leads have been erased.';
COMMENT ON TABLE consents IS 'The consent of each lead. It never changes, except that its details are deleted when the lead is erased.';

-- +goose Down
COMMENT ON TABLE erasure_entries IS 'Entries of the erasure journal: who erased which leads, when and why. Never changed, except that erased_at is set.';
COMMENT ON TABLE consents IS 'The consent of each lead. Never changed, except that the details are deleted when the lead is erased.';
DROP TABLE privacy_request_notices, privacy_request_leads, privacy_requests;
