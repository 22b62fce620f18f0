-- The ledger, and totals that are added up from it.

-- +goose Up
CREATE TABLE ledger_entries (
    id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT ledger_entries_pkey PRIMARY KEY,
    partner_id   uuid        NOT NULL,
    account_id   uuid        NOT NULL,
    lead_id      uuid,
    kind         text        NOT NULL CONSTRAINT ledger_entries_kind_known CHECK (kind IN ('accrual', 'return', 'adjustment', 'payment')),
    reference    text        NOT NULL CONSTRAINT ledger_entries_reference_given CHECK (reference <> ''),
    amount_minor bigint      NOT NULL,
    currency     char(3)     NOT NULL CONSTRAINT ledger_entries_currency_known CHECK (currency IN ('GBP', 'EUR', 'USD', 'CAD', 'AUD')),
    occurred_at  timestamptz NOT NULL,
    note         text        NOT NULL DEFAULT '', -- the reason for an adjustment, or the bank's reference for a payment
    created_by   text        NOT NULL DEFAULT '', -- '' for the service
    CONSTRAINT ledger_entries_sign CHECK (CASE kind
        WHEN 'accrual' THEN amount_minor > 0 AND lead_id IS NOT NULL
        WHEN 'return' THEN amount_minor < 0 AND lead_id IS NOT NULL
        WHEN 'payment' THEN amount_minor < 0
        ELSE amount_minor <> 0 END)
);
COMMENT ON TABLE ledger_entries IS 'The ledger: accruals, returns, adjustments and payments. Never changed.';
-- The reference of an accrual is its lead, which is unique in any case. So only the references of
-- other entries need this index.
CREATE UNIQUE INDEX ledger_entries_reference_key ON ledger_entries (partner_id, kind, reference) WHERE kind <> 'accrual';
-- Allows one accrual for each lead, and finds all entries of a lead. No entry has the id 0.
CREATE UNIQUE INDEX ledger_entries_by_lead_once ON ledger_entries (lead_id, (CASE WHEN kind = 'accrual' THEN 0 ELSE id END));
CREATE INDEX ledger_entries_by_account ON ledger_entries (account_id, id);
-- Entries other than accruals, which are a small part of the ledger.
CREATE INDEX ledger_entries_others ON ledger_entries (id) WHERE kind <> 'accrual';
CREATE INDEX ledger_entries_of_lead ON ledger_entries (lead_id) WHERE kind <> 'accrual' AND lead_id IS NOT NULL;
-- Entries are stored in chronological order, so a query for a month only reads that month's pages.
-- Pages are summarised as soon as they are full. Until then, every query has to read them.
CREATE INDEX ledger_entries_by_time ON ledger_entries USING brin (occurred_at) WITH (autosummarize = on);
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE ON ledger_entries FOR EACH ROW EXECUTE FUNCTION reject_change();
CREATE TRIGGER ledger_entries_no_truncate BEFORE TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION reject_change();

-- Delivered leads by partner and UTC day, for the partners' daily caps (decision 29).
CREATE TABLE daily_lead_counts (
    day        date   NOT NULL,
    partner_id uuid   NOT NULL,
    leads      bigint NOT NULL,
    CONSTRAINT daily_lead_counts_pkey PRIMARY KEY (day, partner_id)
);
COMMENT ON TABLE daily_lead_counts IS 'Leads by UTC day and partner, for daily caps.';
-- How far the ledger has been counted. When settling_to was set, entries up to it may not have been
-- committed yet. Their transactions are in writers, as virtual transaction ids from pg_locks.
CREATE TABLE daily_lead_counts_state (
    only_row    boolean CONSTRAINT daily_lead_counts_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT daily_lead_counts_state_one CHECK (only_row),
    counted_to  bigint  NOT NULL, -- ledger_entries.id
    settling_to bigint  NOT NULL,
    writers     text[]  NOT NULL
);
COMMENT ON TABLE daily_lead_counts_state IS 'The last ledger entry that daily_lead_counts includes. One row.';
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
COMMENT ON TABLE partner_days IS 'Totals by day and partner, calculated from the ledger.';
-- The partner list shows these totals and can be sorted by them.
CREATE TABLE partner_figures (
    partner_id      uuid   CONSTRAINT partner_figures_pkey PRIMARY KEY CONSTRAINT partner_figures_partner_fkey REFERENCES partners,
    leads           bigint NOT NULL,
    payouts         jsonb  NOT NULL, -- [{"currency": "GBP", "minor": 4560}], by currency
    last_traffic_at timestamptz
);
COMMENT ON TABLE partner_figures IS 'Totals for the last 30 days, for the list of partners.';
-- Each day is added up again after it has ended.
CREATE TABLE partner_figures_state (
    only_row     boolean     CONSTRAINT partner_figures_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT partner_figures_state_one CHECK (only_row),
    added_until  timestamptz NOT NULL, -- earlier entries are in partner_days
    whole_before date        NOT NULL  -- earlier days have been added up again after they ended
);
COMMENT ON TABLE partner_figures_state IS 'The times up to which partner_days is complete. One row.';

-- +goose Down
DROP TABLE partner_figures_state, partner_figures, partner_days, daily_lead_counts_state, daily_lead_counts, ledger_entries;
