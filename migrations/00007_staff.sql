-- Users of the console: their logins, their roles, and the audit log.

-- +goose Up
CREATE TABLE staff (
    id            uuid        CONSTRAINT staff_pkey PRIMARY KEY,
    email         text        NOT NULL CONSTRAINT staff_email_length CHECK (length(email) BETWEEN 3 AND 254),
    name          text        NOT NULL CONSTRAINT staff_name_given CHECK (name <> ''),
    status        text        NOT NULL CONSTRAINT staff_status_known CHECK (status IN ('invited', 'active', 'deactivated')),
    password_hash text        NOT NULL DEFAULT '', -- argon2id; '' until the invitation is accepted
    totp_sealed   bytea,                           -- NULL if there is no second factor
    totp_step     bigint      NOT NULL DEFAULT 0,  -- the newest time step whose code was used
    row_version   integer     NOT NULL DEFAULT 1,
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    CONSTRAINT staff_active_with_password CHECK (status <> 'active' OR password_hash <> '')
);
CREATE UNIQUE INDEX staff_email_folded ON staff (lower(email));

CREATE TABLE staff_recovery_codes (
    staff_id uuid        NOT NULL CONSTRAINT staff_recovery_codes_staff_fkey REFERENCES staff,
    digest   bytea       NOT NULL,
    used_at  timestamptz,
    CONSTRAINT staff_recovery_codes_pkey PRIMARY KEY (staff_id, digest)
);

-- One row for each role of a user. If partner_id is not NULL, the role is limited to that partner.
CREATE TABLE staff_roles (
    staff_id   uuid NOT NULL CONSTRAINT staff_roles_staff_fkey REFERENCES staff,
    role       text NOT NULL CONSTRAINT staff_roles_role_known
                    CHECK (role IN ('administrator', 'account_manager', 'pricing_manager', 'finance', 'auditor')),
    partner_id uuid CONSTRAINT staff_roles_partner_fkey REFERENCES partners,
    CONSTRAINT staff_roles_once UNIQUE NULLS NOT DISTINCT (staff_id, role, partner_id),
    CONSTRAINT staff_roles_everywhere CHECK (role <> 'administrator' OR partner_id IS NULL)
);

CREATE TABLE staff_invitations (
    token_hash bytea       CONSTRAINT staff_invitations_pkey PRIMARY KEY,
    staff_id   uuid        NOT NULL CONSTRAINT staff_invitations_staff_fkey REFERENCES staff,
    expires_at timestamptz NOT NULL
);
CREATE INDEX staff_invitations_by_staff ON staff_invitations (staff_id);

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
    confirmed_at timestamptz,                      -- when the user last confirmed their identity
    expires_at   timestamptz NOT NULL,             -- even if the session is in use
    ended_at     timestamptz,
    ended_why    text        NOT NULL DEFAULT ''
);
CREATE INDEX staff_sessions_by_staff ON staff_sessions (staff_id, created_at);
CREATE INDEX staff_sessions_by_expiry ON staff_sessions (expires_at);

-- Failed logins, counted by a keyed digest of the user, of the address, or of both.
CREATE TABLE login_attempts (
    digest     bytea       CONSTRAINT login_attempts_pkey PRIMARY KEY,
    failures   integer     NOT NULL,
    last_at    timestamptz NOT NULL,
    free_at    timestamptz NOT NULL
);
CREATE INDEX login_attempts_by_time ON login_attempts (last_at);

-- Each event contains the hash of the one before, so that changes and deletions can be detected.
-- before and after are json, not jsonb, because their text is part of the hash.
CREATE TABLE audit_events (
    id          bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT audit_events_pkey PRIMARY KEY,
    at          timestamptz NOT NULL,
    staff_id    uuid        CONSTRAINT audit_events_staff_fkey REFERENCES staff, -- NULL for the service and its operators
    actor       text        NOT NULL,
    role        text        NOT NULL,
    action      text        NOT NULL,
    object_kind text        NOT NULL,
    object_id   text        NOT NULL,
    partner_id  uuid,
    before      json,
    after       json,
    reason      text        NOT NULL,
    address     text        NOT NULL,
    request_id  text        NOT NULL,
    outcome     text        NOT NULL CONSTRAINT audit_events_outcome_known CHECK (outcome IN ('done', 'refused')),
    prev_hash   bytea       NOT NULL CONSTRAINT audit_events_prev_once UNIQUE CONSTRAINT audit_events_prev_length CHECK (length(prev_hash) = 32),
    hash        bytea       NOT NULL CONSTRAINT audit_events_hash_length CHECK (length(hash) = 32)
);
CREATE INDEX audit_events_by_object ON audit_events (object_kind, object_id, id);
CREATE INDEX audit_events_by_partner ON audit_events (partner_id, id);
CREATE INDEX audit_events_by_staff ON audit_events (staff_id, id);
CREATE INDEX audit_events_by_time ON audit_events (at);
CREATE TRIGGER audit_events_append_only BEFORE UPDATE OR DELETE ON audit_events FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_events_no_truncate BEFORE TRUNCATE ON audit_events FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

INSERT INTO snapshot_versions VALUES ('access', 1);
CREATE TRIGGER staff_changed AFTER INSERT OR UPDATE OF status ON staff
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('access');
CREATE TRIGGER staff_roles_changed AFTER INSERT OR UPDATE OR DELETE ON staff_roles
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('access');

-- DELETE is not granted on staff, so that users who have made changes stay on record.
GRANT SELECT, INSERT ON staff, audit_events TO pingpost_app;
GRANT UPDATE (email, name, status, password_hash, totp_sealed, totp_step, row_version, updated_at) ON staff TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON staff_roles, staff_invitations TO pingpost_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON staff_recovery_codes, staff_sessions, login_attempts TO pingpost_app;

-- +goose Down
DROP TABLE audit_events, login_attempts, staff_sessions, staff_invitations, staff_roles, staff_recovery_codes, staff;
DELETE FROM snapshot_versions WHERE name = 'access';
