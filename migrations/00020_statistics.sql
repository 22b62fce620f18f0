-- Statistics for the query planner contain values of columns, and erasing a lead does not remove them. So none
-- are collected for columns with personal data. Columns with the keyed digests of leads are an
-- exception, because queries search for them.

-- +goose Up
ALTER TABLE leads ALTER COLUMN transaction_id SET STATISTICS 0,
    ALTER COLUMN quoted_postcode SET STATISTICS 0,
    ALTER COLUMN postcode SET STATISTICS 0,
    ALTER COLUMN ciphertext SET STATISTICS 0,
    ALTER COLUMN iv SET STATISTICS 0,
    ALTER COLUMN auth_tag SET STATISTICS 0;
ALTER TABLE lead_keys ALTER COLUMN salt SET STATISTICS 0,
    ALTER COLUMN wrapped_key SET STATISTICS 0,
    ALTER COLUMN answered_key SET STATISTICS 0;
ALTER TABLE consents ALTER COLUMN disclosure_digest SET STATISTICS 0,
    ALTER COLUMN disclosure_text SET STATISTICS 0,
    ALTER COLUMN recipient_hash SET STATISTICS 0,
    ALTER COLUMN form_cert_url SET STATISTICS 0,
    ALTER COLUMN third_party_lead_id SET STATISTICS 0;
ALTER TABLE disclosures ALTER COLUMN digest SET STATISTICS 0,
    ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE disclosure_uses ALTER COLUMN digest SET STATISTICS 0;
ALTER TABLE pings ALTER COLUMN urgency SET STATISTICS 0,
    ALTER COLUMN postcode SET STATISTICS 0,
    ALTER COLUMN job_type SET STATISTICS 0,
    ALTER COLUMN budget SET STATISTICS 0;
ALTER TABLE returns ALTER COLUMN evidence SET STATISTICS 0,
    ALTER COLUMN decision_note SET STATISTICS 0;
ALTER TABLE ledger_notes ALTER COLUMN note SET STATISTICS 0;
ALTER TABLE lead_reveals ALTER COLUMN note SET STATISTICS 0;
ALTER TABLE reconciliation_resolutions ALTER COLUMN note SET STATISTICS 0;
ALTER TABLE privacy_requests ALTER COLUMN reference SET STATISTICS 0,
    ALTER COLUMN identity_note SET STATISTICS 0,
    ALTER COLUMN extension_reason SET STATISTICS 0,
    ALTER COLUMN outcome_note SET STATISTICS 0;
ALTER TABLE legal_holds ALTER COLUMN email_digests SET STATISTICS 0,
    ALTER COLUMN phone_digests SET STATISTICS 0;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION add_partition(parent text, starts_at timestamptz, ends_at timestamptz) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    name text := parent || to_char(starts_at, '_YYYYMMDD');
    key text;
    by_id boolean;
    lower text;
    upper text;
    definition text;
    skipped text;
BEGIN
    SELECT attname, atttypid = 'uuid'::regtype INTO STRICT key, by_id
    FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
    WHERE partrelid = ('public.' || quote_ident(parent))::regclass;
    lower := CASE WHEN by_id THEN first_id(starts_at)::text ELSE starts_at::text END;
    upper := CASE WHEN by_id THEN first_id(ends_at)::text ELSE ends_at::text END;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL EXCLUDING IDENTITY, CONSTRAINT in_range CHECK (%I >= %L AND %I < %L))',
        name, parent, key, lower, key, upper);
    -- LIKE does not copy for which columns Postgres collects no statistics.
    FOR skipped IN SELECT attname FROM pg_attribute WHERE attrelid = ('public.' || quote_ident(parent))::regclass AND attnum > 0 AND NOT attisdropped AND attstattarget = 0
    LOOP
        EXECUTE format('ALTER TABLE public.%I ALTER COLUMN %I SET STATISTICS 0', name, skipped);
    END LOOP;
    -- A trigger on the table itself does not reject TRUNCATE on a partition.
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.%I FOR EACH STATEMENT EXECUTE FUNCTION reject_change()', name);
    -- The same is true for other statement triggers. Row triggers are added when the partition is
    -- attached.
    FOR definition IN SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = ('public.' || quote_ident(parent))::regclass AND NOT tgisinternal AND tgtype & 33 = 0 -- neither ROW nor TRUNCATE
    LOOP
        EXECUTE replace(definition, format(' ON public.%I ', parent), format(' ON public.%I ', name));
    END LOOP;
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', parent, name, lower, upper);
    EXECUTE format('ALTER TABLE public.%I DROP CONSTRAINT in_range', name);
