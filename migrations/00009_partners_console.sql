-- What account managers change, the links to partners' own documentation, and
-- figures that are added up once instead of for each page.

-- +goose Up
GRANT UPDATE (name, legal_name, address, tax_id, contacts, payment_terms, account_manager, notes, signing_mode, shared_address) ON partners TO pingpost_app;
GRANT UPDATE (name, status, signing_mode) ON accounts TO pingpost_app;
ALTER TABLE partners ADD CONSTRAINT partners_contacts_list CHECK (jsonb_typeof(contacts) = 'array') NOT VALID;

ALTER TABLE signing_secrets ADD COLUMN created_by text NOT NULL DEFAULT ''; -- a name as the audit trail has it

-- Identifiers that a person would take for each other: AFF-101 and aff-1O1. Whoever
-- makes a new one is told; those that are there stay.
CREATE INDEX accounts_identifier_likeness ON accounts (translate(lower(identifier), '01i_.', 'oll--'));
CREATE INDEX partners_slug_likeness ON partners (translate(slug, '01i', 'oll'));

-- The page behind a link says how to send leads, and holds no secret. A link that
-- was revoked stays, so that it is never given again.
CREATE TABLE partner_links (
    token      text        CONSTRAINT partner_links_pkey PRIMARY KEY,
    partner_id uuid        NOT NULL CONSTRAINT partner_links_partner_fkey REFERENCES partners,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE UNIQUE INDEX partner_links_one ON partner_links (partner_id) WHERE revoked_at IS NULL;
GRANT SELECT, INSERT ON partner_links TO pingpost_app;
GRANT UPDATE (revoked_at) ON partner_links TO pingpost_app;

-- Leads and what they accrued, by the UTC day, so that a list of partners need not
-- add up a month of the ledger. The ledger stays the truth; these are for looking at.
CREATE TABLE partner_days (
    day          date    NOT NULL,
    partner_id   uuid    NOT NULL,
    currency     char(3) NOT NULL,
    leads        bigint  NOT NULL,
    payout_minor bigint  NOT NULL,
    CONSTRAINT partner_days_pkey PRIMARY KEY (day, partner_id, currency)
);

-- The last 30 days of each partner, as the list shows and sorts them.
CREATE TABLE partner_figures (
    partner_id      uuid   CONSTRAINT partner_figures_pkey PRIMARY KEY CONSTRAINT partner_figures_partner_fkey REFERENCES partners,
    leads           bigint NOT NULL,
    payouts         jsonb  NOT NULL, -- [{"currency": "GBP", "minor": 4560}], by currency
    last_traffic_at timestamptz
);

-- How far the ledger has been added up, and by the whole day once it is over.
CREATE TABLE partner_figures_state (
    only_row     boolean     CONSTRAINT partner_figures_state_pkey PRIMARY KEY DEFAULT true CONSTRAINT partner_figures_state_one CHECK (only_row),
    added_until  timestamptz NOT NULL, -- entries before it are in partner_days
    whole_before date        NOT NULL  -- days before it were added up once more, when they were over
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
