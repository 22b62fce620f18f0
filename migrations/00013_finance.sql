-- Jobs that users start, returns, payout runs, and reconciliations.

-- +goose Up

-- Partners' files are compared in temporary tables, which are dropped with the connection.
-- +goose StatementBegin
DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO pingpost_app', current_database()); END $$;
-- +goose StatementEnd
-- A temporary table hides a real one with the same name, unless pg_temp is last in the search path.
-- So every trigger that reads tables, and every function that runs as the owner, sets the search
-- path.
ALTER FUNCTION refuse_published_rules() SET search_path = pg_catalog, public, pg_temp;

-- Jobs for work that takes too long for a page request. A user enqueues a job, and any node can run
-- it. Only the River job job_id may write results. A job that is queued again gets a new job_id, so
-- that a worker that was wrongly considered dead can no longer write.
CREATE TABLE work (
    id         bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT work_pkey PRIMARY KEY,
    kind       text        NOT NULL CONSTRAINT work_kind_known CHECK (kind IN ('reconciliation', 'payout_run', 'export')),
    object_id  uuid        NOT NULL,
    partner_id uuid, -- NULL if the job is not for one partner
    staff_id   uuid, -- NULL if it was enqueued from the command line
    asked_by   text        NOT NULL,
    state      text        NOT NULL DEFAULT 'waiting' CONSTRAINT work_state_known CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    phase      text        NOT NULL DEFAULT '', -- description of the current phase
    done       bigint      NOT NULL DEFAULT 0,
    total      bigint      NOT NULL DEFAULT 0, -- 0 while unknown
    failure    text        NOT NULL DEFAULT '', -- the last error and what to do
    attempt    integer     NOT NULL DEFAULT 0,
    job_id     bigint,
    asked_at   timestamptz NOT NULL,
    started_at timestamptz,
    beat_at    timestamptz, -- last heartbeat of the worker
    ended_at   timestamptz,
    CONSTRAINT work_ended_when CHECK ((state IN ('done', 'failed', 'cancelled')) = (ended_at IS NOT NULL))
);
CREATE INDEX work_open ON work (beat_at) WHERE state IN ('waiting', 'running');
CREATE INDEX work_by_object ON work (object_id, id);
GRANT SELECT, INSERT, DELETE ON work TO pingpost_app;
GRANT UPDATE (state, phase, done, total, failure, attempt, job_id, started_at, beat_at, ended_at) ON work TO pingpost_app;

