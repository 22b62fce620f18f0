-- Recent Vault logins by credential, so that all nodes together can limit their failures. After
-- five failures, Vault locks an AppRole for all nodes. credential is a keyed digest.

-- +goose Up
CREATE TABLE vault_logins (
    id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT vault_logins_pkey PRIMARY KEY,
    credential   bytea       NOT NULL,
    counts_until timestamptz NOT NULL
);
GRANT SELECT, INSERT, DELETE ON vault_logins TO pingpost_app;
GRANT UPDATE (counts_until) ON vault_logins TO pingpost_app;

-- +goose Down
DROP TABLE vault_logins;
