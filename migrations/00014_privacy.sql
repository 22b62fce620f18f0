-- Privacy: views of contact records, requests by consumers, evidence, retention and legal holds.

-- +goose Up
-- A user views one field of a contact record at a time, with a reason.
CREATE TABLE lead_reveals (
    id         uuid        CONSTRAINT lead_reveals_pkey PRIMARY KEY,
    lead_id    uuid        NOT NULL, -- without a foreign key, like all references to leads (decision 48)
    partner_id uuid        NOT NULL CONSTRAINT lead_reveals_partner_fkey REFERENCES partners,
    staff_id   uuid        CONSTRAINT lead_reveals_staff_fkey REFERENCES staff, -- null on the command line
    actor      text        NOT NULL,
    field      text        NOT NULL CONSTRAINT lead_reveals_field_known CHECK (field IN ('email', 'name', 'phone', 'address', 'notes', 'answers')),
    reason     text        NOT NULL CONSTRAINT lead_reveals_reason_known CHECK (reason IN ('return', 'complaint', 'request', 'legal', 'other')),
    note       text        NOT NULL, -- may describe the consumer, so it is not in the audit log, which no one can change
    at         timestamptz NOT NULL
);
COMMENT ON TABLE lead_reveals IS 'Each view of a field of a contact record: who viewed it, when and why.';
CREATE INDEX lead_reveals_by_lead ON lead_reveals (lead_id, at);
CREATE INDEX lead_reveals_by_user ON lead_reveals (staff_id, at); -- counts a user's views of one day

CREATE TABLE daily_access (
    staff_id uuid    CONSTRAINT daily_access_staff_fkey REFERENCES staff, -- null on the command line
    day      date    NOT NULL, -- in UTC
    reveals  integer NOT NULL DEFAULT 0,
    lookups  integer NOT NULL DEFAULT 0,
    CONSTRAINT daily_access_once UNIQUE NULLS NOT DISTINCT (staff_id, day)
);
COMMENT ON TABLE daily_access IS 'How many contact records each user has decrypted, and for how many email addresses and phone numbers the user has searched, on the last day of use.';

-- Requests by consumers about their personal data.
CREATE TABLE privacy_requests (
    id               uuid        CONSTRAINT privacy_requests_pkey PRIMARY KEY,
    kind             text        NOT NULL CONSTRAINT privacy_requests_kind_known CHECK (
                         kind IN ('access', 'erasure', 'objection', 'restriction', 'withdrawal', 'rectification', 'complaint')),
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
    outcome          text        CONSTRAINT privacy_requests_outcome_known CHECK (
                         outcome IN ('exported', 'erased', 'done', 'nothing_found', 'rejected', 'withdrawn')), -- null while the request is open
    ground           text        CONSTRAINT privacy_requests_ground_known CHECK (ground IN (
        'identity', 'excessive', 'repeated', 'rights_of_others', 'expression', 'obligation', 'public_health', 'archiving', 'legal_claims',
        'compelling', 'conditions', 'accurate', 'other_basis', 'fraudulent', 'transaction', 'security', 'internal_use')),
    outcome_note     text        NOT NULL DEFAULT '',
    closed_by        text,
    closed_at        timestamptz,
    file_id          uuid        CONSTRAINT privacy_requests_file_fkey REFERENCES files ON DELETE SET NULL, -- the export
    email_searched   boolean     NOT NULL DEFAULT false,
    phone_searched   boolean     NOT NULL DEFAULT false,
    notices_due      boolean     NOT NULL DEFAULT false,
    law              text        NOT NULL DEFAULT 'gdpr' CONSTRAINT privacy_requests_law_known CHECK (law IN ('gdpr', 'uk_gdpr', 'ccpa')),
    CONSTRAINT privacy_requests_identity_complete CHECK ((identity IS NULL) = (identity_at IS NULL) AND (identity IS NULL) = (identity_by IS NULL)),
    CONSTRAINT privacy_requests_outcome_complete CHECK ((outcome IS NULL) = (closed_at IS NULL) AND (outcome IS NULL) = (closed_by IS NULL)),
    CONSTRAINT privacy_requests_ground_given CHECK ((ground IS NOT NULL) = (outcome IS NOT DISTINCT FROM 'rejected'))
);
COMMENT ON TABLE privacy_requests IS 'Requests by consumers about their personal data, and complaints to authorities. What was searched for is not stored. A closed request is deleted after the configured time.';
COMMENT ON COLUMN privacy_requests.email_searched IS 'Whether leads with an email address were searched for, which is not stored.';
COMMENT ON COLUMN privacy_requests.phone_searched IS 'The same for a phone number.';
COMMENT ON COLUMN privacy_requests.notices_due IS 'True after an erasure, until the notices for all partners are recorded.';
CREATE INDEX privacy_requests_open ON privacy_requests (due_on, id) WHERE outcome IS NULL;
CREATE INDEX privacy_requests_closed ON privacy_requests (closed_at, id) WHERE outcome IS NOT NULL;
CREATE INDEX privacy_requests_to_notify ON privacy_requests (due_on, id) WHERE notices_due;
CREATE INDEX privacy_requests_by_file ON privacy_requests (file_id) WHERE file_id IS NOT NULL;