-- Partners' files, and exports for users. Files are encrypted, stored in parts, and deleted when
-- they are no longer needed.
CREATE TABLE files (
    id         uuid        CONSTRAINT files_pkey PRIMARY KEY,
    whole      boolean     NOT NULL DEFAULT false, -- completely written
    size       bigint      NOT NULL DEFAULT 0,
    sha256     bytea,
    made_at    timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE TABLE file_parts (
    file_id uuid    NOT NULL CONSTRAINT file_parts_file_fkey REFERENCES files ON DELETE CASCADE,
    part    integer NOT NULL,
    sealed  bytea   NOT NULL,
    CONSTRAINT file_parts_pkey PRIMARY KEY (file_id, part)
);
ALTER TABLE file_parts ALTER COLUMN sealed SET STORAGE EXTERNAL; -- already compressed and encrypted
CREATE INDEX files_by_end ON files (expires_at);
GRANT SELECT, INSERT, DELETE ON files, file_parts TO pingpost_app;
GRANT UPDATE (whole, size, sha256) ON files TO pingpost_app;

-- The reason for an adjustment, or the bank's reference for a payment. Statements show it.
ALTER TABLE ledger_entries ADD COLUMN note text NOT NULL DEFAULT '';
ALTER TABLE ledger_entries ADD COLUMN made_by text NOT NULL DEFAULT ''; -- '' for the service

CREATE TABLE returns (
    id           uuid        CONSTRAINT returns_pkey PRIMARY KEY,
    lead_id      uuid        NOT NULL CONSTRAINT returns_lead_fkey REFERENCES leads,
    partner_id   uuid        NOT NULL,
    account_id   uuid        NOT NULL,
    amount_minor bigint      NOT NULL CONSTRAINT returns_amount_positive CHECK (amount_minor > 0), -- the amount that the lead earned
    currency     char(3)     NOT NULL CONSTRAINT returns_currency_known CHECK (currency IN ('GBP', 'EUR', 'USD', 'CAD', 'AUD')),
    reason       text        NOT NULL CONSTRAINT returns_reason_known CHECK (reason IN
                     ('wrong_contact', 'duplicate', 'no_consent', 'wrong_service', 'outside_area', 'not_a_customer', 'fraud', 'other')),
    evidence     text        NOT NULL CONSTRAINT returns_evidence_given CHECK (evidence <> ''),
    state        text        NOT NULL DEFAULT 'open' CONSTRAINT returns_state_known CHECK (state IN ('open', 'accepted', 'refused')),
    asked_by     text        NOT NULL,
    asked_at     timestamptz NOT NULL,
    decided_by   text        NOT NULL DEFAULT '',
    decided_at   timestamptz,
    answer       text        NOT NULL DEFAULT '', -- the reason for rejecting or accepting it
    row_version  integer     NOT NULL DEFAULT 1,
    CONSTRAINT returns_decided_when CHECK ((state = 'open') = (decided_at IS NULL))
);
-- At most one open or accepted return for each lead. After a rejection, a lead can be returned
-- again.
CREATE UNIQUE INDEX returns_one_a_lead ON returns (lead_id) WHERE state <> 'refused';
CREATE INDEX returns_by_partner ON returns (partner_id, id);
CREATE INDEX returns_open ON returns (id) WHERE state = 'open';
GRANT SELECT, INSERT ON returns TO pingpost_app;
GRANT UPDATE (state, decided_by, decided_at, answer, row_version) ON returns TO pingpost_app;

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
    ended_why     text        NOT NULL DEFAULT '', -- the reason for cancelling
    made_at       timestamptz NOT NULL,
    row_version   integer     NOT NULL DEFAULT 1,
    CONSTRAINT payout_runs_two_people CHECK (approver_id IS NULL OR approver_id <> preparer_id),
    CONSTRAINT payout_runs_approved_when CHECK (state NOT IN ('approved', 'paid') OR (approver_id IS NOT NULL AND approved_at IS NOT NULL)),
    CONSTRAINT payout_runs_paid_when CHECK ((state = 'paid') = (paid_at IS NOT NULL) AND (state <> 'paid' OR reference <> ''))
);
-- If two runs in a currency were open at the same time, each would claim some of the entries.
CREATE UNIQUE INDEX payout_runs_one_open ON payout_runs (currency) WHERE state IN ('preparing', 'prepared', 'approved');
CREATE INDEX payout_runs_by_time ON payout_runs (made_at, id);
GRANT SELECT, INSERT ON payout_runs TO pingpost_app;
GRANT UPDATE (state, entries, payouts, held, total_minor, prepared_at, approver, approver_id, approved_at, payer, paid_at, reference, ended_why, row_version)
    ON payout_runs TO pingpost_app;

-- An entry is in at most one run.
CREATE TABLE payout_run_entries (
    entry_id bigint CONSTRAINT payout_run_entries_pkey PRIMARY KEY CONSTRAINT payout_run_entries_entry_fkey REFERENCES ledger_entries,
    run_id   uuid   NOT NULL CONSTRAINT payout_run_entries_run_fkey REFERENCES payout_runs
);
CREATE INDEX payout_run_entries_by_run ON payout_run_entries (run_id, entry_id);
GRANT SELECT, INSERT ON payout_run_entries TO pingpost_app;

