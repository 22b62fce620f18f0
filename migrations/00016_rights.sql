-- What pingpost_app, the service's role, may do. It owns nothing, and can grant nothing.

-- +goose Up
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO pingpost_app', current_database());
    -- Partners' files are compared in temporary tables, which are dropped with the connection. A
    -- temporary table hides a real one with the same name, unless pg_temp is last in the search path.
    -- So every trigger that reads tables, and every function that runs as the owner, sets the search
    -- path.
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO pingpost_app', current_database());
END
$$;
-- +goose StatementEnd
GRANT USAGE ON SCHEMA public TO pingpost_app;
GRANT SELECT ON snapshot_versions, partitions, schema_requirements TO pingpost_app;
GRANT INSERT, TRUNCATE ON write_checks TO pingpost_app;
GRANT SELECT, INSERT, DELETE, UPDATE (counts_until) ON vault_logins TO pingpost_app;

-- DELETE is not granted, so that partners that have delivered leads stay on record.
GRANT SELECT, INSERT ON partners, accounts, signing_secrets, partner_links TO pingpost_app;
GRANT UPDATE (name, legal_name, address, tax_id, contacts, payment_terms, status, signing_mode, shared_base_url, account_manager, notes, updated_at, row_version) ON partners TO pingpost_app;
GRANT UPDATE (name, is_default, status, signing_mode, updated_at, row_version) ON accounts TO pingpost_app;
GRANT UPDATE (state, revoked_at, expires_at, sealed, digest) ON signing_secrets TO pingpost_app;
GRANT UPDATE (revoked_at) ON partner_links TO pingpost_app;

-- DELETE is not granted on staff, so that users who have made changes stay on record.
GRANT SELECT, INSERT ON staff TO pingpost_app;
GRANT UPDATE (email, name, status, password_hash, totp_sealed, totp_at, totp_step, row_version, updated_at) ON staff TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON staff_roles, staff_invitations, form_submissions TO pingpost_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON staff_recovery_codes, staff_sessions, login_attempts, saved_forms TO pingpost_app;

-- The id is not granted, because an event with the largest possible id would stay the last one in the
-- chain forever.
GRANT SELECT ON audit_events TO pingpost_app;
GRANT INSERT (at, staff_id, actor, role, action, object_kind, object_id, partner_id, before, after, reason, address, request_id, outcome, prev_hash, hash)
    ON audit_events TO pingpost_app;
GRANT SELECT, INSERT, DELETE, UPDATE (recorded, counted) ON rejection_counts TO pingpost_app;

GRANT SELECT, INSERT ON rate_cards TO pingpost_app;
GRANT UPDATE (version, state, title, based_on, submitter, submitter_id, approver, note, effective_at, updated_by, updated_at, row_version) ON rate_cards TO pingpost_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON pricing_rules, partner_prices TO pingpost_app;
GRANT SELECT, INSERT, UPDATE (undone_at, undone_by) ON rate_card_edits TO pingpost_app;
GRANT SELECT, INSERT, DELETE, UPDATE (days_done, state, seen_at, ended_at, result) ON rate_card_replays TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON partner_price_proposals TO pingpost_app;

GRANT SELECT, INSERT ON leads, lead_keys, consents, lead_events, ledger_notes TO pingpost_app;
GRANT UPDATE (email_digest, phone_digest) ON leads TO pingpost_app;
GRANT UPDATE (wrapped_key, key_wrapper, key_version, body_digest, answered_key) ON lead_keys TO pingpost_app;
GRANT SELECT, INSERT, UPDATE ON lead_checks TO pingpost_app;
GRANT SELECT, INSERT ON wrapping_keys TO pingpost_app;
GRANT SELECT, INSERT (digest, text, partner_id, first_used_at), UPDATE (text, standard, replaced_at, replaced_by, replaced_by_id) ON disclosures TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON disclosure_uses TO pingpost_app;
-- The id is not granted, so that the identity column keeps it unique. The primary key also contains
-- occurred_at.
GRANT SELECT, INSERT (partner_id, account_id, lead_id, kind, reference, amount_minor, currency, occurred_at, created_by) ON ledger_entries TO pingpost_app;
GRANT SELECT ON ledger_references TO pingpost_app;
GRANT SELECT, INSERT, UPDATE ON ledger_totals TO pingpost_app;
GRANT SELECT, UPDATE (added_to, checked_at, differences) ON ledger_totals_state TO pingpost_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON daily_lead_counts, partner_days, partner_figures TO pingpost_app;
GRANT SELECT, UPDATE (counted_to, settling_to, writers) ON daily_lead_counts_state TO pingpost_app;
GRANT SELECT, INSERT, UPDATE ON partner_figures_state TO pingpost_app;

