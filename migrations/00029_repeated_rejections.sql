-- oldest program: 26
-- Rejections that are counted instead of recorded one by one (decision 67). Programs without the table record each one.

-- +goose Up
CREATE TABLE rejection_counts (
    staff_id uuid        CONSTRAINT rejection_counts_staff_fkey REFERENCES staff,
    minute   timestamptz,
    recorded integer     NOT NULL, -- events in the audit log
    counted  jsonb       NOT NULL, -- the number of further rejections by action
    CONSTRAINT rejection_counts_pkey PRIMARY KEY (staff_id, minute)
);
COMMENT ON TABLE rejection_counts IS 'Rejected actions by user and minute, until their number is in the audit log.';
GRANT SELECT, INSERT, DELETE, UPDATE (recorded, counted) ON rejection_counts TO pingpost_app;

-- +goose Down
DROP TABLE rejection_counts;
