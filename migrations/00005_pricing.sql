-- Rate cards with their rules, edits and replays, and partner pricing.

-- +goose Up
-- A card gets its version number when it is published, because drafts can be published in any order.
CREATE TABLE rate_cards (
    id           uuid        CONSTRAINT rate_cards_pkey PRIMARY KEY,
    version      integer     CONSTRAINT rate_cards_version_key UNIQUE
                             CONSTRAINT rate_cards_version_positive CHECK (version > 0),
    state        text        NOT NULL CONSTRAINT rate_cards_state_known
                             CHECK (state IN ('draft', 'submitted', 'scheduled', 'published', 'superseded', 'discarded')),
    title        text        NOT NULL DEFAULT '', -- the author's title for the draft
    author       text        NOT NULL,
    submitter    text        NOT NULL DEFAULT '',
    approver     text        NOT NULL DEFAULT '',
    note         text        NOT NULL DEFAULT '',
    based_on     integer,    -- the current version when the draft was created or last updated from it
    effective_at timestamptz,
    row_version  integer     NOT NULL DEFAULT 1,
    created_at   timestamptz NOT NULL,
    updated_by   text        NOT NULL DEFAULT '',
    updated_at   timestamptz NOT NULL,
    submitter_id uuid        CONSTRAINT rate_cards_submitter_fkey REFERENCES staff,
    copied_from  integer,    -- NULL if the draft started with the rules of the current version
    CONSTRAINT rate_cards_effective_when_published CHECK (state NOT IN ('scheduled', 'published', 'superseded') OR effective_at IS NOT NULL),
    CONSTRAINT rate_cards_version_when_published CHECK ((version IS NOT NULL) = (state IN ('published', 'superseded')))
);
COMMENT ON TABLE rate_cards IS 'Rate cards: drafts and published versions.';
COMMENT ON COLUMN rate_cards.submitter_id IS 'Null on the command line.';
COMMENT ON COLUMN rate_cards.copied_from IS 'The earlier version whose rules the draft started with.';
-- At most one card is scheduled. No other card can be published before the scheduled one, so that
-- the prices that take effect are those that were approved.
CREATE UNIQUE INDEX rate_cards_one_scheduled ON rate_cards (state) WHERE state = 'scheduled';
CREATE INDEX rate_cards_open ON rate_cards (updated_at) WHERE state IN ('draft', 'submitted', 'scheduled');

CREATE TABLE pricing_rules (
    id           bigint  GENERATED ALWAYS AS IDENTITY CONSTRAINT pricing_rules_pkey PRIMARY KEY,
    rate_card_id uuid    NOT NULL CONSTRAINT pricing_rules_rate_card_fkey REFERENCES rate_cards,
    position     integer NOT NULL,
    industry     text,
    category     text,
    country      text, -- a market in markets.yaml: a country code or "other"
    urgency      text,
    base         jsonb, -- {"GBP": 4560}: minor units by currency code
    floor        jsonb,
    ceiling      jsonb,
    multiplier   bigint  CONSTRAINT pricing_rules_multiplier_positive CHECK (multiplier > 0), -- in ten-thousandths
    exclude      boolean,
    note         text    NOT NULL DEFAULT '',
    CONSTRAINT pricing_rules_position_key UNIQUE (rate_card_id, position),
    CONSTRAINT pricing_rules_one_selector CHECK (industry IS NULL OR category IS NULL)
);
COMMENT ON TABLE pricing_rules IS 'Rate card rules.';

-- Rules can be changed only while their card is a draft, so that the card that is approved is the
-- card that was submitted, and the prices of past leads can always be looked up. FOR SHARE prevents
-- changes to a rule while its card is being published. Otherwise, a rule that is committed after the
-- publication could change the current version.
-- +goose StatementBegin
CREATE FUNCTION reject_published_rules() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE card uuid := CASE WHEN TG_OP = 'DELETE' THEN OLD.rate_card_id ELSE NEW.rate_card_id END;
BEGIN
    IF (SELECT state FROM rate_cards WHERE id = card FOR SHARE) <> 'draft'
        OR (TG_OP = 'UPDATE' AND OLD.rate_card_id <> NEW.rate_card_id) THEN
        RAISE EXCEPTION 'a published rate card does not change' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'pricing_rules_immutable';
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;
CREATE FUNCTION reject_published_card() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state IN ('published', 'superseded') AND (NEW.state NOT IN ('published', 'superseded')
        OR (NEW.version, NEW.title, NEW.author, NEW.submitter, NEW.approver, NEW.note, NEW.based_on, NEW.created_at, NEW.effective_at) IS DISTINCT FROM
           (OLD.version, OLD.title, OLD.author, OLD.submitter, OLD.approver, OLD.note, OLD.based_on, OLD.created_at, OLD.effective_at)) THEN
        RAISE EXCEPTION 'a published rate card does not change' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'rate_cards_immutable';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER pricing_rules_immutable BEFORE INSERT OR UPDATE OR DELETE ON pricing_rules
    FOR EACH ROW EXECUTE FUNCTION reject_published_rules();
CREATE TRIGGER rate_cards_immutable BEFORE UPDATE ON rate_cards
    FOR EACH ROW EXECUTE FUNCTION reject_published_card();

