-- Drafts of rate cards with their edits, approval and replays.

-- +goose Up

-- A card gets its version number when it is published, because drafts can be published in any
-- order.
ALTER TABLE rate_cards
    DROP CONSTRAINT rate_cards_state_known,
    DROP CONSTRAINT rate_cards_effective_when_published,
    ALTER COLUMN version DROP NOT NULL,
    ADD COLUMN title       text        NOT NULL DEFAULT '', -- the author's title for the draft
    ADD COLUMN based_on    integer,     -- the current version when the draft was created or last updated from it
    ADD COLUMN submitter   text        NOT NULL DEFAULT '',
    ADD COLUMN updated_by  text        NOT NULL DEFAULT '',
    ADD COLUMN updated_at  timestamptz,
    ADD COLUMN row_version integer     NOT NULL DEFAULT 1;
UPDATE rate_cards SET updated_at = created_at, updated_by = author;
UPDATE rate_cards SET version = NULL WHERE state = 'draft';
ALTER TABLE rate_cards
    ALTER COLUMN updated_at SET NOT NULL,
    ADD CONSTRAINT rate_cards_state_known CHECK (state IN ('draft', 'submitted', 'scheduled', 'published', 'superseded', 'discarded')),
    ADD CONSTRAINT rate_cards_effective_when_published CHECK (state NOT IN ('scheduled', 'published', 'superseded') OR effective_at IS NOT NULL),
    ADD CONSTRAINT rate_cards_version_when_published CHECK ((version IS NOT NULL) = (state IN ('published', 'superseded')));

-- At most one card is scheduled. No other card can be published before the scheduled one, so that
-- the prices that take effect are those that were approved.
CREATE UNIQUE INDEX rate_cards_one_scheduled ON rate_cards (state) WHERE state = 'scheduled';
CREATE INDEX rate_cards_open ON rate_cards (updated_at) WHERE state IN ('draft', 'submitted', 'scheduled');

-- Rules can only be changed in drafts, so that the card that is approved is the card that was
-- submitted.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refuse_published_card() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state IN ('published', 'superseded') AND (NEW.state NOT IN ('published', 'superseded')
        OR (NEW.version, NEW.title, NEW.author, NEW.submitter, NEW.approver, NEW.note, NEW.based_on, NEW.created_at, NEW.effective_at) IS DISTINCT FROM
           (OLD.version, OLD.title, OLD.author, OLD.submitter, OLD.approver, OLD.note, OLD.based_on, OLD.created_at, OLD.effective_at)) THEN
        RAISE EXCEPTION 'a published rate card does not change' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'rate_cards_immutable';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
DROP TRIGGER rate_cards_stay_in_force ON rate_cards;

-- Nodes reload the prices when the current version changes, but not after every edit.
DROP TRIGGER rate_cards_changed ON rate_cards;
CREATE TRIGGER rate_cards_made AFTER INSERT ON rate_cards
    FOR EACH ROW WHEN (NEW.state = 'published') EXECUTE FUNCTION bump_snapshot('rate_card');
CREATE TRIGGER rate_cards_changed AFTER UPDATE ON rate_cards
    FOR EACH ROW WHEN (NEW.state <> OLD.state AND 'published' IN (NEW.state, OLD.state)) EXECUTE FUNCTION bump_snapshot('rate_card');
CREATE TRIGGER rate_cards_gone AFTER DELETE ON rate_cards
    FOR EACH ROW WHEN (OLD.state = 'published') EXECUTE FUNCTION bump_snapshot('rate_card');

-- Edits of a draft, with the data to undo them.
CREATE TABLE rate_card_edits (
    id           bigint      GENERATED ALWAYS AS IDENTITY CONSTRAINT rate_card_edits_pkey PRIMARY KEY,
    rate_card_id uuid        NOT NULL CONSTRAINT rate_card_edits_rate_card_fkey REFERENCES rate_cards,
    at           timestamptz NOT NULL,
    editor       text        NOT NULL,
    what         text        NOT NULL,
    rules        integer     NOT NULL, -- number of changed rules
    patch        jsonb       NOT NULL, -- {"rules": [{"at": position, "was": rule, "is": rule}], "based_on": the value before}
    undone_at    timestamptz,
    undone_by    text        NOT NULL DEFAULT ''
);
CREATE INDEX rate_card_edits_by_card ON rate_card_edits (rate_card_id, id);

