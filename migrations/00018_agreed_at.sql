-- agreed_at is the time when a partner without pricing last got pricing. A quote that names no
-- partner and was issued before that time stays valid for its 15 minutes.

-- +goose Up
ALTER TABLE partner_prices ADD COLUMN agreed_at timestamptz NOT NULL DEFAULT now();
UPDATE partner_prices SET agreed_at = updated_at;

-- +goose Down
ALTER TABLE partner_prices DROP COLUMN agreed_at;