GRANT SELECT, INSERT, DELETE ON jobs, files, file_parts, exports TO pingpost_app;
GRANT UPDATE (state, phase, done, total, failure, attempt, river_job_id, started_at, heartbeat_at, ended_at) ON jobs TO pingpost_app;
GRANT UPDATE (complete, size, sha256) ON files TO pingpost_app;
GRANT UPDATE (file_id, rows) ON exports TO pingpost_app;

GRANT SELECT, INSERT ON returns, payout_runs, payout_run_entries, statements, payees TO pingpost_app;
GRANT UPDATE (state, decided_by, decider_id, decided_at, decision_note, row_version) ON returns TO pingpost_app;
GRANT SELECT, INSERT ON adjustments TO pingpost_app;
GRANT UPDATE (state, reason, decided_by, decider_id, decided_at, decision_note) ON adjustments TO pingpost_app;
GRANT UPDATE (state, entries, payouts, held, total_minor, prepared_at, approver, approver_id, approved_at, payer, paid_at, reference, cancel_reason, row_version)
    ON payout_runs TO pingpost_app;

GRANT SELECT, INSERT ON reconciliations, reconciliation_lines, reconciliation_resolutions TO pingpost_app;
GRANT UPDATE (file_id, profile, mapping, period_from, period_to, state, result, as_of, saved_by, compared_at, saved_at, row_version) ON reconciliations TO pingpost_app;

GRANT SELECT, INSERT ON pings TO pingpost_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON traffic_minutes TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON api_requests, post_durations TO pingpost_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON post_hours TO pingpost_app;

-- Without a privilege to update leads, the service can only erase leads that are in an entry of the journal.
GRANT SELECT ON erasure_journal TO pingpost_app;
GRANT SELECT, INSERT ON erasures TO pingpost_app;
GRANT SELECT, INSERT (sequence, hash, body, reason, actor, staff_id, requested_at, keeps_consent, key) ON erasure_entries TO pingpost_app;
GRANT SELECT, INSERT ON lead_reveals TO pingpost_app;
GRANT SELECT, INSERT, DELETE, UPDATE (reveals, lookups) ON daily_access TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON privacy_requests, privacy_request_leads, privacy_request_notices TO pingpost_app;
GRANT UPDATE (due_on, identity, identity_note, identity_by, identity_by_id, identity_at, extension_reason, extended_at,
    outcome, ground, outcome_note, closed_by, closed_at, file_id, notices_due) ON privacy_requests TO pingpost_app;
GRANT UPDATE (erased, email_number, phone_number) ON privacy_request_leads TO pingpost_app;
GRANT SELECT, INSERT (id, public_key, sealed, created_at), UPDATE (sealed, retired_at, revoked_at) ON evidence_keys TO pingpost_app;
GRANT SELECT, INSERT, UPDATE (days, position, accepted_at, accepted_by, accepted_by_id) ON retention_periods TO pingpost_app;
GRANT SELECT, INSERT, DELETE ON retention_deferred TO pingpost_app;
GRANT SELECT, INSERT, UPDATE (holder, heartbeat_at, ended_at, erased) ON retention_runs TO pingpost_app;
GRANT SELECT, INSERT, UPDATE (email_digests, phone_digests, released_at, released_by, released_by_id) ON legal_holds TO pingpost_app;

-- These functions run as the owner.
REVOKE ALL ON FUNCTION bump_snapshot(), add_ledger_reference(), delete_sandbox_leads(timestamptz, integer), delete_disclosures(uuid[]),
    release_payout_run(uuid), drop_reconciliation_lines(uuid, integer), drop_ping_partitions(date), erase_leads(bigint, timestamptz),
    redact_ledger_note(bigint, timestamptz, text), redact_return(uuid, timestamptz, text), redact_adjustment(uuid, timestamptz, text),
    redact_resolution(bigint, timestamptz, text), create_partition(text, timestamptz, timestamptz), add_partition(text, timestamptz, timestamptz),
    create_missing_partitions(text[], text, timestamptz, timestamptz), create_partitions(text[], text, timestamptz, timestamptz),
    analyze_partitions(text) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION delete_sandbox_leads(timestamptz, integer), release_payout_run(uuid), drop_reconciliation_lines(uuid, integer),
    drop_ping_partitions(date), erase_leads(bigint, timestamptz), redact_ledger_note(bigint, timestamptz, text),
    redact_return(uuid, timestamptz, text), redact_adjustment(uuid, timestamptz, text), redact_resolution(bigint, timestamptz, text),
    create_partitions(text[], text, timestamptz, timestamptz), analyze_partitions(text) TO pingpost_app;

GRANT USAGE ON SCHEMA river TO pingpost_app;
GRANT SELECT, INSERT, UPDATE, DELETE ON river.river_job, river.river_leader, river.river_queue, river.river_notification TO pingpost_app;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA river TO pingpost_app;
