-- oldest program: 26
-- Searches for partners and accounts by name ignore case and accents.

-- +goose Up
CREATE FUNCTION fold(text text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    -- These letters have no decomposition.
    RETURN translate(lower(regexp_replace(normalize(text, NFKD), '[\u0300-\u036f]', '', 'g')), 'øłđ', 'old');
COMMENT ON FUNCTION fold(text) IS 'A text without accents and in lower case, for searches.';

ALTER TABLE partners DROP COLUMN searched;
ALTER TABLE partners ADD COLUMN searched text GENERATED ALWAYS AS (fold(name || E'\n' || legal_name || E'\n' || slug)) STORED;
COMMENT ON COLUMN partners.searched IS 'The text that searches for partners read.';
ALTER TABLE accounts ADD COLUMN searched text GENERATED ALWAYS AS (fold(name || E'\n' || identifier)) STORED;
COMMENT ON COLUMN accounts.searched IS 'The text that searches for accounts read.';

-- +goose Down
ALTER TABLE accounts DROP COLUMN searched;
ALTER TABLE partners DROP COLUMN searched;
ALTER TABLE partners ADD COLUMN searched text GENERATED ALWAYS AS (lower(name || E'\n' || legal_name || E'\n' || slug)) STORED;
DROP FUNCTION fold(text);
