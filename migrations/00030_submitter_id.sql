-- oldest program: 26
-- The approval of a rate card compares user ids, because an email address can change.

-- +goose Up
ALTER TABLE rate_cards ADD COLUMN submitter_id uuid CONSTRAINT rate_cards_submitter_fkey REFERENCES staff;
COMMENT ON COLUMN rate_cards.submitter_id IS 'Null on the command line.';
UPDATE rate_cards SET submitter_id = staff.id FROM staff WHERE staff.email = submitter AND state = 'submitted';
GRANT UPDATE (submitter_id) ON rate_cards TO pingpost_app;

-- +goose Down
ALTER TABLE rate_cards DROP COLUMN submitter_id;
