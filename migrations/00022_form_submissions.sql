-- A console form that creates something has a random key. The row is inserted in the same
-- transaction, so that a form submitted twice creates one object.

-- +goose Up
CREATE TABLE form_submissions (
    staff_id    uuid        NOT NULL CONSTRAINT form_submissions_staff_fkey REFERENCES staff,
    path        text        NOT NULL, -- the form's address
    key         uuid        NOT NULL,
    object_kind text        NOT NULL, -- what it created, as in audit_events
    object_id   text        NOT NULL,
    transaction xid8        NOT NULL DEFAULT pg_current_xact_id(), -- a transaction with several audit events claims the key once
    at          timestamptz NOT NULL,
    CONSTRAINT form_submissions_pkey PRIMARY KEY (staff_id, path, key)
);
GRANT SELECT, INSERT, DELETE ON form_submissions TO pingpost_app;

-- +goose Down
DROP TABLE form_submissions;
