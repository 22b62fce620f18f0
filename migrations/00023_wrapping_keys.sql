-- A lead is stored only if the key that wrapped its data key is registered (decision 55). The first node
-- that starts after this migration registers its keys, if it can read all stored leads.

-- +goose Up
CREATE TABLE wrapping_keys (
    wrapper       text        NOT NULL,
    key           text        NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT wrapping_keys_pkey PRIMARY KEY (wrapper, key)
);
COMMENT ON TABLE wrapping_keys IS 'The keys that may wrap the data keys of leads: a local key by its version, or a Vault key by its mount and name.';
GRANT SELECT, INSERT ON wrapping_keys TO pingpost_app;

-- +goose Down
DROP TABLE wrapping_keys;
