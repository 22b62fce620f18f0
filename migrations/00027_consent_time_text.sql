-- oldest program: 26
-- The time of consent is also stored as the partner sent it. A time without a UTC offset is stored only as
-- text, because an assumed offset would be false evidence.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION reject_consent_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF (NEW.lead_id, NEW.partner_id, NEW.acknowledged, NEW.acknowledged_at, NEW.acknowledged_text, NEW.sandbox, NEW.received_at)
            IS DISTINCT FROM (OLD.lead_id, OLD.partner_id, OLD.acknowledged, OLD.acknowledged_at, OLD.acknowledged_text, OLD.sandbox, OLD.received_at)
        OR num_nonnulls(NEW.disclosure_digest, NEW.disclosure_text, NEW.recipient_hash, NEW.form_cert_url, NEW.third_party_lead_id) > 0
        OR NOT EXISTS (SELECT FROM erasures e JOIN erasure_entries n USING (sequence) WHERE e.lead_id = OLD.lead_id AND NOT n.keeps_consent) THEN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- Posts insert consents, so their table is locked last, and only briefly.
ALTER TABLE consents ADD COLUMN acknowledged_text text;
COMMENT ON COLUMN consents.acknowledged_text IS 'The time of consent as the partner sent it, if it was received after this column was added.';

-- +goose Down
ALTER TABLE consents DROP COLUMN acknowledged_text;
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION reject_consent_change() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp AS $$
BEGIN
    IF (NEW.lead_id, NEW.partner_id, NEW.acknowledged, NEW.acknowledged_at, NEW.sandbox, NEW.received_at)
            IS DISTINCT FROM (OLD.lead_id, OLD.partner_id, OLD.acknowledged, OLD.acknowledged_at, OLD.sandbox, OLD.received_at)
        OR num_nonnulls(NEW.disclosure_digest, NEW.disclosure_text, NEW.recipient_hash, NEW.form_cert_url, NEW.third_party_lead_id) > 0
        OR NOT EXISTS (SELECT FROM erasures e JOIN erasure_entries n USING (sequence) WHERE e.lead_id = OLD.lead_id AND NOT n.keeps_consent) THEN
        RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
