package erasure

import (
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

// deleteExportsSQL deletes the exports for consumers that contain a lead of an entry, and the prepared ledger
// exports that can contain a text about such a lead: a note, or the partner's reference and subId. It locks
// the files in the order of their ids.
//
// An export is kept only if its filter excludes all ledger entries with texts. The filter for entries that no
// run has claimed excludes none, and the filter for a run excludes only other accounts, because claims change.
const deleteExportsSQL = `WITH texts AS MATERIALIZED (
	SELECT l.id AS lead_id, l.partner_id, l.account_id, l.currency, 'accrual' AS kind, l.received_at AS occurred_at
	FROM erasures e JOIN leads l ON l.id = e.lead_id
	WHERE e.sequence = @entry AND NOT l.sandbox AND (l.partner_reference <> '' OR l.sub_id <> '')
	UNION ALL
	SELECT l.id, l.partner_id, l.account_id, l.currency, r.kind, r.occurred_at
	FROM erasures e JOIN leads l ON l.id = e.lead_id JOIN ledger_references r ON r.lead_id = l.id
		LEFT JOIN ledger_notes n ON n.entry_id = r.entry_id
	WHERE e.sequence = @entry AND (n.entry_id IS NOT NULL OR l.partner_reference <> '' OR l.sub_id <> '')
), ` + requestedExportsSQL + `
DELETE FROM files WHERE id IN (SELECT f.id FROM files f
	WHERE f.id IN (SELECT r.file_id FROM privacy_requests r WHERE r.file_id IS NOT NULL
			AND EXISTS (SELECT FROM privacy_request_leads l JOIN erasures e USING (lead_id) WHERE l.request_id = r.id
				AND e.sequence = @entry))
		OR f.id IN (` + exportsWithTextsSQL + `)
	ORDER BY f.id FOR UPDATE)`

// deleteNoteExportsSQL deletes the prepared ledger exports that can contain the note of a ledger entry.
const deleteNoteExportsSQL = `WITH texts AS MATERIALIZED (
	SELECT e.lead_id, e.partner_id, e.account_id, e.currency, e.kind, e.occurred_at
	FROM ledger_notes n JOIN ledger_entries e ON e.id = n.entry_id AND e.occurred_at = n.occurred_at
	WHERE n.entry_id = @entry
), ` + requestedExportsSQL + `
DELETE FROM files WHERE id IN (SELECT f.id FROM files f WHERE f.id IN (` + exportsWithTextsSQL + `) ORDER BY f.id
FOR UPDATE)`

const requestedExportsSQL = `requested AS (
	SELECT file_id, filter->>'all' = 'true' AS everywhere, filter->'partners' AS partners, (filter->>'partner')::uuid AS partner,
		(filter->>'account')::uuid AS account, (filter->>'lead')::uuid AS lead, (filter->>'run')::uuid AS run, filter->>'kind' AS kind,
		(CAST(@currencies AS text[]))[(filter->>'currency')::int] AS currency,
		(filter->>'from')::timestamptz AS since, (filter->>'to')::timestamptz AS until
	FROM exports WHERE file_id IS NOT NULL
)`

// exportsWithTextsSQL selects the files in requested that can contain one of the texts.
const exportsWithTextsSQL = `SELECT x.file_id FROM requested x JOIN texts t ON
	(x.everywhere OR t.partner_id::text IN (SELECT jsonb_array_elements_text(x.partners)))
	AND coalesce(t.partner_id = x.partner, true) AND coalesce(t.account_id = x.account, true)
	AND coalesce(t.lead_id = x.lead, true) AND coalesce(t.kind = x.kind, true) AND coalesce(t.currency = x.currency, true)
	AND coalesce(t.occurred_at >= x.since, true) AND coalesce(t.occurred_at < x.until, true)
	AND (x.run IS NULL OR EXISTS (SELECT FROM statements s WHERE s.run_id = x.run AND s.account_id = t.account_id))`

// DeleteNoteExports deletes the prepared ledger exports that can contain the note of a ledger entry.
func DeleteNoteExports(tx *gorm.DB, entry int64) error {
	return deleteExports(tx, deleteNoteExportsSQL, entry)
}

// deleteExports runs one of the statements that delete exports, for an entry of the journal or of the ledger. Ledger
// exports that are not among them cannot begin to read the ledger before tx ends.
func deleteExports(tx *gorm.DB, sql string, entry int64) error {
	if err := tx.Exec(`SELECT pg_advisory_xact_lock_shared(hashtext('ledger exports'))`).Error; err != nil {
		return err
	}
	return tx.Exec(sql, map[string]any{"entry": entry, "currencies": postgres.Array(currencyCodes())}).Error
}

// currencyCodes returns the codes of all currencies, in the order of their numbers.
func currencyCodes() (codes []string) {
	for _, c := range money.Currencies {
		codes = append(codes, c.String())
	}
	return codes
}
