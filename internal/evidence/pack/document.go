// Package pack writes and verifies evidence packs.
//
// A pack is a ZIP file with the facts about a lead as JSON (evidence.json) and as a page
// (evidence.html), and a signature of both (evidence.jws). It can be verified without the platform, with
// the platform's public key only.
package pack

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Format is the version of the documents and of the manifest.
const Format = "pingpost-evidence/1"

// Document contains the facts about a lead. Texts that the partner did not send, and texts that were
// erased, are null.
type Document struct {
	Format         string    `json:"format"`
	Platform       string    `json:"platform,omitempty"` // the URL of the platform's partner API; "" if it is not known
	CreatedAt      time.Time `json:"createdAt"`
	CreatedBy      string    `json:"createdBy"`
	DisputedReturn string    `json:"disputedReturn,omitempty"` // the return that the pack is about

	Lead      Lead      `json:"lead"`
	Times     Times     `json:"times"`
	Consent   Consent   `json:"consent"`
	Signature Signature `json:"signature"`
	Contact   []Field   `json:"contact"` // empty unless the user included fields
	Timeline  []Event   `json:"timeline"`
	Returns   []Return  `json:"returns"`
	Ledger    *Ledger   `json:"ledger"` // null if the user may not see payouts
	Reveals   []Reveal  `json:"reveals"`
	Exports   []Export  `json:"exports"`
	Holds     []Hold    `json:"holds"`
	Erasure   *Erasure  `json:"erasure"` // null if the lead was not erased
	Audit     Audit     `json:"audit"`
}

// Lead identifies the lead.
type Lead struct {
	ID              string  `json:"id"`
	State           string  `json:"state"`
	Sandbox         bool    `json:"sandbox"`
	PartnerID       string  `json:"partnerId"`
	PartnerName     string  `json:"partnerName"`
	AccountID       string  `json:"accountId"`
	Account         string  `json:"account"`             // its identifier, which is "partnerId" in a post
	Reference       string  `json:"reference,omitempty"` // the partner's own ID for the lead
	SubID           string  `json:"subId,omitempty"`
	Industry        string  `json:"industry"`
	Country         string  `json:"country"`
	RateCardVersion int     `json:"rateCardVersion"`
	Price           *Amount `json:"price"` // null if the user may not see prices
}

// Amount is a decimal value with its currency, such as "45.60" with "GBP".
type Amount struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

func (a Amount) String() string { return a.Amount + " " + a.Currency }

// Times are the times of the ping and of the post.
type Times struct {
	PingedAt       time.Time `json:"pingedAt"`
	QuoteExpiresAt time.Time `json:"quoteExpiresAt"`
	ReceivedAt     time.Time `json:"receivedAt"`
}

// Consent is the consent as the partner sent it, unless staff replaced the disclosure text. If its time may
// be wrong, AcknowledgedDoubt is consent_time_without_offset or consent_time_implausible.
type Consent struct {
	Acknowledged         bool       `json:"acknowledged"`
	AcknowledgedAt       *time.Time `json:"acknowledgedAt"`     // null if the time has no UTC offset
	AcknowledgedText     *string    `json:"acknowledgedAtText"` // the time as sent
	AcknowledgedDoubt    string     `json:"acknowledgedAtDoubt,omitempty"`
	ReceivedAt           *time.Time `json:"receivedAt"`
	DisclosureText       *string    `json:"disclosureText"`
	DisclosureReplacedAt *time.Time `json:"disclosureReplacedAt"` // null if the text is the original one
	RecipientHash        *string    `json:"recipientHash"`
	CertificateURL       *string    `json:"certificateUrl"`
	ThirdPartyLeadID     *string    `json:"thirdPartyLeadId"`
}

// Signature says with which secret the partner signed the post. A lead is stored only after its
// signature was verified.
type Signature struct {
	Verified     bool   `json:"verified"`
	Scheme       string `json:"scheme,omitempty"`
	SecretID     string `json:"secretId,omitempty"`
	SecretLabel  string `json:"secretLabel,omitempty"`
	SecretPrefix string `json:"secretPrefix,omitempty"`
	SecretEnding string `json:"secretEnding,omitempty"`
}

