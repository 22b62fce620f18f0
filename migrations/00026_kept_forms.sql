-- What a person typed into a form whose session had expired, until they have logged in
-- again: sealed, one form for each person, and deleted when it is shown or after 30 minutes.

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
