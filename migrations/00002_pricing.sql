-- Rate cards with their rules, and partner pricing.

-- +goose Up
CREATE TABLE rate_cards (
    id           uuid        CONSTRAINT rate_cards_pkey PRIMARY KEY,
    version      integer     NOT NULL CONSTRAINT rate_cards_version_key UNIQUE
                             CONSTRAINT rate_cards_version_positive CHECK (version > 0),
    state        text        NOT NULL CONSTRAINT rate_cards_state_known CHECK (state IN ('draft', 'published', 'superseded')),
    author       text        NOT NULL,
    approver     text        NOT NULL DEFAULT '',
    note         text        NOT NULL DEFAULT '',
    effective_at timestamptz,
    created_at   timestamptz NOT NULL,
    CONSTRAINT rate_cards_effective_when_published CHECK (state = 'draft' OR effective_at IS NOT NULL)
);

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

-- A published version is immutable, so that the prices of past leads can always be looked up.
-- FOR SHARE prevents changes to a rule while its card is being published. Otherwise a rule that
-- is committed after the publication could change the current version.
-- +goose StatementBegin
CREATE FUNCTION refuse_published_rules() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE card uuid := CASE WHEN TG_OP = 'DELETE' THEN OLD.rate_card_id ELSE NEW.rate_card_id END;
BEGIN
    IF (SELECT state FROM rate_cards WHERE id = card FOR SHARE) <> 'draft'
        OR (TG_OP = 'UPDATE' AND OLD.rate_card_id <> NEW.rate_card_id) THEN
        RAISE EXCEPTION 'a published rate card does not change' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'pricing_rules_immutable';
    END IF;
    RETURN CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
END
$$;
CREATE FUNCTION refuse_published_card() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'draft' AND (NEW.state = 'draft'
        OR (NEW.version, NEW.author, NEW.approver, NEW.note, NEW.created_at) IS DISTINCT FROM
           (OLD.version, OLD.author, OLD.approver, OLD.note, OLD.created_at)) THEN
        RAISE EXCEPTION 'a published rate card does not change' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'rate_cards_immutable';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER pricing_rules_immutable BEFORE INSERT OR UPDATE OR DELETE ON pricing_rules
    FOR EACH ROW EXECUTE FUNCTION refuse_published_rules();
CREATE TRIGGER rate_cards_immutable BEFORE UPDATE ON rate_cards
    FOR EACH ROW EXECUTE FUNCTION refuse_published_card();
CREATE TRIGGER rate_cards_changed AFTER INSERT OR UPDATE OR DELETE ON rate_cards
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('rate_card');

CREATE TABLE partner_prices (
    partner_id     uuid        CONSTRAINT partner_prices_pkey PRIMARY KEY
                               CONSTRAINT partner_prices_partner_fkey REFERENCES partners,
    adjustment     integer     NOT NULL DEFAULT 0 -- added to the price, in ten-thousandths: 500 is +5 %
                               CONSTRAINT partner_prices_adjustment_range CHECK (adjustment BETWEEN -9000 AND 90000),
    exclusions     jsonb       NOT NULL DEFAULT '[]', -- [{"industry"|"category": …, "country": …}]
    daily_lead_cap integer     CONSTRAINT partner_prices_cap_positive CHECK (daily_lead_cap > 0),
    row_version    integer     NOT NULL DEFAULT 1,
    updated_at     timestamptz NOT NULL
);
CREATE TRIGGER partner_prices_changed AFTER INSERT OR UPDATE OR DELETE ON partner_prices
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('directory');

GRANT SELECT, INSERT, UPDATE ON rate_cards TO pingpost_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON pricing_rules, partner_prices TO pingpost_app;

-- +goose Down
DROP TABLE partner_prices, pricing_rules, rate_cards;
DROP FUNCTION refuse_published_rules(), refuse_published_card();
