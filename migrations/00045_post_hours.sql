-- oldest program: 26
-- How many of each partner's posts are rejected, for the list of partners and the overview. The counts by minute
-- are too many to be summed for all partners every few seconds.

-- +goose Up
CREATE TABLE post_hours (
    partner_id uuid,
    hour       timestamptz,
    posts      bigint NOT NULL, -- without those of sandbox accounts
    rejected   bigint NOT NULL, -- of these posts
    CONSTRAINT post_hours_pkey PRIMARY KEY (partner_id, hour)
);
COMMENT ON TABLE post_hours IS 'Counts of posts and rejected posts by hour and partner, of the last 9 days.';
GRANT SELECT, INSERT, UPDATE, DELETE ON post_hours TO pingpost_app;

INSERT INTO post_hours (partner_id, hour, posts, rejected)
SELECT partner_id, date_trunc('hour', minute), sum(count),
    coalesce(sum(count) FILTER (WHERE NOT outcome ~ '^(delivered|replayed)'), 0)
FROM traffic_minutes t
WHERE minute >= date_trunc('hour', now()) - interval '8 days' AND endpoint = 'post'
    AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = t.account_id AND a.sandbox)
GROUP BY 1, 2;

ALTER TABLE partner_figures
    ADD COLUMN posts           bigint NOT NULL DEFAULT 0, -- in the last 24 hours
    ADD COLUMN rejected_posts  bigint NOT NULL DEFAULT 0, -- in the last 24 hours
    ADD COLUMN rejected_before bigint NOT NULL DEFAULT 0; -- in the 7 days before these 24 hours

-- +goose Down
ALTER TABLE partner_figures DROP COLUMN posts, DROP COLUMN rejected_posts, DROP COLUMN rejected_before;
DROP TABLE post_hours;
