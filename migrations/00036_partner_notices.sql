-- oldest program: 26
-- After an erasure, a request stays open until staff have recorded, for each partner, that it was notified or why
-- not (decision 72). Older programs close the request with the erasure.

-- +goose Up
ALTER TABLE privacy_requests ADD COLUMN notices_due boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN privacy_requests.notices_due IS 'True after an erasure, until the notices for all partners are recorded.';
UPDATE privacy_requests r SET notices_due = true WHERE EXISTS (
    SELECT FROM privacy_request_leads l WHERE l.request_id = r.id AND l.erased
        AND NOT EXISTS (SELECT FROM privacy_request_notices n WHERE n.request_id = l.request_id AND n.partner_id = l.partner_id));
CREATE INDEX privacy_requests_to_notify ON privacy_requests (due_on, id) WHERE notices_due;
GRANT UPDATE (notices_due) ON privacy_requests TO pingpost_app;

ALTER TABLE privacy_request_notices
    ADD COLUMN reason text NOT NULL DEFAULT '' -- '' if the partner was notified
        CONSTRAINT privacy_request_notices_reason_known CHECK (reason IN ('', 'no_copy', 'unreachable', 'disproportionate', 'other')),
    ADD COLUMN note text NOT NULL DEFAULT ''; -- about the reason; must not identify the consumer
ALTER TABLE privacy_request_notices ALTER COLUMN note SET STATISTICS 0;
COMMENT ON TABLE privacy_request_notices IS 'The partners that were notified of an erasure, so that they erase their own copies, and the reasons why others were not notified.';

-- +goose Down
COMMENT ON TABLE privacy_request_notices IS 'The partners that were told about an erasure, so that they erase their own copies.';
ALTER TABLE privacy_request_notices DROP COLUMN reason, DROP COLUMN note;
DROP INDEX privacy_requests_to_notify;
ALTER TABLE privacy_requests DROP COLUMN notices_due;
