-- The encrypted input of a form that a user submitted after the session had expired. There is at
-- most one for each user. It is deleted when it is shown after the next login, or after 30 minutes.

-- +goose Up
CREATE TABLE kept_forms (
    staff_id uuid        CONSTRAINT kept_forms_pkey PRIMARY KEY
                         CONSTRAINT kept_forms_staff_fkey REFERENCES staff,
    sealed   bytea       NOT NULL CONSTRAINT kept_forms_size CHECK (length(sealed) <= 1048576),
    kept_at  timestamptz NOT NULL
);
GRANT SELECT, INSERT, UPDATE, DELETE ON kept_forms TO pingpost_app;

-- +goose Down
DROP TABLE kept_forms;
