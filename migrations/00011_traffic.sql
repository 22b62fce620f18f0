-- Traffic: the ping log, counts by minute and hour, and the log of requests.

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
    duration_us  integer     NOT NULL,
    request_id   uuid -- contains the time, so that a ping is found with the index pings_by_time
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

-- The log of requests, in which a request is found by its ID whatever its outcome (decision 65). It contains the names
-- of fields, but not their values (decision 24).
CREATE TABLE api_requests (
    id          bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT api_requests_pkey PRIMARY KEY,
    partner_id  uuid        NOT NULL,
    at          timestamptz NOT NULL,
    request_id  uuid        NOT NULL,
    endpoint    text        NOT NULL,
    outcome     text        NOT NULL,
    fields      text[]      NOT NULL,
    kind        text        NOT NULL -- each kind has its own limit of rows for each partner
                            CONSTRAINT api_requests_kind CHECK (kind IN ('signed_post', 'other_post', 'ping', 'rate_limited')),
    account_id  uuid,
    secret_id   uuid,                 -- that signed the post, also if it was no longer valid
    lead_id     uuid,                 -- that the response contained
    status      smallint    NOT NULL,
    code        text        NOT NULL, -- of the response; '' if it was accepted
    message     text        NOT NULL, -- of the response; '' if it was accepted
    detail      text        NOT NULL, -- why and where the JSON is not valid, or ''
    duration_us integer     NOT NULL
);
COMMENT ON TABLE api_requests IS 'Recent requests of each partner except priced pings and delivered posts, without values that were sent.';
CREATE INDEX api_requests_by_partner ON api_requests (partner_id, id);
CREATE INDEX api_requests_by_request ON api_requests (request_id);
CREATE INDEX api_requests_by_time ON api_requests USING brin (at);

-- Everything else about a request that delivered a lead is in the rows of its lead (decision 65).
CREATE TABLE post_durations (
    request_id  uuid    CONSTRAINT post_durations_pkey PRIMARY KEY, -- contains the time
    duration_us integer NOT NULL
);
COMMENT ON TABLE post_durations IS 'How long recent posts that delivered a lead took. Kept as long as the request log.';

-- How many of each partner's posts are rejected, for the list of partners and the overview. The counts by minute
-- are too many to be summed for all partners every few seconds.
CREATE TABLE post_hours (
    partner_id uuid,
    hour       timestamptz,
    posts      bigint NOT NULL, -- without those of sandbox accounts
    rejected   bigint NOT NULL, -- of these posts
    CONSTRAINT post_hours_pkey PRIMARY KEY (partner_id, hour)
);
COMMENT ON TABLE post_hours IS 'Counts of posts and rejected posts by hour and partner, of the last 9 days.';
