-- oldest program: 26
-- Why a lead belongs to a privacy request, and daily limits that also count exports and searches (decision 70). Programs
-- without the columns store empty values in them.

-- +goose Up
ALTER TABLE privacy_requests ADD COLUMN email_searched boolean NOT NULL DEFAULT false, ADD COLUMN phone_searched boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN privacy_requests.email_searched IS 'Whether leads with an email address were searched for, which is not stored.';
COMMENT ON COLUMN privacy_requests.phone_searched IS 'The same for a phone number.';
ALTER TABLE privacy_request_leads
    ADD COLUMN matched        text    NOT NULL DEFAULT '' CONSTRAINT privacy_request_leads_matched_known CHECK (matched IN ('', 'email', 'phone', 'both', 'id')),
    ADD COLUMN email_number   integer NOT NULL DEFAULT 0,
    ADD COLUMN phone_number   integer NOT NULL DEFAULT 0,
    ADD COLUMN exception      text    NOT NULL DEFAULT '' CONSTRAINT privacy_request_leads_exception_known CHECK (exception IN ('', 'erased', 'proved', 'other')),
    ADD COLUMN exception_note text    NOT NULL DEFAULT '',
    ADD COLUMN erased         boolean NOT NULL DEFAULT false,
    -- Staff may put personal data into it (see 00020_statistics.sql).
    ALTER COLUMN exception_note SET STATISTICS 0;
COMMENT ON COLUMN privacy_request_leads.matched IS 'Which of the searched identifiers the lead has, or id if it was named by its ID. Empty if an older program created the request.';
COMMENT ON COLUMN privacy_request_leads.email_number IS 'Leads of a request with the same email address have the same number. The number 1 is the searched address or, if none was searched, the most frequent. 0 means unknown.';
COMMENT ON COLUMN privacy_request_leads.phone_number IS 'The same for the phone number. 0 means none or unknown.';
COMMENT ON COLUMN privacy_request_leads.exception IS 'The reason why a user added the lead although it shares no identifier with the others, or empty.';
COMMENT ON COLUMN privacy_request_leads.exception_note IS 'Must not identify the consumer.';
COMMENT ON COLUMN privacy_request_leads.erased IS 'Whether this request erased the lead, or it was erased in another way after the request was received, so that its partner must be notified.';
CREATE INDEX privacy_request_leads_erased ON privacy_request_leads (lead_id) WHERE erased;
UPDATE privacy_request_leads l SET erased = true FROM privacy_requests r WHERE r.id = l.request_id AND r.outcome = 'erased';
GRANT UPDATE (erased, email_number, phone_number) ON privacy_request_leads TO pingpost_app;

CREATE TABLE daily_access (
    staff_id uuid    CONSTRAINT daily_access_staff_fkey REFERENCES staff, -- null on the command line
    day      date    NOT NULL, -- in UTC
    reveals  integer NOT NULL DEFAULT 0,
    lookups  integer NOT NULL DEFAULT 0,
    CONSTRAINT daily_access_once UNIQUE NULLS NOT DISTINCT (staff_id, day)
);
COMMENT ON TABLE daily_access IS 'How many contact records each user has decrypted, and for how many email addresses and phone numbers the user has searched, on the last day of use.';
INSERT INTO daily_access (staff_id, day, reveals)
    SELECT staff_id, (now() AT TIME ZONE 'UTC')::date, count(*) FROM lead_reveals
    WHERE at >= date_trunc('day', now(), 'UTC') GROUP BY staff_id;
GRANT SELECT, INSERT, DELETE, UPDATE (reveals, lookups) ON daily_access TO pingpost_app;

-- +goose Down
DROP TABLE daily_access;
REVOKE UPDATE (erased, email_number, phone_number) ON privacy_request_leads FROM pingpost_app;
ALTER TABLE privacy_requests DROP COLUMN email_searched, DROP COLUMN phone_searched;
ALTER TABLE privacy_request_leads DROP COLUMN matched, DROP COLUMN email_number, DROP COLUMN phone_number,
    DROP COLUMN exception, DROP COLUMN exception_note, DROP COLUMN erased;
