-- Returns, adjustments and payout runs.

-- +goose Up
CREATE TABLE returns (
    id            uuid        CONSTRAINT returns_pkey PRIMARY KEY,
    lead_id       uuid        NOT NULL, -- without a foreign key, as in ledger_entries
    partner_id    uuid        NOT NULL,
    account_id    uuid        NOT NULL,
    amount_minor  bigint      NOT NULL CONSTRAINT returns_amount_positive CHECK (amount_minor > 0), -- the amount that the lead earned
    currency      char(3)     NOT NULL CONSTRAINT returns_currency_known CHECK (currency IN ('GBP', 'EUR', 'USD', 'CAD', 'AUD')),
    reason        text        NOT NULL CONSTRAINT returns_reason_known CHECK (reason IN
                      ('wrong_contact', 'duplicate', 'no_consent', 'wrong_service', 'outside_area', 'not_a_customer', 'fraud', 'other')),
    evidence      text        NOT NULL, -- '' after the lead was erased
    state         text        NOT NULL DEFAULT 'open' CONSTRAINT returns_state_known CHECK (state IN ('open', 'accepted', 'rejected')),
    requested_by  text        NOT NULL,
    requested_at  timestamptz NOT NULL,
    decided_by    text        NOT NULL DEFAULT '',
    decided_at    timestamptz,
    decision_note text        NOT NULL DEFAULT '', -- the reason for accepting or rejecting it
    row_version   integer     NOT NULL DEFAULT 1,
    redacted_at   timestamptz,
    redacted_by   text        NOT NULL DEFAULT '',
    redactions    integer     NOT NULL DEFAULT 0, -- exports for consumers notice a redaction by this number
    requester_id  uuid, -- NULL on the command line
    decider_id    uuid,
    CONSTRAINT returns_decided_when CHECK ((state = 'open') = (decided_at IS NULL))
);
COMMENT ON TABLE returns IS 'Lead returns, with the reason, evidence and decision.';
COMMENT ON COLUMN returns.redacted_at IS 'When the evidence, or the reason for the rejection, was replaced last.';
-- A lead can have at most one open or accepted return. After a rejection, a lead can be returned again.
CREATE UNIQUE INDEX returns_one_a_lead ON returns (lead_id) WHERE state <> 'rejected';
CREATE INDEX returns_by_partner ON returns (partner_id, id);
CREATE INDEX returns_open ON returns (id) WHERE state = 'open';
CREATE INDEX returns_by_lead ON returns (lead_id);
CREATE INDEX returns_by_time ON returns (requested_at);
CREATE INDEX returns_accepted_by_requester ON returns (decider_id, decided_at) WHERE state = 'accepted' AND decider_id = requester_id;

-- A user can adjust balances, and accept returns that the user requested, only up to a limit for each UTC day. Above
-- it, another user approves (decision 77).
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
CREATE INDEX adjustments_by_requester ON adjustments (requester_id, requested_at);
CREATE INDEX adjustments_by_partner ON adjustments (partner_id, id) WHERE state <> 'within_limit';
CREATE INDEX adjustments_above_limit ON adjustments (id) WHERE state <> 'within_limit';
CREATE INDEX adjustments_open ON adjustments (id) WHERE state = 'open';
CREATE INDEX adjustments_by_lead ON adjustments (lead_id) WHERE lead_id IS NOT NULL;
CREATE INDEX adjustments_by_time ON adjustments (requested_at) WHERE reason <> '' OR decision_note <> '';

