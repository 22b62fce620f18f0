-- Each console form that creates an object has a random key. The transaction that creates the object
-- inserts the key here, so that a form that is submitted twice creates one object.

-- +goose Up
CREATE TABLE form_submissions (
    staff_id    uuid        NOT NULL CONSTRAINT form_submissions_staff_fkey REFERENCES staff,
    path        text        NOT NULL, -- the path of the form's page
    key         uuid        NOT NULL,
    object_kind text        NOT NULL, -- the created object, as in audit_events
    object_id   text        NOT NULL,
    transaction xid8        NOT NULL DEFAULT pg_current_xact_id(), -- so that a transaction with several audit events can claim the key once
    at          timestamptz NOT NULL,
    CONSTRAINT form_submissions_pkey PRIMARY KEY (staff_id, path, key)
);
GRANT SELECT, INSERT, DELETE ON form_submissions TO pingpost_app;

-- +goose Down
DROP TABLE form_submissions;
