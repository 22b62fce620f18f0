-- oldest program: 26
-- The amounts of a lead's rows are added before they are compared. Programs without the finding treat its lines like others.

-- +goose Up
ALTER TABLE reconciliation_lines DROP CONSTRAINT reconciliation_lines_finding_known;
ALTER TABLE reconciliation_lines ADD CONSTRAINT reconciliation_lines_finding_known CHECK (finding IN
    ('matched', 'amount_differs', 'unknown', 'duplicate', 'missing', 'outside_period', 'unreadable', 'left_out', 'not_compared')) NOT VALID;
ALTER TABLE reconciliation_lines VALIDATE CONSTRAINT reconciliation_lines_finding_known;

-- +goose Down
ALTER TABLE reconciliation_lines DROP CONSTRAINT reconciliation_lines_finding_known;
DELETE FROM reconciliation_lines WHERE finding = 'not_compared';
ALTER TABLE reconciliation_lines ADD CONSTRAINT reconciliation_lines_finding_known CHECK (finding IN
    ('matched', 'amount_differs', 'unknown', 'duplicate', 'missing', 'outside_period', 'unreadable', 'left_out'));
