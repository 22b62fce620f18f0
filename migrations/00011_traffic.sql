-- Traffic: the ping log, counts by minute, and recent rejections.

-- +goose Up

-- The ping log has no unique constraint and no foreign keys. Posts never write to it (decision 2).
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
COMMENT ON TABLE pings IS 'The ping log, with one partition for each day.';

CREATE INDEX pings_by_time ON pings USING brin (issued_at);

-- drop_ping_partitions runs as the owner, so that the service needs no privilege to drop tables. A
-- partition that ended less than a day ago by the database's clock is not dropped, because the
-- caller's clock may be wrong.
-- +goose StatementBegin
CREATE FUNCTION drop_ping_partitions(before date) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
DECLARE name text; dropped integer := 0;
BEGIN
    IF before > (now() AT TIME ZONE 'UTC')::date - 1 THEN
        RAISE EXCEPTION 'pings of the last day are not dropped' USING ERRCODE = 'invalid_parameter_value',
            CONSTRAINT = 'pings_younger_than_a_day', HINT = 'compare the clocks of the node and of the database';
    END IF;
    PERFORM pg_advisory_xact_lock(hashtext('partitions'));
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
COMMENT ON TABLE traffic_minutes IS 'Counts of pings and posts by minute, partner and outcome.';
CREATE INDEX traffic_minutes_by_partner ON traffic_minutes (partner_id, minute);
-- This index finds when a secret was last used. Pings and unsigned posts have no secret.
CREATE INDEX traffic_minutes_by_secret ON traffic_minutes (secret_id, minute) WHERE secret_id <> '00000000-0000-0000-0000-000000000000';

-- The latest rejections of each partner, with the names of the fields but without their values
-- (decision 24).
CREATE TABLE rejections (
    id         bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT rejections_pkey PRIMARY KEY,
    partner_id uuid        NOT NULL,
    at         timestamptz NOT NULL,
    request_id uuid        NOT NULL,
    endpoint   text        NOT NULL,
    outcome    text        NOT NULL,
    fields     text[]      NOT NULL
);
COMMENT ON TABLE rejections IS 'Recent rejections of each partner''s requests, without values from those requests.';
CREATE INDEX rejections_by_partner ON rejections (partner_id, id);
CREATE INDEX rejections_by_request ON rejections (request_id);

-- +goose Down
DROP TABLE rejections, traffic_minutes, pings;
DROP FUNCTION drop_ping_partitions(date);
