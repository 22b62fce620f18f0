-- oldest program: 26
-- How long each delivered post took. Everything else about such a request is in the rows of its lead (decision 65).

-- +goose Up
CREATE TABLE post_durations (
    request_id  uuid    CONSTRAINT post_durations_pkey PRIMARY KEY, -- contains the time
    duration_us integer NOT NULL
);
COMMENT ON TABLE post_durations IS 'How long recent posts that delivered a lead took. Kept as long as the request log.';
GRANT SELECT, INSERT, DELETE ON post_durations TO pingpost_app;

-- +goose Down
DROP TABLE post_durations;
