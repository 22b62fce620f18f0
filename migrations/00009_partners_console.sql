-- Privileges for the console's partner pages, links to documentation pages for partners, and
-- precalculated figures.

-- +goose Up
GRANT UPDATE (name, legal_name, address, tax_id, contacts, payment_terms, account_manager, notes, signing_mode, shared_address) ON partners TO pingpost_app;
GRANT UPDATE (name, status, signing_mode) ON accounts TO pingpost_app;
ALTER TABLE partners ADD CONSTRAINT partners_contacts_list CHECK (jsonb_typeof(contacts) = 'array') NOT VALID;

ALTER TABLE signing_secrets ADD COLUMN created_by text NOT NULL DEFAULT ''; -- the user's name, as in the audit log

-- This index is used to find identifiers that are easily confused, such as AFF-101 and aff-1O1. The
-- console warns users before they create one.
CREATE INDEX accounts_identifier_likeness ON accounts (translate(lower(identifier), '01i_.', 'oll--'));
CREATE INDEX partners_slug_likeness ON partners (translate(slug, '01i', 'oll'));

-- A link opens a page that explains how to send leads and contains no secret. Revoked links are
-- not deleted, so that a link is never issued twice.
CREATE TABLE partner_links (
    token      text        CONSTRAINT partner_links_pkey PRIMARY KEY,
    partner_id uuid        NOT NULL CONSTRAINT partner_links_partner_fkey REFERENCES partners,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE UNIQUE INDEX partner_links_one ON partner_links (partner_id) WHERE revoked_at IS NULL;
GRANT SELECT, INSERT ON partner_links TO pingpost_app;
GRANT UPDATE (revoked_at) ON partner_links TO pingpost_app;

-- Leads and accruals by UTC day, so that the partner list does not have to add up a month of
-- ledger entries. These figures are only for display.
CREATE TABLE partner_days (
    day          date    NOT NULL,
    partner_id   uuid    NOT NULL,
    currency     char(3) NOT NULL,
    leads        bigint  NOT NULL,
    payout_minor bigint  NOT NULL,
    CONSTRAINT partner_days_pkey PRIMARY KEY (day, partner_id, currency)
);

-- Each partner's figures for the last 30 days. The partner list shows them and can be sorted by
-- them.
CREATE TABLE partner_figures (
    partner_id      uuid   CONSTRAINT partner_figures_pkey PRIMARY KEY CONSTRAINT partner_figures_partner_fkey REFERENCES partners,
    leads           bigint NOT NULL,
    payouts         jsonb  NOT NULL, -- [{"currency": "GBP", "minor": 4560}], by currency
    last_traffic_at timestamptz
);

-- How far the ledger has been added up. Each day is added up again after it has ended.
CREATE TABLE partner_figures_state (
    only_row     boolean     CONSTRAINT partner_figures_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT partner_figures_state_one CHECK (only_row),
    added_until  timestamptz NOT NULL, -- earlier entries are in partner_days
    whole_before date        NOT NULL  -- earlier days have been added up again after they ended
);
GRANT SELECT, INSERT, UPDATE, DELETE ON partner_days, partner_figures TO pingpost_app;
GRANT SELECT, INSERT, UPDATE ON partner_figures_state TO pingpost_app;

-- +goose Down
DROP TABLE partner_figures_state, partner_figures, partner_days, partner_links;
DROP INDEX partners_slug_likeness;
DROP INDEX accounts_identifier_likeness;
ALTER TABLE signing_secrets DROP COLUMN created_by;
ALTER TABLE partners DROP CONSTRAINT partners_contacts_list;
REVOKE UPDATE (name, status, signing_mode) ON accounts FROM pingpost_app;
REVOKE UPDATE (name, legal_name, address, tax_id, contacts, payment_terms, account_manager, notes, signing_mode, shared_address) ON partners FROM pingpost_app;
