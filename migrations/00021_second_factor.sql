-- Counts wrong second-factor codes until a correct one is entered, and stores the time when a second
-- factor was set up.

-- +goose Up
ALTER TABLE login_attempts ADD COLUMN lasting boolean NOT NULL DEFAULT false;
ALTER TABLE staff ADD COLUMN totp_at timestamptz; -- NULL if there is none, or the time is unknown
UPDATE staff s SET totp_at = (SELECT max(e.at) FROM audit_events e WHERE e.staff_id = s.id AND e.action = 'staff.second_factor')
    WHERE totp_sealed IS NOT NULL;
GRANT UPDATE (totp_at) ON staff TO pingpost_app;

-- +goose Down
ALTER TABLE staff DROP COLUMN totp_at;
ALTER TABLE login_attempts DROP COLUMN lasting;
