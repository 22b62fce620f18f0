-- Changes to partner pricing that are waiting for approval by a second user.

-- +goose Up
CREATE TABLE partner_price_proposals (
    partner_id     uuid        CONSTRAINT partner_price_proposals_pkey PRIMARY KEY
                               CONSTRAINT partner_price_proposals_partner_fkey REFERENCES partners,
    id             uuid        NOT NULL CONSTRAINT partner_price_proposals_id_key UNIQUE, -- identifies the proposal
    adjustment     integer     NOT NULL CONSTRAINT partner_price_proposals_adjustment_range CHECK (adjustment BETWEEN -9000 AND 90000),
    exclusions     jsonb       NOT NULL,
    daily_lead_cap integer     CONSTRAINT partner_price_proposals_cap_positive CHECK (daily_lead_cap > 0),
    based_on       integer     NOT NULL, -- row_version of the partner_prices row; 0 if there was none
    proposer       text        NOT NULL,
    proposer_id    uuid        NOT NULL CONSTRAINT partner_price_proposals_proposer_fkey REFERENCES staff,
    proposed_at    timestamptz NOT NULL
);
GRANT SELECT, INSERT, DELETE ON partner_price_proposals TO pingpost_app;

-- +goose Down
DROP TABLE partner_price_proposals;