// Field is a field of the contact record, such as "email".
type Field struct {
	Field string `json:"field"`
	Label string `json:"label"`
	Value string `json:"value"`
}

// Event is an event in the lead's timeline.
type Event struct {
	At     time.Time         `json:"at"`
	Event  string            `json:"event"`
	Detail map[string]string `json:"detail"`
}

// Return is a dispute about the lead, without its notes.
type Return struct {
	ID          string     `json:"id"`
	Reason      string     `json:"reason"`
	ReasonText  string     `json:"reasonText"`
	State       string     `json:"state"`
	RequestedAt time.Time  `json:"requestedAt"`
	RequestedBy string     `json:"requestedBy"`
	DecidedAt   *time.Time `json:"decidedAt"`
	DecidedBy   string     `json:"decidedBy,omitempty"`
}

// Ledger contains the lead's ledger entries, newest first.
type Ledger struct {
	Complete bool    `json:"complete"`
	Entries  []Entry `json:"entries"`
}

// Entry is a ledger entry, without its note.
type Entry struct {
	ID        int64     `json:"id"`
	At        time.Time `json:"at"`
	Kind      string    `json:"kind"`
	Reference string    `json:"reference"`
	Amount    *Amount   `json:"amount"` // null if the user may not see prices
}

// Reveal records that a user viewed a field of the contact record, without the note.
type Reveal struct {
	At     time.Time `json:"at"`
	By     string    `json:"by"`
	Field  string    `json:"field"`
	Reason string    `json:"reason"`
}

// Export records that a file with data of the lead was created or downloaded. Kind is request_export (the data was
// exported for a privacy request), request_download (such a file was downloaded) or evidence_pack.
type Export struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Kind    string    `json:"kind"`
	Request string    `json:"request,omitempty"` // the privacy request
}

// Hold is a legal hold that applies or applied to the lead, without its reason.
type Hold struct {
	ID         string     `json:"id"`
	Person     bool       `json:"person"` // it applies to all leads of the consumer
	PlacedAt   time.Time  `json:"placedAt"`
	PlacedBy   string     `json:"placedBy"`
	ReleasedAt *time.Time `json:"releasedAt"`
	ReleasedBy string     `json:"releasedBy,omitempty"`
}

// Erasure is the receipt for the last erasure of the lead.
type Erasure struct {
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Entry   int64     `json:"entry"`   // of the erasure journal
	Receipt string    `json:"receipt"` // the hash of that entry

	ConsentKept bool `json:"consentKept"` // only the contact record was erased
}

// Audit contains the audit events about the lead and its returns that the user may see.
type Audit struct {
	HeadID   int64        `json:"headId"` // the last event of the chain when the pack was created
	Head     string       `json:"head"`   // the hash of that event
	Complete bool         `json:"complete"`
	LeftOut  int          `json:"leftOut,omitempty"` // number of events that the user may not see
	Events   []AuditEvent `json:"events"`            // oldest first
}

// AuditEvent contains all fields of an audit event that its hash depends on.
type AuditEvent struct {
	ID         int64     `json:"id"`
	At         time.Time `json:"at"`
	StaffID    *string   `json:"staffId"` // a UUID
	Actor      string    `json:"actor"`
	Role       string    `json:"role"`
	Action     string    `json:"action"`
	ObjectKind string    `json:"objectKind"`
	ObjectID   string    `json:"objectId"`
	PartnerID  *string   `json:"partnerId"` // a UUID
	Before     *string   `json:"before"`    // JSON as text, because the hash depends on its bytes
	After      *string   `json:"after"`
	Reason     string    `json:"reason"`
	Address    string    `json:"address"`
	RequestID  string    `json:"requestId"`
	Outcome    string    `json:"outcome"`
	PrevHash   string    `json:"prevHash"`
	Hash       string    `json:"hash"`
}

// canonical returns a value as canonical JSON (RFC 8785).
func canonical(value any) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(text)
	if err := v.Canonicalize(); err != nil {
		return nil, fmt.Errorf("writing canonical JSON: %w", err)
	}
	return v, nil
}