-- Replays price recorded pings and posts with a draft. The node that runs a replay updates it
-- every few seconds. Another node takes over if the updates stop.
CREATE TABLE rate_card_replays (
    id           uuid        CONSTRAINT rate_card_replays_pkey PRIMARY KEY,
    rate_card_id uuid        NOT NULL CONSTRAINT rate_card_replays_rate_card_fkey REFERENCES rate_cards,
    row_version  integer     NOT NULL, -- row version of the draft; a later edit makes the result outdated
    requester    text        NOT NULL,
    requested_at timestamptz NOT NULL,
    first_day    date        NOT NULL,
    days         integer     NOT NULL CONSTRAINT rate_card_replays_days_range CHECK (days BETWEEN 1 AND 90),
    days_done    integer     NOT NULL DEFAULT 0,
    state        text        NOT NULL DEFAULT 'waiting' CONSTRAINT rate_card_replays_state_known CHECK (state IN ('waiting', 'running', 'done', 'failed')),
    seen_at      timestamptz,
    ended_at     timestamptz,
    result       jsonb
);
CREATE INDEX rate_card_replays_by_card ON rate_card_replays (rate_card_id, requested_at);
CREATE INDEX rate_card_replays_open ON rate_card_replays (requested_at) WHERE state IN ('waiting', 'running');

REVOKE UPDATE ON rate_cards FROM pingpost_app;
GRANT UPDATE (version, state, title, based_on, submitter, approver, note, effective_at, updated_by, updated_at, row_version) ON rate_cards TO pingpost_app;
GRANT SELECT, INSERT, UPDATE (undone_at, undone_by) ON rate_card_edits TO pingpost_app;
GRANT SELECT, INSERT, DELETE, UPDATE (days_done, state, seen_at, ended_at, result) ON rate_card_replays TO pingpost_app;

-- +goose Down
DROP TABLE rate_card_replays, rate_card_edits;
REVOKE UPDATE (version, state, title, based_on, submitter, approver, note, effective_at, updated_by, updated_at, row_version) ON rate_cards FROM pingpost_app;
GRANT UPDATE ON rate_cards TO pingpost_app;
DROP TRIGGER rate_cards_gone ON rate_cards;
DROP TRIGGER rate_cards_made ON rate_cards;
DROP TRIGGER rate_cards_changed ON rate_cards;
CREATE TRIGGER rate_cards_changed AFTER INSERT OR UPDATE OR DELETE ON rate_cards
    FOR EACH STATEMENT EXECUTE FUNCTION bump_snapshot('rate_card');
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION refuse_published_card() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.state <> 'draft' AND (NEW.state = 'draft'
        OR (NEW.version, NEW.author, NEW.approver, NEW.note, NEW.created_at) IS DISTINCT FROM
           (OLD.version, OLD.author, OLD.approver, OLD.note, OLD.created_at)) THEN
        RAISE EXCEPTION 'a published rate card does not change' USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'rate_cards_immutable';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER rate_cards_stay_in_force BEFORE UPDATE ON rate_cards
    FOR EACH ROW WHEN (OLD.state <> 'draft' AND NEW.effective_at IS DISTINCT FROM OLD.effective_at)
    EXECUTE FUNCTION refuse_row('rate_cards_immutable', 'a published rate card does not change');
DROP INDEX rate_cards_open, rate_cards_one_scheduled;
ALTER TABLE rate_cards
    DROP CONSTRAINT rate_cards_version_when_published,
    DROP CONSTRAINT rate_cards_effective_when_published,
    DROP CONSTRAINT rate_cards_state_known;
-- Before this migration, every card had a version number. So each card without one gets a number
-- and becomes a draft.
ALTER TABLE rate_cards DISABLE TRIGGER USER;
UPDATE rate_cards SET state = 'draft', version = (SELECT coalesce(max(version), 0) FROM rate_cards) + nth
    FROM (SELECT id, row_number() OVER (ORDER BY created_at, id) AS nth FROM rate_cards WHERE version IS NULL) AS without
    WHERE rate_cards.id = without.id;
ALTER TABLE rate_cards ENABLE TRIGGER USER;
ALTER TABLE rate_cards
    ALTER COLUMN version SET NOT NULL,
    DROP COLUMN title, DROP COLUMN based_on, DROP COLUMN submitter, DROP COLUMN updated_by, DROP COLUMN updated_at, DROP COLUMN row_version,
    ADD CONSTRAINT rate_cards_state_known CHECK (state IN ('draft', 'published', 'superseded')),
    ADD CONSTRAINT rate_cards_effective_when_published CHECK (state = 'draft' OR effective_at IS NOT NULL);
