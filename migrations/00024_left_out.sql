-- A lead of the period in a currency or of an account that a partner's list does not name
-- has a line with the finding left_out. Existing lines keep what they were checked for.

-- +goose Up
ALTER TABLE reconciliation_lines DROP CONSTRAINT reconciliation_lines_finding_known,
    ADD CONSTRAINT reconciliation_lines_finding_known CHECK (finding IN
        ('matched', 'amount_differs', 'unknown', 'duplicate', 'missing', 'outside_period', 'unreadable', 'left_out')) NOT VALID;

-- +goose Down
ALTER TABLE reconciliation_lines DROP CONSTRAINT reconciliation_lines_finding_known,
    ADD CONSTRAINT reconciliation_lines_finding_known CHECK (finding IN
        ('matched', 'amount_differs', 'unknown', 'duplicate', 'missing', 'outside_period', 'unreadable')) NOT VALID;
