-- oldest program: 21
-- The deletion of sandbox leads locks leads first, in the order of their ids, like an erasure. Both use the
-- tables in the same order, so that no deadlock is possible.

-- +goose Up
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION delete_sandbox_leads(before timestamptz, at_most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE
    gone uuid[];
    n bigint;
BEGIN
    gone := ARRAY(SELECT lead_id FROM consents WHERE sandbox AND received_at < before AND lead_id < first_id(before + interval '5 seconds')
        LIMIT at_most);
    PERFORM FROM leads WHERE id = ANY (gone) ORDER BY id FOR NO KEY UPDATE;
    DELETE FROM leads WHERE id = ANY (gone);
    DELETE FROM lead_keys WHERE lead_id = ANY (gone);
    DELETE FROM consents WHERE lead_id = ANY (gone);
    GET DIAGNOSTICS n = ROW_COUNT; -- another node may have deleted some of them
    DELETE FROM lead_events WHERE lead_id = ANY (gone);
    PERFORM delete_disclosures(gone);
    RETURN n;
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION delete_sandbox_leads(before timestamptz, at_most integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE gone uuid[];
BEGIN
    gone := ARRAY(SELECT lead_id FROM consents WHERE sandbox AND received_at < before AND lead_id < first_id(before + interval '5 seconds')
        LIMIT at_most FOR UPDATE SKIP LOCKED);
    DELETE FROM consents WHERE lead_id = ANY (gone);
    DELETE FROM lead_keys WHERE lead_id = ANY (gone);
    DELETE FROM lead_events WHERE lead_id = ANY (gone);
    DELETE FROM leads WHERE id = ANY (gone);
    PERFORM delete_disclosures(gone);
    RETURN cardinality(gone);
END
$$;
-- +goose StatementEnd
