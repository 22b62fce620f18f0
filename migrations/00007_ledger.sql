-- The ledger, and totals that are added up from it.

-- +goose Up
-- Each partition contains a UTC month. lead_id has no foreign key, because a reference to a partitioned
-- table would be checked for each post. The accrual needs no unique index, because the statement that
-- stores it also stores its lead, whose primary key allows only one.
CREATE TABLE ledger_entries (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    partner_id   uuid        NOT NULL,
    account_id   uuid        NOT NULL,
    lead_id      uuid,
    kind         text        NOT NULL CONSTRAINT ledger_entries_kind_known CHECK (kind IN ('accrual', 'return', 'adjustment', 'payment')),
    reference    text        NOT NULL CONSTRAINT ledger_entries_reference_given CHECK (reference <> ''),
    amount_minor bigint      NOT NULL,
    currency     char(3)     NOT NULL CONSTRAINT ledger_entries_currency_known CHECK (currency IN ('GBP', 'EUR', 'USD', 'CAD', 'AUD')),
    occurred_at  timestamptz NOT NULL,
    created_by   text        NOT NULL DEFAULT '', -- '' for the service
    CONSTRAINT ledger_entries_pkey PRIMARY KEY (id, occurred_at),
    CONSTRAINT ledger_entries_sign CHECK (CASE kind
        WHEN 'accrual' THEN amount_minor > 0 AND lead_id IS NOT NULL
        WHEN 'return' THEN amount_minor < 0 AND lead_id IS NOT NULL
        WHEN 'payment' THEN amount_minor < 0
        ELSE amount_minor <> 0 END)
) PARTITION BY RANGE (occurred_at);
COMMENT ON TABLE ledger_entries IS 'The ledger: accruals, returns, adjustments and payments. Entries are never changed. There is one partition for each month.';
CREATE INDEX ledger_entries_by_lead ON ledger_entries (lead_id);
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, id);
-- Entries other than accruals, which are a small part of the ledger.
CREATE INDEX ledger_entries_others ON ledger_entries (id) WHERE kind <> 'accrual';
-- Entries are stored in chronological order, so a query for a day only reads that day's pages.
-- Pages are summarised as soon as they are full. Until then, every query has to read them.
CREATE INDEX ledger_entries_by_time ON ledger_entries USING brin (occurred_at) WITH (autosummarize = on);

-- A unique index on ledger_entries would have to contain occurred_at, so references are unique here.
-- Queries also use this table to find an entry's partition by the entry's reference or lead.
CREATE TABLE ledger_references (
    partner_id  uuid        NOT NULL,
    kind        text        NOT NULL CONSTRAINT ledger_references_kind_known CHECK (kind IN ('return', 'adjustment', 'payment')),
    reference   text        NOT NULL,
    lead_id     uuid,
    entry_id    bigint      NOT NULL,
    occurred_at timestamptz NOT NULL,
    CONSTRAINT ledger_references_pkey PRIMARY KEY (partner_id, kind, reference)
);
COMMENT ON TABLE ledger_references IS 'The references of all ledger entries except accruals. Rows are never changed.';
CREATE INDEX ledger_references_by_lead ON ledger_references (lead_id) WHERE lead_id IS NOT NULL;

-- add_ledger_reference runs as the owner, so that the service needs no privilege to write references.
-- +goose StatementBegin
CREATE FUNCTION add_ledger_reference() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    INSERT INTO ledger_references (partner_id, kind, reference, lead_id, entry_id, occurred_at)
    VALUES (NEW.partner_id, NEW.kind, NEW.reference, NEW.lead_id, NEW.id, NEW.occurred_at);
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER ledger_entries_reference AFTER INSERT ON ledger_entries FOR EACH ROW WHEN (NEW.kind <> 'accrual')
    EXECUTE FUNCTION add_ledger_reference();
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION reject_change();
CREATE TRIGGER ledger_references_append_only BEFORE UPDATE OR DELETE ON ledger_references FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER ledger_references_no_truncate BEFORE TRUNCATE ON ledger_references FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

-- Notes can contain text about a person, which may have to be erased. Notes are therefore not in the
-- ledger, and the owner can change them.
CREATE TABLE ledger_notes (
    entry_id    bigint      CONSTRAINT ledger_notes_pkey PRIMARY KEY,
    occurred_at timestamptz NOT NULL, -- of the entry
    note        text        NOT NULL CONSTRAINT ledger_notes_note_given CHECK (note <> ''),
    redacted_at timestamptz,
    redacted_by text        NOT NULL DEFAULT ''
);
CREATE INDEX ledger_notes_by_time ON ledger_notes (occurred_at);
COMMENT ON COLUMN ledger_notes.redacted_at IS 'When the original text was replaced.';
COMMENT ON TABLE ledger_notes IS 'Notes on ledger entries: the reason for a return or an adjustment, or the bank''s reference for a payment.';

