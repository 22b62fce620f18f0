-- Background jobs and their files. River's own tables, which queue the jobs, are in the schema river.

-- +goose Up
-- Jobs take too long for a page request. A user enqueues a job, and any node can run it. Only the
-- River job river_job_id may write results. A job that is queued again gets a new river_job_id, so
-- that a worker that was wrongly considered dead can no longer write.
CREATE TABLE jobs (
    id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT jobs_pkey PRIMARY KEY,
    kind         text        NOT NULL CONSTRAINT jobs_kind_known CHECK (kind IN ('reconciliation', 'payout_run', 'export')),
    object_id    uuid        NOT NULL,
    partner_id   uuid, -- NULL if the job is not for one partner
    staff_id     uuid, -- NULL if it was enqueued from the command line
    enqueued_by  text        NOT NULL,
    enqueued_at  timestamptz NOT NULL,
    state        text        NOT NULL DEFAULT 'waiting' CONSTRAINT jobs_state_known CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled')),
    phase        text        NOT NULL DEFAULT '', -- description of the current phase
    done         bigint      NOT NULL DEFAULT 0,
    total        bigint      NOT NULL DEFAULT 0, -- 0 while unknown
    failure      text        NOT NULL DEFAULT '', -- the last error and what to do
    attempt      integer     NOT NULL DEFAULT 0,
    river_job_id bigint,
    started_at   timestamptz,
    heartbeat_at timestamptz,
    ended_at     timestamptz,
    CONSTRAINT jobs_ended_when CHECK ((state IN ('done', 'failed', 'cancelled')) = (ended_at IS NOT NULL))
);
COMMENT ON TABLE jobs IS 'Background jobs, with the state, progress and user that staff see.';
CREATE INDEX jobs_open ON jobs (heartbeat_at) WHERE state IN ('waiting', 'running');
CREATE INDEX jobs_by_object ON jobs (object_id, id);

-- Partners' files, and exports for users. Files are encrypted, stored in parts, and deleted when they
-- are no longer needed.
CREATE TABLE files (
    id         uuid        CONSTRAINT files_pkey PRIMARY KEY,
    complete   boolean     NOT NULL DEFAULT false, -- all parts are written
    size       bigint      NOT NULL DEFAULT 0,
    sha256     bytea,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
COMMENT ON TABLE files IS 'Temporary files: uploads and exports.';
CREATE INDEX files_by_end ON files (expires_at);
CREATE TABLE file_parts (
    file_id uuid    NOT NULL CONSTRAINT file_parts_file_fkey REFERENCES files ON DELETE CASCADE,
    part    integer NOT NULL,
    sealed  bytea   NOT NULL, -- compressed, then encrypted with a platform key
    CONSTRAINT file_parts_pkey PRIMARY KEY (file_id, part)
);
COMMENT ON TABLE file_parts IS 'The encrypted parts of temporary files.';
ALTER TABLE file_parts ALTER COLUMN sealed SET STORAGE EXTERNAL; -- compressing it again would be useless

-- Exports that are too large for a page request.
CREATE TABLE exports (
    id         uuid        CONSTRAINT exports_pkey PRIMARY KEY,
    staff_id   uuid        NOT NULL, -- only this user may download it
    filter     jsonb       NOT NULL, -- includes the user's scope
    file_id    uuid        CONSTRAINT exports_file_fkey REFERENCES files ON DELETE SET NULL,
    rows       bigint      NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL
);
COMMENT ON TABLE exports IS 'Exports prepared in the background.';
