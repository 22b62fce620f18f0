-- The service may update fewer columns. For example, it can no longer change the price or the
-- partner of a lead, or the partner of a secret.

-- +goose Up

-- Deleting a lead looks up all ledger entries that refer to it.
CREATE INDEX ledger_entries_by_lead ON ledger_entries (lead_id);

REVOKE UPDATE ON partners, accounts, signing_secrets, leads FROM pingpost_app;
GRANT UPDATE (status, updated_at, row_version) ON partners TO pingpost_app;
GRANT UPDATE (is_default, updated_at, row_version) ON accounts TO pingpost_app;
GRANT UPDATE (state, revoked_at, retires_at, sealed, digest) ON signing_secrets TO pingpost_app;
GRANT UPDATE (body_digest, answered_key, wrapped_key, key_wrapper, key_version, email_digest, phone_digest) ON leads TO pingpost_app;

-- This function rejects every row. Triggers call it if their WHEN condition is true, and pass the
-- constraint's name and the message as arguments.
-- +goose StatementBegin
CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%', TG_ARGV[1] USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = TG_ARGV[0];
END
$$;
-- +goose StatementEnd
CREATE TRIGGER signing_secrets_stay_revoked BEFORE UPDATE ON signing_secrets
    FOR EACH ROW WHEN (OLD.state = 'revoked' AND NEW.state <> 'revoked')
    EXECUTE FUNCTION refuse_row('signing_secrets_stay_revoked', 'a revoked secret stays revoked');
CREATE TRIGGER rate_cards_stay_in_force BEFORE UPDATE ON rate_cards
    FOR EACH ROW WHEN (OLD.state <> 'draft' AND NEW.effective_at IS DISTINCT FROM OLD.effective_at)
    EXECUTE FUNCTION refuse_row('rate_cards_immutable', 'a published rate card does not change');

-- NOT VALID, because an existing value that is not a list must not block the migration. Such a
-- value only affects the prices of its partner, and every node logs it.
ALTER TABLE partner_prices ADD CONSTRAINT partner_prices_exclusions_list
    CHECK (jsonb_typeof(exclusions) = 'array') NOT VALID;

-- A partition that ended less than a day ago by the database's clock is not dropped, because the
-- caller's clock may be wrong.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION drop_ping_partitions(before date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE name text; dropped integer := 0;
BEGIN
    IF before > (now() AT TIME ZONE 'UTC')::date - 1 THEN
        RAISE EXCEPTION 'pings of the last day are not dropped' USING ERRCODE = 'invalid_parameter_value',
            CONSTRAINT = 'pings_younger_than_a_day', HINT = 'compare the clocks of the node and of the database';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('pings partitions'));
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'public.pings'::regclass AND c.relname < 'pings_' || to_char(before, 'YYYYMMDD')
    LOOP
        EXECUTE format('DROP TABLE public.%I', name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION drop_ping_partitions(before date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE name text; dropped integer := 0;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('pings partitions'));
    FOR name IN
        SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent = 'public.pings'::regclass AND c.relname < 'pings_' || to_char(before, 'YYYYMMDD')
    LOOP
        EXECUTE format('DROP TABLE public.%I', name);
        dropped := dropped + 1;
    END LOOP;
    RETURN dropped;
END
$$;
-- +goose StatementEnd
ALTER TABLE partner_prices DROP CONSTRAINT partner_prices_exclusions_list;
DROP TRIGGER rate_cards_stay_in_force ON rate_cards;
DROP TRIGGER signing_secrets_stay_revoked ON signing_secrets;
DROP FUNCTION refuse_row();
REVOKE UPDATE (status, updated_at, row_version) ON partners FROM pingpost_app;
REVOKE UPDATE (is_default, updated_at, row_version) ON accounts FROM pingpost_app;
REVOKE UPDATE (state, revoked_at, retires_at, sealed, digest) ON signing_secrets FROM pingpost_app;
REVOKE UPDATE (body_digest, answered_key, wrapped_key, key_wrapper, key_version, email_digest, phone_digest) ON leads FROM pingpost_app;
GRANT UPDATE ON partners, accounts, signing_secrets, leads TO pingpost_app;
DROP INDEX ledger_entries_by_lead;
