-- oldest program: 26
-- A user can adjust balances, and accept returns that the user requested, only up to a limit for each UTC day. Above
-- it, another user approves (decision 77). Older programs do not apply the limit.

-- +goose Up
CREATE TABLE adjustments (
    id            uuid        CONSTRAINT adjustments_pkey PRIMARY KEY, -- also in the reference of the ledger entry
    partner_id    uuid        NOT NULL,
    account_id    uuid        NOT NULL,
    lead_id       uuid, -- without a foreign key, as in ledger_entries
    amount_minor  bigint      NOT NULL CONSTRAINT adjustments_amount_not_zero CHECK (amount_minor <> 0),
    currency      char(3)     NOT NULL CONSTRAINT adjustments_currency_known CHECK (currency IN ('GBP', 'EUR', 'USD', 'CAD', 'AUD')),
    reason        text        NOT NULL DEFAULT '', -- '' if the adjustment is in the ledger, which contains the reason
    state         text        NOT NULL CONSTRAINT adjustments_state_known CHECK (state IN ('within_limit', 'open', 'approved', 'rejected')),
    requested_by  text        NOT NULL,
    requester_id  uuid        NOT NULL,
    requested_at  timestamptz NOT NULL,
    decided_by    text        NOT NULL DEFAULT '',
    decider_id    uuid,
    decided_at    timestamptz,
    decision_note text        NOT NULL DEFAULT '', -- the reason for rejecting it
    redacted_at   timestamptz,
    redacted_by   text        NOT NULL DEFAULT '',
    CONSTRAINT adjustments_decided_when CHECK ((state IN ('approved', 'rejected')) = (decided_at IS NOT NULL)),
    CONSTRAINT adjustments_two_people CHECK (state <> 'approved' OR (decider_id IS NOT NULL AND decider_id <> requester_id))
);
COMMENT ON TABLE adjustments IS 'Adjustments of balances: those within the user''s daily limit, and those that another user approves or rejects.';
-- Staff may put personal data into texts (see 00020_statistics.sql).
ALTER TABLE adjustments ALTER COLUMN reason SET STATISTICS 0, ALTER COLUMN decision_note SET STATISTICS 0;
CREATE INDEX adjustments_by_requester ON adjustments (requester_id, requested_at);
CREATE INDEX adjustments_by_partner ON adjustments (partner_id, id) WHERE state <> 'within_limit';
CREATE INDEX adjustments_above_limit ON adjustments (id) WHERE state <> 'within_limit';
CREATE INDEX adjustments_open ON adjustments (id) WHERE state = 'open';
CREATE INDEX adjustments_by_lead ON adjustments (lead_id) WHERE lead_id IS NOT NULL;
CREATE INDEX adjustments_by_time ON adjustments (requested_at) WHERE reason <> '' OR decision_note <> '';
GRANT SELECT, INSERT ON adjustments TO pingpost_app;
GRANT UPDATE (state, reason, decided_by, decider_id, decided_at, decision_note) ON adjustments TO pingpost_app;

ALTER TABLE returns ADD COLUMN requester_id uuid, ADD COLUMN decider_id uuid; -- NULL if an older program wrote them
UPDATE returns SET requester_id = s.id FROM staff s WHERE returns.state = 'open' AND lower(s.email) = lower(returns.requested_by);
CREATE INDEX returns_accepted_by_requester ON returns (decider_id, decided_at) WHERE state = 'accepted' AND decider_id = requester_id;
GRANT UPDATE (decider_id) ON returns TO pingpost_app;

-- +goose StatementBegin
CREATE FUNCTION erase_adjustment_texts() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE adjustments SET reason = '', decision_note = '' WHERE lead_id = NEW.id;
    RETURN NULL;
END
$$;

-- redact_adjustment runs as the owner, like the functions for other notes (decision 75).
CREATE FUNCTION redact_adjustment(redacted uuid, at timestamptz, actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE adjustments a SET redacted_at = at, redacted_by = actor,
            reason = CASE a.reason WHEN '' THEN '' ELSE '[redacted]' END,
            decision_note = CASE a.decision_note WHEN '' THEN '' ELSE '[redacted]' END
        WHERE a.id = redacted;
    IF NOT FOUND OR at IS NULL OR actor = '' THEN
        RAISE EXCEPTION 'no such adjustment' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'adjustments_redacted';
    END IF;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER leads_erase_adjustments AFTER UPDATE ON leads FOR EACH ROW
    WHEN (NEW.state = 'erased' AND OLD.state <> 'erased') EXECUTE FUNCTION erase_adjustment_texts();
REVOKE ALL ON FUNCTION redact_adjustment(uuid, timestamptz, text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION redact_adjustment(uuid, timestamptz, text) TO pingpost_app;

-- +goose Down
DROP TRIGGER leads_erase_adjustments ON leads;
DROP FUNCTION erase_adjustment_texts(), redact_adjustment(uuid, timestamptz, text);
DROP INDEX returns_accepted_by_requester;
ALTER TABLE returns DROP COLUMN requester_id, DROP COLUMN decider_id;
DROP TABLE adjustments;
