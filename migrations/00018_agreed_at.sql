-- A quote that names no partner, issued before a partner's terms took effect, is
-- honoured for its 15 minutes: agreed_at is when the first of the present terms began.

-- +goose Up
ALTER TABLE partner_prices ADD COLUMN agreed_at timestamptz NOT NULL DEFAULT now();
UPDATE partner_prices SET agreed_at = updated_at;

-- +goose Down
ALTER TABLE partner_prices DROP COLUMN agreed_at;