-- The result of a run for one account. If the account is paid, the sums are those of the entries
-- that the run claimed. If the balance is carried forward, they are those of the entries that are
-- left for the next run.
CREATE TABLE statements (
    run_id         uuid    NOT NULL CONSTRAINT statements_run_fkey REFERENCES payout_runs,
    partner_id     uuid    NOT NULL,
    account_id     uuid    NOT NULL,
    outcome        text    NOT NULL CONSTRAINT statements_outcome_known CHECK (outcome IN ('pays', 'below_minimum', 'negative', 'even')),
    entries        bigint  NOT NULL,
    accrued_minor  bigint  NOT NULL,
    returned_minor bigint  NOT NULL,
    adjusted_minor bigint  NOT NULL,
    net_minor      bigint  NOT NULL,
    CONSTRAINT statements_pkey PRIMARY KEY (run_id, account_id),
    CONSTRAINT statements_net CHECK (net_minor = accrued_minor + returned_minor + adjusted_minor),
    CONSTRAINT statements_outcome_net CHECK (CASE outcome WHEN 'negative' THEN net_minor < 0 WHEN 'even' THEN net_minor = 0 ELSE net_minor > 0 END)
);
CREATE INDEX statements_by_partner ON statements (partner_id, run_id);
GRANT SELECT, INSERT ON statements TO pingpost_app;

-- A paid or cancelled run cannot be changed. The sums of a prepared run cannot be changed.
-- +goose StatementBegin
CREATE FUNCTION refuse_run_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state IN ('paid', 'cancelled') OR (OLD.state <> 'preparing'
        AND (NEW.state = 'preparing' OR (NEW.entries, NEW.payouts, NEW.held, NEW.total_minor, NEW.prepared_at) IS DISTINCT FROM
                                        (OLD.entries, OLD.payouts, OLD.held, OLD.total_minor, OLD.prepared_at))) THEN
        RAISE EXCEPTION 'this payout run does not change any more' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'payout_runs_immutable';
    END IF;
    RETURN NEW;
END
$$;
-- Entries and statements can only be added while a run is being prepared. The transaction that
-- marks the run as paid can also add payments.
CREATE FUNCTION refuse_late_claim() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM payout_runs r WHERE r.id IN (SELECT run_id FROM added)
        AND r.state <> 'preparing' AND NOT (r.state = 'approved' AND TG_TABLE_NAME = 'payout_run_entries')) THEN
        RAISE EXCEPTION 'this payout run takes nothing more' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'payout_runs_immutable';
    END IF;
    RETURN NULL;
END
$$;
-- No role can release the entries of a paid run.
CREATE FUNCTION refuse_late_release() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM payout_runs r WHERE r.state = 'paid' AND r.id IN (SELECT run_id FROM gone)) THEN
        RAISE EXCEPTION 'a paid run keeps its entries' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'payout_runs_immutable';
    END IF;
    RETURN NULL;
