-- Users of the console, their logins, sessions and roles, and the forms that they submit.

-- +goose Up
CREATE TABLE staff (
    id            uuid        CONSTRAINT staff_pkey PRIMARY KEY,
    email         text        NOT NULL CONSTRAINT staff_email_length CHECK (length(email) BETWEEN 3 AND 254),
    name          text        NOT NULL CONSTRAINT staff_name_given CHECK (name <> ''),
    status        text        NOT NULL CONSTRAINT staff_status_known CHECK (status IN ('invited', 'active', 'deactivated')),
    password_hash text        NOT NULL DEFAULT '', -- argon2id; '' until the invitation is accepted
    totp_sealed   bytea,                           -- the second factor, encrypted with a platform key; NULL if the user has none
    totp_at       timestamptz,                     -- when the second factor was set up
    totp_step     bigint      NOT NULL DEFAULT 0,  -- the newest time step whose code was used
    row_version   integer     NOT NULL DEFAULT 1,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    CONSTRAINT staff_active_with_password CHECK (status <> 'active' OR password_hash <> '')
);
COMMENT ON TABLE staff IS 'Console users.';
CREATE UNIQUE INDEX staff_email_folded ON staff (lower(email));

-- One row for each role of a user. If partner_id is not NULL, the role is limited to that partner.
CREATE TABLE staff_roles (
    staff_id   uuid NOT NULL CONSTRAINT staff_roles_staff_fkey REFERENCES staff,
    role       text NOT NULL CONSTRAINT staff_roles_role_known
                    CHECK (role IN ('administrator', 'account_manager', 'pricing_manager', 'finance', 'privacy', 'auditor')),
    partner_id uuid CONSTRAINT staff_roles_partner_fkey REFERENCES partners,
    CONSTRAINT staff_roles_once UNIQUE NULLS NOT DISTINCT (staff_id, role, partner_id),
    CONSTRAINT staff_roles_everywhere CHECK (role <> 'administrator' OR partner_id IS NULL)
);
COMMENT ON TABLE staff_roles IS 'Users'' roles, each for all partners or for one partner.';
CREATE TRIGGER staff_changed AFTER INSERT OR UPDATE OF status ON staff
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('access');
CREATE TRIGGER staff_roles_changed AFTER INSERT OR UPDATE OR DELETE ON staff_roles
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('access');

CREATE TABLE staff_invitations (
    token_hash bytea       CONSTRAINT staff_invitations_pkey PRIMARY KEY,
    staff_id   uuid        NOT NULL CONSTRAINT staff_invitations_staff_fkey REFERENCES staff,
    expires_at timestamptz NOT NULL
);
COMMENT ON TABLE staff_invitations IS 'Open invitations. Only a digest of the token is stored.';
CREATE INDEX staff_invitations_by_staff ON staff_invitations (staff_id);

CREATE TABLE staff_recovery_codes (
    staff_id uuid        NOT NULL CONSTRAINT staff_recovery_codes_staff_fkey REFERENCES staff,
    digest   bytea       NOT NULL,
    used_at  timestamptz,
    CONSTRAINT staff_recovery_codes_pkey PRIMARY KEY (staff_id, digest)
);
COMMENT ON TABLE staff_recovery_codes IS 'Digests of recovery codes.';

CREATE TABLE staff_sessions (
    id           uuid        CONSTRAINT staff_sessions_pkey PRIMARY KEY,
    staff_id     uuid        NOT NULL CONSTRAINT staff_sessions_staff_fkey REFERENCES staff,
    token_hash   bytea       NOT NULL CONSTRAINT staff_sessions_token_key UNIQUE,
    stage        text        NOT NULL CONSTRAINT staff_sessions_stage_known CHECK (stage IN ('code', 'enrol', 'open')),
    attempts     integer     NOT NULL DEFAULT 0,   -- wrong codes
    totp_sealed  bytea,                            -- a second factor that is being set up
    address      text        NOT NULL,
    user_agent   text        NOT NULL,
    created_at   timestamptz NOT NULL,
    seen_at      timestamptz NOT NULL,
    confirmed_at timestamptz,                      -- when the user last entered the password or a code
    expires_at   timestamptz NOT NULL,             -- even if the session is in use
    ended_at     timestamptz,
    end_reason   text        NOT NULL DEFAULT ''
);
COMMENT ON TABLE staff_sessions IS 'Console sessions. Only a digest of the cookie is stored.';
CREATE INDEX staff_sessions_by_staff ON staff_sessions (staff_id, created_at);
CREATE INDEX staff_sessions_by_expiry ON staff_sessions (expires_at);

-- Failed logins, counted by a keyed digest of the user, of the address, or of both.
CREATE TABLE login_attempts (
    digest        bytea       CONSTRAINT login_attempts_pkey PRIMARY KEY,
    failures      integer     NOT NULL,
    last_at       timestamptz NOT NULL,
    blocked_until timestamptz NOT NULL,
    until_success boolean     NOT NULL DEFAULT false -- only a successful attempt resets the count
);
COMMENT ON TABLE login_attempts IS 'Failed logins and codes, used to delay the next attempt.';
CREATE INDEX login_attempts_by_time ON login_attempts (last_at);

-- Each form that creates an object has a random key. The transaction that creates the object inserts
-- the key here, so that a form that is submitted twice creates one object.
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
COMMENT ON TABLE form_submissions IS 'Keys of submitted forms, which prevent a form from taking effect twice.';

-- The input of a form that a user submitted after the session had expired. There is at most one for
-- each user. It is deleted when it is shown after the next login, or after 30 minutes.
CREATE TABLE saved_forms (
    staff_id uuid        CONSTRAINT saved_forms_pkey PRIMARY KEY
                         CONSTRAINT saved_forms_staff_fkey REFERENCES staff,
    sealed   bytea       NOT NULL CONSTRAINT saved_forms_size CHECK (length(sealed) <= 1048576), -- encrypted with a platform key
    saved_at timestamptz NOT NULL
);
COMMENT ON TABLE saved_forms IS 'Encrypted forms that users submitted after their session had expired.';