END
$$;
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION add_partition(parent text, starts_at timestamptz, ends_at timestamptz) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, public, pg_temp SET timezone = 'UTC' AS $$
DECLARE
    name text := parent || to_char(starts_at, '_YYYYMMDD');
    key text;
    by_id boolean;
    lower text;
    upper text;
    definition text;
BEGIN
    SELECT attname, atttypid = 'uuid'::regtype INTO STRICT key, by_id
    FROM pg_partitioned_table JOIN pg_attribute ON attrelid = partrelid AND attnum = partattrs[0]
    WHERE partrelid = ('public.' || quote_ident(parent))::regclass;
    lower := CASE WHEN by_id THEN first_id(starts_at)::text ELSE starts_at::text END;
    upper := CASE WHEN by_id THEN first_id(ends_at)::text ELSE ends_at::text END;
    EXECUTE format('CREATE TABLE public.%I (LIKE public.%I INCLUDING ALL EXCLUDING IDENTITY, CONSTRAINT in_range CHECK (%I >= %L AND %I < %L))',
        name, parent, key, lower, key, upper);
    -- A trigger on the table itself does not reject TRUNCATE on a partition.
    EXECUTE format('CREATE TRIGGER no_truncate BEFORE TRUNCATE ON public.%I FOR EACH STATEMENT EXECUTE FUNCTION reject_change()', name);
    -- The same is true for other statement triggers. Row triggers are added when the partition is
    -- attached.
    FOR definition IN SELECT pg_get_triggerdef(oid) FROM pg_trigger
        WHERE tgrelid = ('public.' || quote_ident(parent))::regclass AND NOT tgisinternal AND tgtype & 33 = 0 -- neither ROW nor TRUNCATE
    LOOP
        EXECUTE replace(definition, format(' ON public.%I ', parent), format(' ON public.%I ', name));
    END LOOP;
    EXECUTE format('ALTER TABLE public.%I ATTACH PARTITION public.%I FOR VALUES FROM (%L) TO (%L)', parent, name, lower, upper);
    EXECUTE format('ALTER TABLE public.%I DROP CONSTRAINT in_range', name);
END
$$;
-- +goose StatementEnd
ALTER TABLE leads ALTER COLUMN transaction_id SET STATISTICS -1,
    ALTER COLUMN quoted_postcode SET STATISTICS -1,
    ALTER COLUMN postcode SET STATISTICS -1,
    ALTER COLUMN ciphertext SET STATISTICS -1,
    ALTER COLUMN iv SET STATISTICS -1,
    ALTER COLUMN auth_tag SET STATISTICS -1;
ALTER TABLE lead_keys ALTER COLUMN salt SET STATISTICS -1,
    ALTER COLUMN wrapped_key SET STATISTICS -1,
    ALTER COLUMN answered_key SET STATISTICS -1;
ALTER TABLE consents ALTER COLUMN disclosure_digest SET STATISTICS -1,
    ALTER COLUMN disclosure_text SET STATISTICS -1,
    ALTER COLUMN recipient_hash SET STATISTICS -1,
    ALTER COLUMN form_cert_url SET STATISTICS -1,
    ALTER COLUMN third_party_lead_id SET STATISTICS -1;
ALTER TABLE disclosures ALTER COLUMN digest SET STATISTICS -1,
    ALTER COLUMN text SET STATISTICS -1;
ALTER TABLE disclosure_uses ALTER COLUMN digest SET STATISTICS -1;
ALTER TABLE pings ALTER COLUMN urgency SET STATISTICS -1,
    ALTER COLUMN postcode SET STATISTICS -1,
    ALTER COLUMN job_type SET STATISTICS -1,
    ALTER COLUMN budget SET STATISTICS -1;
ALTER TABLE returns ALTER COLUMN evidence SET STATISTICS -1,
    ALTER COLUMN decision_note SET STATISTICS -1;
ALTER TABLE ledger_notes ALTER COLUMN note SET STATISTICS -1;
ALTER TABLE lead_reveals ALTER COLUMN note SET STATISTICS -1;
ALTER TABLE reconciliation_resolutions ALTER COLUMN note SET STATISTICS -1;
ALTER TABLE privacy_requests ALTER COLUMN reference SET STATISTICS -1,
    ALTER COLUMN identity_note SET STATISTICS -1,
    ALTER COLUMN extension_reason SET STATISTICS -1,
    ALTER COLUMN outcome_note SET STATISTICS -1;
ALTER TABLE legal_holds ALTER COLUMN email_digests SET STATISTICS -1,
    ALTER COLUMN phone_digests SET STATISTICS -1;