END
$$;
-- This function releases the entries that a payout run claimed, unless the payout run is paid. The
-- function runs as the owner. The service can only delete claims by calling it.
CREATE FUNCTION release_payout_run(run uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE n bigint;
BEGIN
    PERFORM FROM payout_runs WHERE id = run AND state <> 'paid' FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this payout run does not change any more' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'payout_runs_immutable';
    END IF;
    DELETE FROM payout_run_entries WHERE run_id = run;
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION release_payout_run(uuid) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION release_payout_run(uuid) TO pingpost_app;
CREATE TRIGGER payout_runs_immutable BEFORE UPDATE ON payout_runs FOR EACH ROW EXECUTE FUNCTION refuse_run_change();
CREATE TRIGGER payout_run_entries_in_time AFTER INSERT ON payout_run_entries REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_late_claim();
CREATE TRIGGER payout_run_entries_stay AFTER DELETE ON payout_run_entries REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_late_release();
CREATE TRIGGER payout_run_entries_unchanged BEFORE UPDATE OR TRUNCATE ON payout_run_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statements_in_time AFTER INSERT ON statements REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_late_claim();
CREATE TRIGGER statements_stay BEFORE UPDATE OR DELETE ON statements FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER statements_no_truncate BEFORE TRUNCATE ON statements FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Exports that are too large for a page request.
CREATE TABLE exports (
    id       uuid        CONSTRAINT exports_pkey PRIMARY KEY,
    staff_id uuid        NOT NULL, -- only this user may download it
    filter   jsonb       NOT NULL, -- includes the user's scope
    file_id  uuid        CONSTRAINT exports_file_fkey REFERENCES files ON DELETE SET NULL,
    rows     bigint      NOT NULL DEFAULT 0,
    made_at  timestamptz NOT NULL
);
GRANT SELECT, INSERT, DELETE ON exports TO pingpost_app;
GRANT UPDATE (file_id, rows) ON exports TO pingpost_app;

CREATE TABLE reconciliations (
    id          uuid        CONSTRAINT reconciliations_pkey PRIMARY KEY,
    partner_id  uuid        NOT NULL,
    file_id     uuid        CONSTRAINT reconciliations_file_fkey REFERENCES files ON DELETE SET NULL, -- NULL after the file was deleted
    file_name   text        NOT NULL,
    file_size   bigint      NOT NULL,
    file_sha256 bytea       NOT NULL,
    profile     jsonb       NOT NULL, -- properties of the file's columns, without values
    mapping     jsonb, -- which columns are used, and the formats of their values
    period_from date, -- the first and the last day of the file's coverage
    period_to   date,
    state       text        NOT NULL CONSTRAINT reconciliations_state_known CHECK (state IN ('uploaded', 'comparing', 'compared', 'kept', 'discarded')),
    result      jsonb, -- counts and sums
    as_of       timestamptz, -- the file was compared with the ledger at this time
    maker       text        NOT NULL,
    keeper      text        NOT NULL DEFAULT '',
    made_at     timestamptz NOT NULL,
    compared_at timestamptz,
    kept_at     timestamptz,
    row_version integer     NOT NULL DEFAULT 1,
    CONSTRAINT reconciliations_compared_when CHECK (state NOT IN ('compared', 'kept') OR (mapping IS NOT NULL AND result IS NOT NULL AND as_of IS NOT NULL AND period_from <= period_to)),
    CONSTRAINT reconciliations_kept_when CHECK ((state = 'kept') = (kept_at IS NOT NULL))
);
CREATE INDEX reconciliations_by_partner ON reconciliations (partner_id, id);
CREATE INDEX reconciliations_by_file ON reconciliations (file_sha256);
GRANT SELECT, INSERT ON reconciliations TO pingpost_app;
GRANT UPDATE (file_id, mapping, period_from, period_to, state, result, as_of, keeper, compared_at, kept_at, row_version) ON reconciliations TO pingpost_app;

-- One line for each row of the file, in the same order, and then one line for each lead in the period
-- that is not in the file. Amounts are in minor units, and NULL if they could not be read.
CREATE TABLE reconciliation_lines (
    reconciliation_id uuid    NOT NULL, -- checked by a trigger once per statement; a foreign key would be checked for each row
    line              integer NOT NULL,
    file_row          integer, -- the row number in a spreadsheet; NULL if the lead is not in the file
    finding           text    NOT NULL CONSTRAINT reconciliation_lines_finding_known CHECK (finding IN
                          ('matched', 'amount_differs', 'unknown', 'duplicate', 'missing', 'outside_period', 'unreadable')),
    problem           text    NOT NULL DEFAULT '', -- the reason why a row is unreadable, or 'currency' if the currency differs
    lead_id           uuid,
    account_id        uuid, -- the lead's account
    other_partner     uuid, -- the lead's partner if it is not the file's; hidden from users who may not see it
    first_row         integer, -- for a duplicate: the lead's first row, which counts
    currency          char(3), -- currency of the amount in the file
    theirs_minor      bigint,
    our_currency      char(3),
    ours_minor        bigint, -- the ledger's total for the lead
    received_at       timestamptz, -- when the lead was received
    CONSTRAINT reconciliation_lines_pkey PRIMARY KEY (reconciliation_id, line)
);
CREATE INDEX reconciliation_lines_findings ON reconciliation_lines (reconciliation_id, finding, line) WHERE finding <> 'matched';
CREATE INDEX reconciliation_lines_by_lead ON reconciliation_lines (lead_id) WHERE finding = 'amount_differs';
GRANT SELECT, INSERT ON reconciliation_lines TO pingpost_app;

CREATE TABLE reconciliation_settlements (
    id                bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT reconciliation_settlements_pkey PRIMARY KEY,
    reconciliation_id uuid        NOT NULL,
    line              integer     NOT NULL,
    note              text        NOT NULL CONSTRAINT reconciliation_settlements_note_given CHECK (note <> ''),
    settler           text        NOT NULL,
    at                timestamptz NOT NULL,
    CONSTRAINT reconciliation_settlements_line_fkey FOREIGN KEY (reconciliation_id, line) REFERENCES reconciliation_lines
);
CREATE INDEX reconciliation_settlements_by_line ON reconciliation_settlements (reconciliation_id, line, id);
GRANT SELECT, INSERT ON reconciliation_settlements TO pingpost_app;

-- +goose StatementBegin
CREATE FUNCTION refuse_reconciliation_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state IN ('kept', 'discarded') AND (to_jsonb(NEW) - 'file_id') IS DISTINCT FROM (to_jsonb(OLD) - 'file_id') THEN
        RAISE EXCEPTION 'this reconciliation does not change any more' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'reconciliations_immutable';
    END IF;
    RETURN NEW;
END
$$;
CREATE FUNCTION refuse_late_line() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF EXISTS (SELECT FROM (SELECT DISTINCT reconciliation_id FROM added) a LEFT JOIN reconciliations r ON r.id = a.reconciliation_id
        WHERE r.state IS DISTINCT FROM 'comparing') THEN
        RAISE EXCEPTION 'this reconciliation takes no more lines' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'reconciliations_immutable';
    END IF;
    RETURN NULL;
END
$$;
-- This function deletes the first lines of a reconciliation that was discarded or is compared
-- again. It runs as the owner, like release_payout_run. Lines are numbered without gaps and deleted
-- in order.
CREATE FUNCTION drop_reconciliation_lines(reconciliation uuid, most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE n bigint;
BEGIN
    PERFORM FROM reconciliations WHERE id = reconciliation AND state NOT IN ('compared', 'kept') FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'this reconciliation does not change any more' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'reconciliations_immutable';
    END IF;
    DELETE FROM reconciliation_lines WHERE reconciliation_id = reconciliation
        AND line < most + (SELECT min(line) FROM reconciliation_lines WHERE reconciliation_id = reconciliation);
    GET DIAGNOSTICS n = ROW_COUNT;
    RETURN n;
END
$$;
-- +goose StatementEnd
REVOKE ALL ON FUNCTION drop_reconciliation_lines(uuid, integer) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION drop_reconciliation_lines(uuid, integer) TO pingpost_app;
CREATE TRIGGER reconciliations_immutable BEFORE UPDATE ON reconciliations FOR EACH ROW EXECUTE FUNCTION refuse_reconciliation_change();
CREATE TRIGGER reconciliation_lines_in_time AFTER INSERT ON reconciliation_lines REFERENCING NEW TABLE AS added
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_late_line();
CREATE TRIGGER reconciliation_lines_stay BEFORE UPDATE ON reconciliation_lines FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER reconciliation_settlements_append_only BEFORE UPDATE OR DELETE ON reconciliation_settlements FOR EACH ROW EXECUTE FUNCTION refuse_change();

-- +goose Down
DROP TABLE reconciliation_settlements, reconciliation_lines, reconciliations, exports, statements, payout_run_entries, payout_runs, returns, file_parts, files, work;
DROP FUNCTION release_payout_run(uuid), drop_reconciliation_lines(uuid, integer), refuse_run_change(), refuse_late_claim(), refuse_late_release(), refuse_reconciliation_change(), refuse_late_line();
ALTER FUNCTION refuse_published_rules() RESET search_path;
ALTER TABLE ledger_entries DROP COLUMN made_by, DROP COLUMN note;
-- +goose StatementBegin
DO $$ BEGIN EXECUTE format('REVOKE TEMPORARY ON DATABASE %I FROM pingpost_app', current_database()); END $$;
-- +goose StatementEnd