-- Nodes reload the prices when the current version changes, but not after every edit.
CREATE TRIGGER rate_cards_made AFTER INSERT ON rate_cards
    FOR EACH ROW WHEN (NEW.state = 'published') EXECUTE FUNCTION bump_snapshot('rate_card');
CREATE TRIGGER rate_cards_changed AFTER UPDATE ON rate_cards
    FOR EACH ROW WHEN (NEW.state <> OLD.state AND 'published' IN (NEW.state, OLD.state)) EXECUTE FUNCTION bump_snapshot('rate_card');
CREATE TRIGGER rate_cards_gone AFTER DELETE ON rate_cards
    FOR EACH ROW WHEN (OLD.state = 'published') EXECUTE FUNCTION bump_snapshot('rate_card');

CREATE TABLE rate_card_edits (
    id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT rate_card_edits_pkey PRIMARY KEY,
    rate_card_id uuid        NOT NULL CONSTRAINT rate_card_edits_rate_card_fkey REFERENCES rate_cards,
    at           timestamptz NOT NULL,
    editor       text        NOT NULL,
    summary      text        NOT NULL,
    rules        integer     NOT NULL, -- number of changed rules
    patch        jsonb       NOT NULL, -- {"rules": [{"at": position, "was": rule, "is": rule}], "based_on": the value before}
    undone_at    timestamptz,
    undone_by    text        NOT NULL DEFAULT ''
);
COMMENT ON TABLE rate_card_edits IS 'Edits to drafts, stored so that they can be undone.';
CREATE INDEX rate_card_edits_by_card ON rate_card_edits (rate_card_id, id);

-- A replay prices recorded pings and posts with a draft. The node that runs a replay updates its row
-- every few seconds. If the updates stop, another node takes over.
CREATE TABLE rate_card_replays (
    id           uuid        CONSTRAINT rate_card_replays_pkey PRIMARY KEY,
    rate_card_id uuid        NOT NULL CONSTRAINT rate_card_replays_rate_card_fkey REFERENCES rate_cards,
    row_version  integer     NOT NULL, -- row version of the draft; a later edit makes the result outdated
    requester    text        NOT NULL,
    requested_at timestamptz NOT NULL,
    first_day    date        NOT NULL,
    days         integer     NOT NULL CONSTRAINT rate_card_replays_days_range CHECK (days BETWEEN 1 AND 90),
    days_done    integer     NOT NULL DEFAULT 0,
    state        text        NOT NULL DEFAULT 'waiting' CONSTRAINT rate_card_replays_state_known CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    seen_at      timestamptz,
    ended_at     timestamptz,
    result       jsonb
);
COMMENT ON TABLE rate_card_replays IS 'The latest replay of each draft, with its result.';
CREATE INDEX rate_card_replays_by_card ON rate_card_replays (rate_card_id, requested_at);
CREATE INDEX rate_card_replays_open ON rate_card_replays (requested_at) WHERE state IN ('waiting', 'running');

CREATE TABLE partner_prices (
    partner_id     uuid        CONSTRAINT partner_prices_pkey PRIMARY KEY
                               CONSTRAINT partner_prices_partner_fkey REFERENCES partners,
    adjustment     integer     NOT NULL DEFAULT 0 -- added to the price, in ten-thousandths: 500 is +5 %
                               CONSTRAINT partner_prices_adjustment_range CHECK (adjustment BETWEEN -9000 AND 90000),
    exclusions     jsonb       NOT NULL DEFAULT '[]' -- [{"industry"|"category": …, "country": …}]
                               CONSTRAINT partner_prices_exclusions_list CHECK (jsonb_typeof(exclusions) = 'array'),
    daily_lead_cap integer     CONSTRAINT partner_prices_cap_positive CHECK (daily_lead_cap > 0),
    -- When the partner last got pricing after it had none. A quote that is not tied to a partner and was
    -- issued before that time stays valid for its 15 minutes.
    agreed_at      timestamptz NOT NULL DEFAULT now(),
    row_version    integer     NOT NULL DEFAULT 1,
    updated_at     timestamptz NOT NULL
);
COMMENT ON TABLE partner_prices IS 'Partner pricing: adjustment, daily cap and exclusions.';
CREATE TRIGGER partner_prices_changed AFTER INSERT OR UPDATE OR DELETE ON partner_prices
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('directory');

CREATE TABLE partner_price_proposals (
    partner_id     uuid        CONSTRAINT partner_price_proposals_pkey PRIMARY KEY
                               CONSTRAINT partner_price_proposals_partner_fkey REFERENCES partners,
    id             uuid        NOT NULL CONSTRAINT partner_price_proposals_id_key UNIQUE, -- a new proposal for the partner has another id
    adjustment     integer     NOT NULL CONSTRAINT partner_price_proposals_adjustment_range CHECK (adjustment BETWEEN -9000 AND 90000),
    exclusions     jsonb       NOT NULL,
    daily_lead_cap integer     CONSTRAINT partner_price_proposals_cap_positive CHECK (daily_lead_cap > 0),
    based_on       integer     NOT NULL, -- row_version of the partner_prices row; 0 if there was none
    proposer       text        NOT NULL,
    proposer_id    uuid        NOT NULL CONSTRAINT partner_price_proposals_proposer_fkey REFERENCES staff,
    proposed_at    timestamptz NOT NULL
);
COMMENT ON TABLE partner_price_proposals IS 'Changes to partner pricing that are waiting for approval by a second user.';