-- redact_ledger_note runs as the owner, so that the service needs no privilege to change notes. The decision about
-- a return contains the same text as the note, and exports for consumers contain the decision. The reason's code
-- before the text stays.
-- +goose StatementBegin
CREATE FUNCTION redact_ledger_note(entry bigint, at timestamptz, actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    redacted record;
BEGIN
    UPDATE ledger_notes n SET redacted_at = at, redacted_by = actor,
            note = CASE e.kind WHEN 'return' THEN split_part(n.note, ': ', 1) || ': ' ELSE '' END || '[redacted]'
        FROM ledger_entries e
        WHERE n.entry_id = entry AND e.id = n.entry_id AND e.occurred_at = n.occurred_at AND e.kind IN ('return', 'adjustment') AND n.redacted_at IS NULL
        RETURNING e.kind, e.lead_id INTO redacted;
    IF NOT FOUND OR at IS NULL OR actor = '' THEN
        RAISE EXCEPTION 'no such note' USING ERRCODE = 'invalid_parameter_value', CONSTRAINT = 'ledger_notes_entry';
    END IF;
    IF redacted.kind = 'return' THEN
        UPDATE returns SET decision_note = '[redacted]', redactions = redactions + 1
            WHERE lead_id = redacted.lead_id AND state = 'accepted' AND decision_note <> '';
    END IF;
END
$$;
-- +goose StatementEnd

-- Totals of the entries up to ledger_totals_state.added_to.
CREATE TABLE ledger_totals (
    account_id     uuid    NOT NULL,
    currency       char(3) NOT NULL,
    month          date    NOT NULL, -- the first day of a UTC month
    entries        bigint  NOT NULL,
    accrued_minor  bigint  NOT NULL, -- signed, as in the ledger
    returned_minor bigint  NOT NULL,
    adjusted_minor bigint  NOT NULL,
    paid_minor     bigint  NOT NULL,
    CONSTRAINT ledger_totals_pkey PRIMARY KEY (account_id, currency, month)
);
COMMENT ON TABLE ledger_totals IS 'Totals by account, currency and month, calculated from the ledger.';
CREATE INDEX ledger_totals_by_month ON ledger_totals (month);
CREATE TABLE ledger_totals_state (
    only_row    boolean     CONSTRAINT ledger_totals_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT ledger_totals_state_one CHECK (only_row),
    added_to    bigint      NOT NULL, -- ledger_entries.id
    checked_at  timestamptz, -- when the totals were last compared with the ledger
    differences bigint      NOT NULL DEFAULT 0 -- the number of totals that differed
);
COMMENT ON TABLE ledger_totals_state IS 'The last ledger entry that ledger_totals includes. The table has one row.';
INSERT INTO ledger_totals_state (added_to) VALUES (0);

-- Delivered leads by partner and UTC day, for the partners' daily caps (decision 29).
CREATE TABLE daily_lead_counts (
    day        date   NOT NULL,
    partner_id uuid   NOT NULL,
    leads      bigint NOT NULL,
    CONSTRAINT daily_lead_counts_pkey PRIMARY KEY (day, partner_id)
);
COMMENT ON TABLE daily_lead_counts IS 'The number of leads by UTC day and partner, for daily caps.';
-- How far the ledger has been counted. When settling_to was set, entries up to it may not have been
-- committed yet. Their transactions are in writers, as virtual transaction ids from pg_locks.
CREATE TABLE daily_lead_counts_state (
    only_row    boolean CONSTRAINT daily_lead_counts_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT daily_lead_counts_state_one CHECK (only_row),
    counted_to  bigint  NOT NULL, -- ledger_entries.id
    settling_to bigint  NOT NULL,
    writers     text[]  NOT NULL
);
COMMENT ON TABLE daily_lead_counts_state IS 'The last ledger entry that daily_lead_counts includes. The table has one row.';
INSERT INTO daily_lead_counts_state (counted_to, settling_to, writers) VALUES (0, 0, '{}');

-- Leads and accruals by UTC day, so that the partner list does not have to add up a month of ledger
-- entries. These totals are only for display.
CREATE TABLE partner_days (
    day          date    NOT NULL,
    partner_id   uuid    NOT NULL,
    currency     char(3) NOT NULL,
    leads        bigint  NOT NULL,
    payout_minor bigint  NOT NULL,
    CONSTRAINT partner_days_pkey PRIMARY KEY (day, partner_id, currency)
);
COMMENT ON TABLE partner_days IS 'Leads and payouts by day and partner, calculated from the ledger.';
-- The partner list shows these totals and can be sorted by them.
CREATE TABLE partner_figures (
    partner_id      uuid   CONSTRAINT partner_figures_pkey PRIMARY KEY CONSTRAINT partner_figures_partner_fkey REFERENCES partners,
    leads           bigint NOT NULL,
    payouts         jsonb  NOT NULL, -- [{"currency": "GBP", "minor": 4560}], by currency
    last_traffic_at timestamptz,
    posts           bigint NOT NULL DEFAULT 0, -- in the last 24 hours
    rejected_posts  bigint NOT NULL DEFAULT 0, -- in the last 24 hours
    rejected_before bigint NOT NULL DEFAULT 0  -- in the 7 days before these 24 hours
);
COMMENT ON TABLE partner_figures IS 'Each partner''s totals of the last 30 days, as shown in the list of partners.';
-- Each day is added up again after it has ended.
CREATE TABLE partner_figures_state (
    only_row     boolean     CONSTRAINT partner_figures_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT partner_figures_state_one CHECK (only_row),
    added_until  timestamptz NOT NULL, -- earlier entries are in partner_days
    whole_before date        NOT NULL  -- earlier days have been added up again after they ended
);
COMMENT ON TABLE partner_figures_state IS 'The times up to which partner_days is complete. The table has one row.';
