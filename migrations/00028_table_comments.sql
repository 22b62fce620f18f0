-- The purpose of each table, shown by \d+ and in docs/reference/database.md.

-- +goose Up
COMMENT ON TABLE partners IS 'Companies that sell leads, with their slug, state and signing mode.';
COMMENT ON TABLE accounts IS 'Partners'' accounts. Each has the partnerId that the partner sends in posts.';
COMMENT ON TABLE signing_secrets IS 'Partners'' signing secrets, encrypted with a platform key.';
COMMENT ON TABLE partner_links IS 'Links to partners'' documentation pages. Only a digest of the token is stored.';
COMMENT ON TABLE partner_prices IS 'Partner pricing: adjustment, daily cap and exclusions.';
COMMENT ON TABLE partner_price_proposals IS 'Changes to partner pricing that are waiting for approval by a second user.';
COMMENT ON TABLE payees IS 'Legal names, addresses and tax IDs of partners, for payouts.';
COMMENT ON TABLE partner_days IS 'Totals by day and partner, calculated from the ledger.';
COMMENT ON TABLE partner_figures IS 'Totals for the last 30 days, for the list of partners.';
COMMENT ON TABLE partner_figures_state IS 'The times up to which partner_days is complete. One row.';
COMMENT ON TABLE daily_lead_counts IS 'Leads by UTC day and partner, for daily caps.';
COMMENT ON TABLE daily_lead_counts_state IS 'The last ledger entry that daily_lead_counts includes. One row.';

COMMENT ON TABLE rate_cards IS 'Rate cards: drafts and published versions.';
COMMENT ON TABLE pricing_rules IS 'Rate card rules.';
COMMENT ON TABLE rate_card_edits IS 'Edits to drafts, stored so that they can be undone.';
COMMENT ON TABLE rate_card_replays IS 'The latest replay of each draft, with its result.';

COMMENT ON TABLE leads IS 'Delivered leads: transaction, price, encrypted contact record and lookup digests.';
COMMENT ON TABLE consents IS 'The consent of each lead. Never changed.';
COMMENT ON TABLE lead_events IS 'The timeline of each lead: when it was delivered and returned.';
COMMENT ON TABLE ledger_entries IS 'The ledger: accruals, returns, adjustments and payments. Never changed.';

COMMENT ON TABLE pings IS 'The ping log, with one partition for each day.';
COMMENT ON TABLE traffic_minutes IS 'Counts of pings and posts by minute, partner and outcome.';
COMMENT ON TABLE refusals IS 'Recent rejections of each partner, without values from the request.';

COMMENT ON TABLE returns IS 'Lead returns, with the reason, evidence and decision.';
COMMENT ON TABLE payout_runs IS 'Payout runs, with their state and the users who prepared, approved and paid them.';
COMMENT ON TABLE payout_run_entries IS 'The ledger entries in each payout run. An entry is in at most one run.';
COMMENT ON TABLE statements IS 'Statements: the result of a payout run for each account.';
COMMENT ON TABLE exports IS 'Exports prepared in the background.';
COMMENT ON TABLE reconciliations IS 'Reconciliations, with their file, column mapping and state.';
COMMENT ON TABLE reconciliation_lines IS 'Reconciliation findings, one for each row or lead.';
COMMENT ON TABLE reconciliation_settlements IS 'Findings that a user settled, with the user''s note.';
COMMENT ON TABLE work IS 'Background jobs: the state, progress and user that staff see.';
COMMENT ON TABLE files IS 'Temporary files: uploads and exports.';
COMMENT ON TABLE file_parts IS 'The encrypted parts of temporary files.';

COMMENT ON TABLE staff IS 'Console users.';
COMMENT ON TABLE staff_roles IS 'Users'' roles, each for all partners or for one partner.';
COMMENT ON TABLE staff_invitations IS 'Open invitations. Only a digest of the token is stored.';
COMMENT ON TABLE staff_recovery_codes IS 'Digests of recovery codes.';
COMMENT ON TABLE staff_sessions IS 'Console sessions. Only a digest of the cookie is stored.';
COMMENT ON TABLE login_attempts IS 'Failed logins and codes, used to delay the next attempt.';
COMMENT ON TABLE form_submissions IS 'Keys of submitted forms, which prevent a form from taking effect twice.';
COMMENT ON TABLE kept_forms IS 'Forms that were submitted after their session expired, encrypted.';
COMMENT ON TABLE audit_events IS 'The audit log. Each event contains the hash of the one before. Never changed.';

COMMENT ON TABLE snapshot_versions IS 'Version numbers that nodes check to detect changes to partners and rate cards.';
COMMENT ON TABLE vault_logins IS 'Vault login attempts, which all nodes count together.';

-- +goose Down
-- +goose StatementBegin
DO $$
DECLARE
    t text;
BEGIN
    FOR t IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'goose_db_version' LOOP
        EXECUTE format('COMMENT ON TABLE public.%I IS NULL', t);
    END LOOP;
END
$$;
-- +goose StatementEnd
