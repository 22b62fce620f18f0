-- oldest program: 26
-- A draft can have the rules of an earlier version although it is based on the current one.

-- +goose Up
ALTER TABLE rate_cards ADD COLUMN copied_from integer; -- NULL if the draft started with the rules of the current version
COMMENT ON COLUMN rate_cards.copied_from IS 'The earlier version whose rules the draft started with.';

-- +goose Down
ALTER TABLE rate_cards DROP COLUMN copied_from;
