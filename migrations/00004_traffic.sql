-- Traffic: the log of pings, counters by minute, and recent rejections.

-- +goose Up

-- The log of pings has no unique constraint and no foreign keys. Posts never write to it (decision
-- 2).
CREATE TABLE pings (
    transaction  uuid, -- null if there was no price
    issued_at    timestamptz NOT NULL,
    partner_id   uuid,
    sandbox      boolean     NOT NULL,
    term_id      integer     NOT NULL,
    country      char(2)     NOT NULL,
    postcode     text        NOT NULL,
    urgency      text        NOT NULL,
    job_type     text        NOT NULL,
    budget       text        NOT NULL,
    outcome      text        NOT NULL,
    price_minor  bigint      NOT NULL,
    currency     char(3)     NOT NULL,
    card_version integer     NOT NULL,
    duration_us  integer     NOT NULL
) PARTITION BY RANGE (issued_at);
GRANT SELECT, INSERT ON pings TO pingpost_app;

-- Partitions are named pings_YYYYMMDD and contain one UTC day each. Both functions run as the
-- owner, so that the service needs no privilege to create or drop tables.
-- +goose StatementBegin
CREATE FUNCTION ensure_ping_partitions(first date, days integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE day date; made integer := 0; name text;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('pings partitions'));
    FOR i IN 0 .. least(days, 60) - 1 LOOP
        day := first + i;
        name := 'pings_' || to_char(day, 'YYYYMMDD');
        IF to_regclass('public.' || name) IS NULL THEN
            EXECUTE format('CREATE TABLE public.%I PARTITION OF public.pings FOR VALUES FROM (%L) TO (%L)',
                name, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
            EXECUTE format('CREATE INDEX %I ON public.%I USING brin (issued_at)', name || '_issued_at', name);
            made := made + 1;
        END IF;
    END LOOP;
    RETURN made;
END
$$;
CREATE FUNCTION drop_ping_partitions(before date) RETURNS integer
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
REVOKE ALL ON FUNCTION ensure_ping_partitions(date, integer), drop_ping_partitions(date) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION ensure_ping_partitions(date, integer), drop_ping_partitions(date) TO pingpost_app;

-- An unknown id in a key column is the nil UUID, because primary keys cannot contain NULL.
CREATE TABLE traffic_minutes (
    minute     timestamptz NOT NULL,
    partner_id uuid        NOT NULL,
    account_id uuid        NOT NULL,
    secret_id  uuid        NOT NULL,
    endpoint   text        NOT NULL,
    outcome    text        NOT NULL,
    count      bigint      NOT NULL,
    latency    bigint[]    NOT NULL, -- counts by bucket; the bounds are in package models
    CONSTRAINT traffic_minutes_pkey PRIMARY KEY (minute, partner_id, account_id, secret_id, endpoint, outcome)
);
CREATE INDEX traffic_minutes_by_partner ON traffic_minutes (partner_id, minute);

-- The latest rejections of each partner, with the names of the fields but without their values
-- (decision 24).
CREATE TABLE refusals (
    id         bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT refusals_pkey PRIMARY KEY,
    partner_id uuid        NOT NULL,
    at         timestamptz NOT NULL,
    request_id uuid        NOT NULL,
    endpoint   text        NOT NULL,
    outcome    text        NOT NULL,
    fields     text[]      NOT NULL
);
CREATE INDEX refusals_by_partner ON refusals (partner_id, id);
CREATE INDEX refusals_by_request ON refusals (request_id);

GRANT SELECT, INSERT, UPDATE, DELETE ON traffic_minutes TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON refusals TO pingpost_app;

-- +goose Down
DROP TABLE refusals, traffic_minutes, pings;
DROP FUNCTION ensure_ping_partitions(date, integer), drop_ping_partitions(date);
