package templates

import (
	"time"

	"github.com/pingpost/pingpost/internal/money"
)

// PartnersView is the list of partners. Filter names: q, status, manager, signing.
type PartnersView struct {
	Shell                         Shell
	Search                        string
	Statuses, Managers, Modes     []Option
	SortName, SortLeads, SortSeen Sort
	AsOf                          time.Time // leads and payouts are those until then
	State                         ListState
	Partners                      []PartnerRow
	Pager                         Pager
	NewURL                        string // empty where this person may not
}

// PartnerRow is one of them. Leads and payouts are those of the last 30 days.
type PartnerRow struct {
	Name, Slug, URL string
	Status          string // "pending", "approved" or "suspended"
	Manager         string
	Signing         string // in words: "required", "report only", "off", "required (platform default)"
	Leads           int64
	Payouts         []money.Amount
	LastTraffic     time.Time
}

// PartnerHead stands over each page of a partner. Forms go to URL/…
type PartnerHead struct {
	Shell         Shell
	URL           string // "/partners/pt_…"
	ID, Name      string
	Slug          string
	LegalName     string
	Status        string
	Manager       string
	BaseURL       string
	Created       time.Time
	Tabs          []Tab
	Version       int64
	CanWrite      bool
	Approve       string       // the button: "Approve", or "Lift the suspension"; empty where there is none. POST URL/approve
	Suspend       *ConfirmView // nil where there is nothing to suspend, or it is not theirs
	OnboardingURL string       // empty once the partner sells
	Needs         []Need       // what should be done next, each with its page
}

// PartnerAccountsView is a partner's accounts: the first tab.
type PartnerAccountsView struct {
	Head     PartnerHead
	Accounts []AccountRow
	NewURL   string
}

// AccountRow is one of them.
type AccountRow struct {
	Identifier, Name string
	ID, URL          string // URL is its form; empty where this person may not
	Default, Sandbox bool
	Status           string // "active" or "suspended"
	Signing          string // in words, with where it comes from: "required (as the partner)"
}

// AccountFormView makes an account, or changes one. Field names: identifier, name,
// sandbox ("yes"), signing, status, default ("yes"), version.
type AccountFormView struct {
	Head       PartnerHead
	Shell      Shell // of the form's own page
	Action     string
	Cancel     string
	New        bool   // identifier and sandbox can be chosen
	Identifier string // of an account that exists, or as it was typed
	Name       string
	Sandbox    bool
	Default    bool // it is the partner's default
	Suspended  bool
	Signing    []Option
	Version    int64
	Conflict   *Conflict
	Errors     Errors
	Submit     string
}

// PartnerDetailsView is who the partner is. Field names: name, legal_name, address,
// tax_id, payment_terms, manager, notes, version, and contact-N-name, -role, -email,
// -phone for N from 0.
type PartnerDetailsView struct {
	Head                            PartnerHead
	Name, LegalName, Address, TaxID string
	PaymentTerms, Notes             string
	Managers                        []Option
	Contacts                        []ContactRow // with two empty ones at the end, where it can be changed
	Version                         int64
	Locked                          string // why it cannot be changed; empty where it can
	Conflict                        *Conflict
	Errors                          Errors
}

// ContactRow is a person at the partner.
type ContactRow struct {
	Name, Role, Email, Phone string
}

// PartnerSigningView is what happens to unsigned posts. Field names: signing,
// shared_address ("yes"), version, proof.
type PartnerSigningView struct {
	Head         PartnerHead
	Modes        []Option // with what each means as its hint
	Mode         string   // in force, in words
	Shared       bool
	SharedLocked string // why the shared address cannot be switched on; empty where it can
	SharedWords  string // "37 of at most 100 partners use it"
	Forecast     Forecast
	Accounts     []AccountRow // with their own modes
	Version      int64
	Locked       string
	StepUp       StepUp
	Conflict     *Conflict
	Errors       Errors
}

// Forecast is what requiring signatures would have refused of the last 24 hours.
type Forecast struct {
	Posts, Unsigned int64
	Accounts        []ForecastRow // only those with posts
}

// ForecastRow is an account's share of it.
type ForecastRow struct {
	Identifier      string
	Posts, Unsigned int64
	LastUnsigned    time.Time
}

// PartnerSecretsView is a partner's signing secrets.
type PartnerSecretsView struct {
	Head      PartnerHead
	Secrets   []SecretRow
	NewURL    string // empty where this person may not
	RotateURL string // empty while there is nothing to rotate
	CheckURL  string
	Retiring  bool // a rotation is under way: what follows is shown
	Overlap   *OverlapView
}

// SecretRow is one of them: never the secret.
type SecretRow struct {
	Label, ID      string
	Shown          string // "pp_…9f3K"
	State          string // "active", "retiring", "retired" or "revoked"
	StateWords     string // "retiring in 23 h"
	MadeBy         string
	Made, LastUsed time.Time
	Ends           time.Time // zero where it has no end
	Posts          int64     // signed with it in the last 24 hours
	RetireURL      string    // its form: end early, extend
	RevokeURL      string
}

// OverlapView is how the traffic moves from the old secrets to the new one.
type OverlapView struct {
	Chart Chart
	Words string // "All posts of the last hour were signed with the new secret."
}