-- The texts are redacted as the owner, so that the service needs no privilege to change them (decision 75), and erased
-- with their lead.
-- +goose StatementBegin
-- These functions run as the owner, so that the service needs no privilege to change notes.
CREATE FUNCTION redact_return(redacted uuid, at timestamptz, actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    -- The decision about an accepted return contains the same text as the note in the ledger, and is redacted with it.
    UPDATE returns r SET redacted_at = at, redacted_by = actor, redactions = r.redactions + 1,
            evidence = CASE r.evidence WHEN '' THEN '' ELSE '[redacted]' END,
            decision_note = CASE WHEN r.state = 'rejected' AND r.decision_note <> '' THEN '[redacted]' ELSE r.decision_note END
        WHERE r.id = redacted;
    IF NOT FOUND OR at IS NULL OR actor = '' THEN
        RAISE EXCEPTION 'no such return' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'returns_redacted';
    END IF;
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

CREATE FUNCTION erase_adjustment_texts() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    UPDATE adjustments SET reason = '', decision_note = '' WHERE lead_id = NEW.id;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER leads_erase_adjustments AFTER UPDATE ON leads FOR EACH ROW
    WHEN (NEW.state = 'erased' AND OLD.state <> 'erased') EXECUTE FUNCTION erase_adjustment_texts();

CREATE TABLE payout_runs (
    id            uuid        CONSTRAINT payout_runs_pkey PRIMARY KEY,
    currency      char(3)     NOT NULL CONSTRAINT payout_runs_currency_known CHECK (currency IN ('GBP', 'EUR', 'USD', 'CAD', 'AUD')),
    cutoff        timestamptz NOT NULL, -- only entries before this time are paid
    minimum_minor bigint      NOT NULL CONSTRAINT payout_runs_minimum_range CHECK (minimum_minor >= 0), -- smaller balances are held
    note          text        NOT NULL DEFAULT '',
    state         text        NOT NULL CONSTRAINT payout_runs_state_known CHECK (state IN ('preparing', 'prepared', 'approved', 'paid', 'cancelled')),
    entries       bigint      NOT NULL DEFAULT 0, -- claimed entries, not including payments
    payouts       integer     NOT NULL DEFAULT 0, -- accounts that are paid
    held          integer     NOT NULL DEFAULT 0, -- accounts whose balance is carried forward
    total_minor   bigint      NOT NULL DEFAULT 0, -- the amount to pay
    preparer      text        NOT NULL,
    preparer_id   uuid        NOT NULL,
    prepared_at   timestamptz,
    approver      text        NOT NULL DEFAULT '',
    approver_id   uuid,
    approved_at   timestamptz,
    payer         text        NOT NULL DEFAULT '',
    paid_at       timestamptz,
    reference     text        NOT NULL DEFAULT '', -- the bank's reference for the payment
    cancel_reason text        NOT NULL DEFAULT '',
    created_at    timestamptz NOT NULL,
    row_version   integer     NOT NULL DEFAULT 1,
    CONSTRAINT payout_runs_two_people CHECK (approver_id IS NULL OR approver_id <> preparer_id),
    CONSTRAINT payout_runs_approved_when CHECK (state NOT IN ('approved', 'paid') OR (approver_id IS NOT NULL AND approved_at IS NOT NULL)),
    CONSTRAINT payout_runs_paid_when CHECK ((state = 'paid') = (paid_at IS NOT NULL) AND (state <> 'paid' OR reference <> ''))
);
COMMENT ON TABLE payout_runs IS 'Payout runs, with their state and the users who prepared, approved and paid them.';
-- If two runs in a currency were open at the same time, each would claim some of the entries.
CREATE UNIQUE INDEX payout_runs_one_open ON payout_runs (currency) WHERE state IN ('preparing', 'prepared', 'approved');
CREATE INDEX payout_runs_by_time ON payout_runs (created_at, id);

-- The table is partitioned like the ledger. The reference to ledger_entries is not a foreign key,
-- because Postgres would then plan a query on all partitions for each row. A trigger checks all rows of
-- a statement together. Entries cannot disappear, because the ledger is append-only.
CREATE TABLE payout_run_entries (
    entry_id    bigint      NOT NULL,
    occurred_at timestamptz NOT NULL, -- of the entry
    run_id      uuid        NOT NULL CONSTRAINT payout_run_entries_run_fkey REFERENCES payout_runs,
    CONSTRAINT payout_run_entries_pkey PRIMARY KEY (entry_id, occurred_at)
) PARTITION BY RANGE (occurred_at);
COMMENT ON TABLE payout_run_entries IS 'The ledger entries in each payout run. An entry is in at most one run. There is one partition for each month.';
CREATE INDEX payout_run_entries_by_run ON payout_run_entries (run_id, entry_id);

-- If the account is paid, the sums are those of the entries that the run claimed. If the balance is
-- carried forward, they are those of the entries that are left for the next run.
CREATE TABLE statements (
    run_id         uuid    NOT NULL CONSTRAINT statements_run_fkey REFERENCES payout_runs,
    partner_id     uuid    NOT NULL,
    account_id     uuid    NOT NULL,
    outcome        text    NOT NULL CONSTRAINT statements_outcome_known CHECK (outcome IN ('pays', 'below_minimum', 'negative', 'even')),
    entries        bigint  NOT NULL,
    first_entry_at timestamptz, -- the earliest time of an entry, to find the partitions that contain the run's entries
    accrued_minor  bigint  NOT NULL,
    returned_minor bigint  NOT NULL,
    adjusted_minor bigint  NOT NULL,
    net_minor      bigint  NOT NULL,
    CONSTRAINT statements_pkey PRIMARY KEY (run_id, account_id),
    CONSTRAINT statements_net CHECK (net_minor = accrued_minor + returned_minor + adjusted_minor),
    CONSTRAINT statements_outcome_net CHECK (CASE outcome WHEN 'negative' THEN net_minor < 0 WHEN 'even' THEN net_minor = 0 ELSE net_minor > 0 END)
);
COMMENT ON TABLE statements IS 'Statements: the result of a payout run for each account.';
CREATE INDEX statements_by_partner ON statements (partner_id, run_id);

-- The payees of a run at the time of its approval. A later change to a partner's legal name only
-- affects runs that are approved after the change.
CREATE TABLE payees (
    run_id     uuid NOT NULL CONSTRAINT payees_run_fkey REFERENCES payout_runs,
    partner_id uuid NOT NULL CONSTRAINT payees_partner_fkey REFERENCES partners,
    legal_name text NOT NULL CONSTRAINT payees_legal_name_given CHECK (legal_name <> ''), -- the partner's name if it has no legal name
    address    text NOT NULL,
    tax_id     text NOT NULL,
    CONSTRAINT payees_pkey PRIMARY KEY (run_id, partner_id)
);
COMMENT ON TABLE payees IS 'The partners'' legal names, addresses and tax IDs as used in each payout run.';

-- +goose StatementBegin
-- A paid or cancelled run cannot be changed. The sums of a prepared run cannot be changed either.
CREATE FUNCTION reject_run_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state IN ('paid', 'cancelled') OR (OLD.state <> 'preparing'
        AND (NEW.state = 'preparing' OR (NEW.entries, NEW.payouts, NEW.held, NEW.total_minor, NEW.prepared_at) IS DISTINCT FROM
                                        (OLD.entries, OLD.payouts, OLD.held, OLD.total_minor, OLD.prepared_at))) THEN
        RAISE EXCEPTION 'this payout run can no longer be changed' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'payout_runs_immutable';
    END IF;
    RETURN NEW;
END
$$;
-- Entries and statements can only be added while a run is being prepared. If the trigger's argument is
-- 'approved', rows can also be added to an approved run, because the transaction that marks the run as
-- paid adds payments.
CREATE FUNCTION reject_late_claim() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM payout_runs r WHERE r.id IN (SELECT run_id FROM added)
        AND r.state <> 'preparing' AND r.state IS DISTINCT FROM TG_ARGV[0]) THEN
        RAISE EXCEPTION 'nothing can be added to this payout run' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'payout_runs_immutable';
    END IF;
    RETURN NULL;