CREATE TABLE privacy_request_leads (
    request_id uuid NOT NULL CONSTRAINT privacy_request_leads_request_fkey REFERENCES privacy_requests ON DELETE CASCADE,
    lead_id    uuid NOT NULL, -- without a foreign key, like all references to leads (decision 48)
    partner_id uuid NOT NULL CONSTRAINT privacy_request_leads_partner_fkey REFERENCES partners,
    matched        text    NOT NULL DEFAULT '' CONSTRAINT privacy_request_leads_matched_known CHECK (matched IN ('', 'email', 'phone', 'both', 'id')),
    email_number   integer NOT NULL DEFAULT 0,
    phone_number   integer NOT NULL DEFAULT 0,
    exception      text    NOT NULL DEFAULT '' CONSTRAINT privacy_request_leads_exception_known CHECK (exception IN ('', 'erased', 'proved', 'other')),
    exception_note text    NOT NULL DEFAULT '',
    erased         boolean NOT NULL DEFAULT false,
    CONSTRAINT privacy_request_leads_pkey PRIMARY KEY (request_id, lead_id)
);
CREATE INDEX privacy_request_leads_erased ON privacy_request_leads (lead_id) WHERE erased;
COMMENT ON COLUMN privacy_request_leads.matched IS 'Which of the searched identifiers the lead has, or id if it was named by its ID.';
COMMENT ON COLUMN privacy_request_leads.email_number IS 'Leads of a request with the same email address have the same number. The number 1 is the searched address or, if none was searched, the most frequent. 0 means unknown.';
COMMENT ON COLUMN privacy_request_leads.phone_number IS 'The same for the phone number. 0 means none or unknown.';
COMMENT ON COLUMN privacy_request_leads.exception IS 'The reason why a user added the lead although it shares no identifier with the others, or empty.';
COMMENT ON COLUMN privacy_request_leads.exception_note IS 'Must not identify the consumer.';
COMMENT ON COLUMN privacy_request_leads.erased IS 'Whether this request erased the lead, or it was erased in another way after the request was received, so that its partner must be notified.';
COMMENT ON TABLE privacy_request_leads IS 'The leads that were found for a privacy request.';

-- After an erasure, each recipient of the data must be notified (GDPR, article 19).
CREATE TABLE privacy_request_notices (
    request_id  uuid        NOT NULL CONSTRAINT privacy_request_notices_request_fkey REFERENCES privacy_requests ON DELETE CASCADE,
    partner_id  uuid        NOT NULL CONSTRAINT privacy_request_notices_partner_fkey REFERENCES partners,
    notified_by text        NOT NULL,
    notified_at timestamptz NOT NULL,
    reason      text        NOT NULL DEFAULT '' -- '' if the partner was notified
                            CONSTRAINT privacy_request_notices_reason_known CHECK (reason IN ('', 'no_copy', 'unreachable', 'disproportionate', 'other')),
    note        text        NOT NULL DEFAULT '', -- about the reason; must not identify the consumer
    CONSTRAINT privacy_request_notices_pkey PRIMARY KEY (request_id, partner_id)
);
COMMENT ON TABLE privacy_request_notices IS 'The partners that were notified of an erasure, so that they erase their own copies, and the reasons why others were not notified.';

-- The keys that sign evidence packs.
CREATE TABLE evidence_keys (
    id         text        CONSTRAINT evidence_keys_pkey PRIMARY KEY, -- the JWK thumbprint of the public key (RFC 7638)
    public_key bytea       NOT NULL CONSTRAINT evidence_keys_size CHECK (length(public_key) = 32),
    sealed     bytea, -- the private key; deleted when the key is retired
    created_at timestamptz NOT NULL,
    retired_at timestamptz, -- null for the key that signs new packs
    revoked_at timestamptz,
    CONSTRAINT evidence_keys_sealed CHECK ((sealed IS NULL) = (retired_at IS NOT NULL)),
    CONSTRAINT evidence_keys_revoked CHECK (revoked_at IS NULL OR retired_at IS NOT NULL)
);
COMMENT ON TABLE evidence_keys IS 'The keys that sign evidence packs. One of them signs new packs. The public keys of all others stay, so that older packs can be verified.';
COMMENT ON COLUMN evidence_keys.revoked_at IS 'Packs that were signed later are not valid, because the key was stolen.';
CREATE UNIQUE INDEX evidence_keys_one_active ON evidence_keys ((true)) WHERE retired_at IS NULL;

-- A key can be sealed again and retired, and a retired key can be revoked. The time of a revocation can only become
-- earlier.
CREATE TRIGGER evidence_keys_unchanged BEFORE UPDATE ON evidence_keys FOR EACH ROW
    WHEN ((NEW.id, NEW.public_key, NEW.created_at) IS DISTINCT FROM (OLD.id, OLD.public_key, OLD.created_at)
        OR OLD.retired_at IS NOT NULL AND (NEW.retired_at IS DISTINCT FROM OLD.retired_at OR NEW.sealed IS NOT NULL
            OR NEW.revoked_at IS NOT DISTINCT FROM OLD.revoked_at)
        OR NEW.revoked_at IS NULL AND OLD.revoked_at IS NOT NULL OR NEW.revoked_at > OLD.revoked_at)
    EXECUTE FUNCTION reject_change();
CREATE TRIGGER evidence_keys_stay BEFORE DELETE ON evidence_keys FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER evidence_keys_no_truncate BEFORE TRUNCATE ON evidence_keys FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

-- Nodes keep the public keys in memory, so that publishing them needs no query.
CREATE TRIGGER evidence_keys_snapshot AFTER INSERT OR UPDATE OF retired_at, revoked_at ON evidence_keys FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('evidence_keys');

-- Retention: contact records and the details of consents are erased when their period has passed, unless the lead is
-- under a legal hold.
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
