-- oldest program: 26
-- The table of rejections becomes a log of requests, in which a request is found by its ID whatever its
-- outcome (decision 65).

-- +goose Up
ALTER TABLE rejections RENAME TO api_requests;
ALTER TABLE api_requests RENAME CONSTRAINT rejections_pkey TO api_requests_pkey;
ALTER SEQUENCE rejections_id_seq RENAME TO api_requests_id_seq;
ALTER INDEX rejections_by_partner RENAME TO api_requests_by_partner;
ALTER INDEX rejections_by_request RENAME TO api_requests_by_request;
TRUNCATE api_requests; -- the old rows lack the new columns

ALTER TABLE api_requests
    ADD COLUMN kind        text     NOT NULL, -- each kind has its own limit of rows for each partner
    ADD COLUMN account_id  uuid,
    ADD COLUMN secret_id   uuid,              -- that signed the post, also if it was no longer valid
    ADD COLUMN lead_id     uuid,              -- that the response contained
    ADD COLUMN status      smallint NOT NULL,
    ADD COLUMN code        text     NOT NULL, -- of the response; '' if it was accepted
    ADD COLUMN message     text     NOT NULL, -- of the response; '' if it was accepted
    ADD COLUMN detail      text     NOT NULL, -- why and where the JSON is not valid, or ''
    ADD COLUMN duration_us integer  NOT NULL,
    ADD CONSTRAINT api_requests_kind CHECK (kind IN ('signed_post', 'other_post', 'ping', 'rate_limited'));
CREATE INDEX api_requests_by_time ON api_requests USING brin (at);
COMMENT ON TABLE api_requests IS 'Recent requests of each partner except priced pings and delivered posts, without values that were sent.';

-- A ping is found by its X-Request-Id, which contains the time, with the index pings_by_time.
ALTER TABLE pings ADD COLUMN request_id uuid;

-- +goose Down
ALTER TABLE pings DROP COLUMN request_id;
DROP INDEX api_requests_by_time;
ALTER TABLE api_requests DROP CONSTRAINT api_requests_kind,
    DROP COLUMN kind, DROP COLUMN account_id, DROP COLUMN secret_id, DROP COLUMN lead_id,
    DROP COLUMN status, DROP COLUMN code, DROP COLUMN message, DROP COLUMN detail, DROP COLUMN duration_us;
ALTER INDEX api_requests_by_request RENAME TO rejections_by_request;
ALTER INDEX api_requests_by_partner RENAME TO rejections_by_partner;
ALTER SEQUENCE api_requests_id_seq RENAME TO rejections_id_seq;
ALTER TABLE api_requests RENAME CONSTRAINT api_requests_pkey TO rejections_pkey;
ALTER TABLE api_requests RENAME TO rejections;
