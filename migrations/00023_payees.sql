-- The payees of a payout run at the time of its approval. A later change to a partner's legal name
-- only affects runs that are approved after the change.

-- +goose Up
CREATE TABLE payees (
    run_id     uuid NOT NULL CONSTRAINT payees_run_fkey REFERENCES payout_runs,
    partner_id uuid NOT NULL CONSTRAINT payees_partner_fkey REFERENCES partners,
    legal_name text NOT NULL CONSTRAINT payees_legal_name_given CHECK (legal_name <> ''), -- the partner's name if it has no legal name
    address    text NOT NULL,
    tax_id     text NOT NULL,
    CONSTRAINT payees_pkey PRIMARY KEY (run_id, partner_id)
);
GRANT SELECT, INSERT ON payees TO pingpost_app;
CREATE TRIGGER payees_stay BEFORE UPDATE OR DELETE ON payees FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payees_no_truncate BEFORE TRUNCATE ON payees FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Runs that have already been approved get the current payees, because earlier data is not available.
INSERT INTO payees (run_id, partner_id, legal_name, address, tax_id)
    SELECT DISTINCT s.run_id, p.id, coalesce(nullif(p.legal_name, ''), p.name), p.address, p.tax_id
    FROM statements s JOIN payout_runs r ON r.id = s.run_id JOIN partners p ON p.id = s.partner_id
    WHERE r.state IN ('approved', 'paid');

-- +goose Down
DROP TABLE payees;