// SecretFormView makes a secret, or rotates. Field names: label, import (a secret to
// take over, or nothing), overlap, force ("yes"), proof.
type SecretFormView struct {
	Head     PartnerHead
	Shell    Shell
	Action   string
	Cancel   string
	Rotate   bool
	Label    string
	Overlaps []Option // of a rotation: with the exact end as their hint
	Underway string   // why a rotation has to be forced; empty where it has not
	StepUp   StepUp
	Errors   Errors
}

// SecretMadeView shows a secret, this once.
type SecretMadeView struct {
	Shell       Shell
	PartnerName string
	Label       string
	Secret      string
	Ends        time.Time // of the older ones; zero where they do not end
	BaseURL     string
	DocsURL     string // the partner's documentation page; empty without a link
	NextLabel   string
	NextURL     string
}

// RetireFormView sets when a secret ends. Field names: when, proof.
type RetireFormView struct {
	Shell  Shell
	Action string
	Cancel string
	Label  string
	Ends   time.Time // as it is now; zero for never
	Whens  []Option  // with the exact end as their hint
	Last   bool      // the partner has no other that is valid after it
	StepUp StepUp
	Errors Errors
}

// CheckView finds out why a signature is refused. Field names: timestamp, body,
// signature. What was typed is shown again, and stored nowhere.
type CheckView struct {
	Head                       PartnerHead
	Timestamp, Body, Signature string
	Errors                     Errors
	Result                     *CheckResult
}

// CheckResult is what was found.
type CheckResult struct {
	Matches bool
	Verdict string // "Signed with “live 2026” (…9f3K)", "No secret of this partner made this signature"
	Mend    string // what to do; empty where nothing is wrong
	Notes   []string
	Signed  string // the signed string as the service sees it, blanks and line ends made visible
	Length  int    // of the signed bytes
}

// PartnerTrafficView is what the partner sent, and how long the answers took.
type PartnerTrafficView struct {
	Head     PartnerHead
	Ranges   []Tab
	Words    string // "in the last 24 hours"
	StepHead string
	Failed   string
	RetryURL string
	Tiles    []StatTile
	Traffic  []TrafficStep
	Outcomes []OutcomeRow
	Latency  []LatencyRow
}

// OutcomeRow is how often requests ended in one way.
type OutcomeRow struct {
	Endpoint, Outcome string // in words
	Kind              string // of Status: "good", "warn" or "bad"
	Count             int64
	Share             string
	URL               string // the recent refusals with this outcome; empty where it is none
}

// LatencyRow is how long an endpoint's answers took. A percentile is the upper bound
// of its bucket, in words: "≤ 2.5 ms", "> 1 s".
type LatencyRow struct {
	Endpoint      string
	Count         int64
	P50, P95, P99 string
}

// PartnerRefusalsView is the recent refusals. Filter names: request, outcome.
type PartnerRefusalsView struct {
	Head     PartnerHead
	Request  string
	Outcomes []Option
	State    ListState
	Refusals []RefusalRow
	Pager    Pager
	Kept     string // "the newest 500 are kept"
	CheckURL string
}

// RefusalRow is one of them: no value that was sent.
type RefusalRow struct {
	At                time.Time
	Endpoint, Outcome string // in words
	Mend              string // what the partner should change
	Fields            []string
	RequestID         string
}

// PartnerAuditView is what was done to the partner.
type PartnerAuditView struct {
	Head   PartnerHead
	Events []AuditRow
	State  ListState
	Pager  Pager
}

// PartnerHandoverView is the partner's documentation page, as a link that can be
// revoked. POST URL/link makes one, POST URL/link/revoke revokes it.
type PartnerHandoverView struct {
	Head     PartnerHead
	Link     string // empty while there is none
	Made     time.Time
	CanWrite bool
}

// PartnerNewView begins a partner. Field names: name, slug, legal_name, manager,
// signing.
type PartnerNewView struct {
	Shell                 Shell
	Name, Slug, LegalName string
	Managers, Modes       []Option
	Errors                Errors
}

// OnboardingView is the way to a partner's first lead, on one page.
type OnboardingView struct {
	Head  PartnerHead
	Steps []OnboardingStep
	Live  OnboardingLive
}

// OnboardingStep is one of: accounts, approve, secret, hand over, first post.
type OnboardingStep struct {
	Title, Text string
	Done        bool
	Current     bool // the first that is not done
	Detail      string
	Copied      bool // the detail is something to hand over
	ActionURL   string // empty where there is nothing to press
	ActionLabel string
	Post        bool // the action is a form that is sent
	Also        *Link
}

// OnboardingLive is what has arrived so far; it comes by itself while scripts run.
type OnboardingLive struct {
	URL     string // of this part alone
	Waiting bool
	Events  []LiveEvent // the newest first
}

// LiveEvent is a ping or post that arrived.
type LiveEvent struct {
	At       time.Time
	Kind     string // of Status
	What     string // "Lead delivered", "Post refused: wrong signature"
	Detail   string // "Sandbox account harbour-trial, signed with “first secret”"
	LeadID   string
	Mend     string
	Sandbox  bool
	CheckURL string
}
