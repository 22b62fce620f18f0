-- A lead in the period whose currency or account is not in the partner's file gets a line with
-- the finding left_out. Existing lines keep their findings.

-- +goose Up
ALTER TABLE reconciliation_lines DROP CONSTRAINT reconciliation_lines_finding_known,
    ADD CONSTRAINT reconciliation_lines_finding_known CHECK (finding IN
        ('matched', 'amount_differs', 'unknown', 'duplicate', 'missing', 'outside_period', 'unreadable', 'left_out')) NOT VALID;

-- +goose Down
ALTER TABLE reconciliation_lines DROP CONSTRAINT reconciliation_lines_finding_known,
    ADD CONSTRAINT reconciliation_lines_finding_known CHECK (finding IN
        ('matched', 'amount_differs', 'unknown', 'duplicate', 'missing', 'outside_period', 'unreadable')) NOT VALID;
