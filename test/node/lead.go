package node

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
)

// Lead is a stored lead with its consent, accrual and decrypted contact record.
type Lead struct {
	ID, PartnerID          uuid.UUID
	Account                string // the account's partnerId
	Signed                 bool
	HMACVerified           bool
	Industry, Urgency      string
	Country, Postcode      string
	QuotedPostcode         string
	PartnerReference       string
	SubID                  string
	QuotedAt, ReceivedAt   time.Time
	Price, Accrued         int64
	Currency               string
	PhoneFlagged           bool
	AcknowledgedAt         *time.Time
	AcknowledgedText       *string
	DisclosureText         *string
	RecipientHash          *string
	FormCertURL            *string
	ThirdPartyLeadID       *string
	Ciphertext, IV         []byte
	AuthTag, Wrapped, Salt []byte

	Contact map[string]any `db:"-"` // decrypted from the envelope
}

const selectLead = `SELECT l.id, l.partner_id, a.identifier, l.secret_id IS NOT NULL, l.hmac_verified, l.industry, l.urgency, l.country, l.postcode,
	l.quoted_postcode, l.partner_reference, l.sub_id, l.quoted_at, l.received_at, l.price_minor, coalesce(e.amount_minor, 0), l.currency, l.phone_flagged,
	c.acknowledged_at, c.acknowledged_text, d.text, c.recipient_hash, c.form_cert_url, c.third_party_lead_id,
	l.ciphertext, l.iv, l.auth_tag, k.wrapped_key, k.salt
	FROM leads l JOIN lead_keys k ON k.lead_id = l.id JOIN accounts a ON a.id = l.account_id
	JOIN consents c ON c.lead_id = l.id
	LEFT JOIN disclosures d ON d.digest = c.disclosure_digest
	LEFT JOIN ledger_entries e ON e.lead_id = l.id AND e.kind = 'accrual' AND e.partner_id = l.partner_id
	AND e.currency = l.currency
	WHERE l.id = $1`

// Lead reads a stored lead and decrypts its envelope with the local key.
func (n *Node) Lead(t testing.TB, leadID string) Lead {
	t.Helper()
	ctx := context.Background()
	key, err := id.Parse(id.Lead, leadID)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := n.Root.Query(ctx, selectLead, key)
	if err != nil {
		t.Fatal(err)
	}
	l, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Lead])
	if err != nil {
		t.Fatal(err)
	}
	local, err := envelope.NewLocal(n.Config.Keys.LocalKEKs()...)
	if err != nil {
		t.Fatal(err)
	}
	dataKey := envelope.NewWrappers(local).Unwrap(ctx, [][]byte{l.Wrapped})[0]
	if dataKey.Err != nil {
		t.Fatal(dataKey.Err)
	}
	plain, err := envelope.Open(envelope.Envelope{
		Ciphertext: l.Ciphertext, IV: l.IV, AuthTag: l.AuthTag, Salt: l.Salt, Wrapped: l.Wrapped,
	}, dataKey.Key, l.ID, l.PartnerID)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(plain, &l.Contact); err != nil {
		t.Fatal(err)
	}
	return l
}
