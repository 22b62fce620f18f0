-- oldest program: 26
-- A partner's own reference and subId of a lead (decision 63). Programs without them store empty texts.

-- +goose Up
ALTER TABLE leads
    ADD COLUMN partner_reference text NOT NULL DEFAULT '',
    ADD COLUMN sub_id            text NOT NULL DEFAULT '',
    -- Partners may put personal data into them (see 00020_statistics.sql).
    ALTER COLUMN partner_reference SET STATISTICS 0,
    ALTER COLUMN sub_id SET STATISTICS 0;
COMMENT ON COLUMN leads.partner_reference IS 'The partner''s own ID of the lead, or an empty text.';
COMMENT ON COLUMN leads.sub_id IS 'The partner''s name for the source of the lead, or an empty text.';

-- `pingpost migrate up` builds the indexes of existing partitions afterwards, without blocking posts.
CREATE INDEX leads_by_partner_reference ON ONLY leads (partner_id, partner_reference, received_at, id) WHERE partner_reference <> '';
-- The included columns are for totals by subId.
CREATE INDEX leads_by_sub_id ON ONLY leads (partner_id, sub_id, received_at, id) INCLUDE (sandbox, currency, price_minor) WHERE sub_id <> '';

-- +goose StatementBegin
CREATE FUNCTION erase_partner_reference() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    NEW.partner_reference := '';
    NEW.sub_id := '';
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER leads_erase_partner_reference BEFORE UPDATE ON leads FOR EACH ROW
    WHEN (NEW.state = 'erased') EXECUTE FUNCTION erase_partner_reference();

-- +goose Down
DROP TRIGGER leads_erase_partner_reference ON leads;
DROP FUNCTION erase_partner_reference();
DROP INDEX leads_by_sub_id, leads_by_partner_reference;
ALTER TABLE leads DROP COLUMN partner_reference, DROP COLUMN sub_id;