END
$$;
-- A claim must have the id and the time of an entry. Otherwise, the primary key would allow a second
-- claim on the entry with another time. EXECUTE plans the query for the times of the claims, so it
-- reads no other partitions. The settings make it look up each entry by its primary key.
CREATE FUNCTION reject_unknown_claim() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp
    SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    earliest timestamptz;
    latest timestamptz;
    unknown boolean;
BEGIN
    SELECT min(occurred_at), max(occurred_at) INTO earliest, latest FROM added;
    EXECUTE 'SELECT EXISTS (SELECT FROM added a WHERE NOT EXISTS (SELECT FROM ledger_entries e
        WHERE e.id = a.entry_id AND e.occurred_at = a.occurred_at AND e.occurred_at BETWEEN $1 AND $2))' INTO unknown USING earliest, latest;
    IF unknown THEN
        RAISE EXCEPTION 'the ledger has no entry with this id and time' USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'payout_run_entries_known';
    END IF;
    RETURN NULL;
END
$$;
-- No role can release the entries of a paid run.
CREATE FUNCTION reject_late_release() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM payout_runs r WHERE r.state = 'paid' AND r.id IN (SELECT run_id FROM gone)) THEN
        RAISE EXCEPTION 'a paid run keeps its entries' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'payout_runs_immutable';
    END IF;
    RETURN NULL;
END
$$;
-- release_payout_run releases the entries that a run claimed, unless the run is paid. It runs as the
-- owner. The service can only delete claims by calling it.
CREATE FUNCTION release_payout_run(run uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE n bigint;
BEGIN
    PERFORM FROM payout_runs WHERE id = run AND state <> 'paid' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this payout run can no longer be changed' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'payout_runs_immutable';
    END IF;
    DELETE FROM payout_run_entries WHERE run_id = run;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER payout_runs_immutable BEFORE UPDATE ON payout_runs FOR EACH ROW EXECUTE FUNCTION reject_run_change();
CREATE TRIGGER payout_run_entries_in_time AFTER INSERT ON payout_run_entries REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION reject_late_claim('approved');
CREATE TRIGGER payout_run_entries_known AFTER INSERT ON payout_run_entries REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION reject_unknown_claim();
CREATE TRIGGER payout_run_entries_stay AFTER DELETE ON payout_run_entries REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION reject_late_release();
CREATE TRIGGER payout_run_entries_unchanged BEFORE UPDATE ON payout_run_entries FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER payout_run_entries_no_truncate BEFORE TRUNCATE ON payout_run_entries FOR EACH STATEMENT EXECUTE FUNCTION reject_change();
CREATE TRIGGER statements_in_time AFTER INSERT ON statements REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION reject_late_claim();
CREATE TRIGGER statements_stay BEFORE UPDATE OR DELETE ON statements FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER statements_no_truncate BEFORE TRUNCATE ON statements FOR EACH STATEMENT EXECUTE FUNCTION reject_change();
CREATE TRIGGER payees_stay BEFORE UPDATE OR DELETE ON payees FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER payees_no_truncate BEFORE TRUNCATE ON payees FOR EACH STATEMENT EXECUTE FUNCTION reject_change();
