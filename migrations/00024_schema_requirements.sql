-- oldest program: 21
-- A program can read here whether it works with a schema that is newer than its own migrations.

-- +goose Up
CREATE TABLE schema_requirements (
    version        bigint CONSTRAINT schema_requirements_pkey PRIMARY KEY, -- of a migration
    oldest_program bigint NOT NULL,
    CONSTRAINT schema_requirements_oldest_program CHECK (oldest_program BETWEEN 1 AND version)
);
COMMENT ON TABLE schema_requirements IS 'The oldest program that works after each migration. A program is identified by the newest migration that it contains.';
GRANT SELECT ON schema_requirements TO pingpost_app;

-- +goose Down
DROP TABLE schema_requirements;
