package consents_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/consents"
	"github.com/pingpost/pingpost/internal/dev/leadkit"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/models"
)

// agree delivers a lead whose consumer agreed to a text, a second after the last one.
func (r rig) agree(t *testing.T, by testkit.Partner, text string) uuid.UUID {
	t.Helper()
	r.Time.Advance(time.Second)
	in, transaction := r.Quote(t, "GB")
	post := fmt.Appendf(nil, `{"transactionId":%q,"partnerId":%q,%s,"consent":{"acknowledged":true,"disclosureText":%q}}`,
		transaction, by.Accounts[0].Identifier, leadkit.Contact, text)
	lead, err := r.Send(t, in, by, post)
	if err != nil {
		t.Fatal(err)
	}
	r.Time.Advance(time.Second)
	return lead.LeadID
}

func (r rig) disclosure(t *testing.T, original string) consents.Disclosure {
	t.Helper()
	digest := sha256.Sum256([]byte(original))
	d, err := r.Consents.Disclosure(t.Context(), scope.System,
		testkit.Value[uuid.UUID](t, r.DB, `SELECT id FROM disclosures WHERE digest = $1`, digest[:]))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDisclosures(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	var texts []string // oldest first
	for i := range 5 {
		texts = append(texts, fmt.Sprintf("%d. I agree. ", i)+strings.Repeat("é", 300))
		r.agree(t, r.Required, texts[i])
	}
	slices.Reverse(texts)
	r.agree(t, r.ReportOnly, texts[0])
	own, other := scope.Partners(r.Required.ID), scope.Partners(r.ReportOnly.ID)

	list := func(sc scope.Scope, kind consents.DisclosureKind, before, after string, size int) (starts, pages string, rows []consents.Disclosure) {
		t.Helper()
		b, _ := consents.ParseDisclosureCursor(before)
		a, _ := consents.ParseDisclosureCursor(after)
		rows, newer, older, err := r.Consents.Disclosures(t.Context(), sc, kind,
			postgres.Page[consents.DisclosureCursor]{Before: b, After: a, Size: size})
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range rows {
			if len([]rune(d.Text)) != 200 {
				t.Errorf("got a text of %d characters, want its start", len([]rune(d.Text)))
			}
			starts += d.Text[:1]
		}
		return starts, fmt.Sprintf("newer %t, older %t", newer, older), rows
	}
	first, pages, rows := list(scope.System, consents.NonStandardTexts, "", "", 2)
	if first != "43" || pages != "newer false, older true" || rows[0].Leads != 2 || rows[1].Leads != 1 ||
		rows[0].PartnerName != r.Required.Name {
		t.Errorf("first page: got %s, %s, %+v", first, pages, rows)
	}
	middle, pages, rows := list(scope.System, consents.NonStandardTexts, "", rows[1].Cursor().String(), 2)
	if middle != "21" || pages != "newer true, older true" {
		t.Errorf("second page: got %s, %s", middle, pages)
	}
	if back, pages, _ := list(scope.System, consents.NonStandardTexts, rows[0].Cursor().String(), "", 2); back != "43" ||
		pages != "newer false, older true" {
		t.Errorf("page before: got %s, %s", back, pages)
	}
	if last, pages, _ := list(scope.System, consents.NonStandardTexts, "", rows[1].Cursor().String(), 2); last != "0" ||
		pages != "newer true, older false" {
		t.Errorf("last page: got %s, %s", last, pages)
	}

	// Leads and texts outside the scope are not visible.
	if starts, _, rows := list(own, consents.NonStandardTexts, "", "", 9); starts != "43210" || rows[0].Leads != 1 {
		t.Errorf("own partner: got %s, %+v", starts, rows)
	}
	if starts, _, _ := list(other, consents.NonStandardTexts, "", "", 9); starts != "" {
		t.Errorf("other partner: got %s", starts)
	}
	newest := r.disclosure(t, texts[0])
	if _, err := r.Consents.Disclosure(t.Context(), other, newest.ID); leadkit.Rejection(err) != "not_found disclosure" {
		t.Errorf("other partner: got %s", leadkit.Rejection(err))
	}
	for name, tt := range map[string]struct {
		scope scope.Scope
		want  int
	}{"all": {scope.System, 2}, "own": {own, 1}} {
		d, err := r.Consents.Disclosure(t.Context(), tt.scope, newest.ID)
		leads, failed := r.Consents.DisclosureLeads(t.Context(), tt.scope, d, 100)
		if err != nil || failed != nil || int(d.Leads) != tt.want || len(leads) != tt.want || d.MoreLeads ||
			d.Text != texts[0] || leads[tt.want-1].PartnerID != r.Required.ID {
			t.Errorf("%s: got %+v, %+v, %v, %v", name, d, leads, err, failed)
		}
	}
	if leads, err := r.Consents.DisclosureLeads(t.Context(), scope.System, newest, 1); err != nil || len(leads) != 1 ||
		leads[0].PartnerName != r.ReportOnly.Name {
		t.Errorf("got %+v, %v", leads, err)
	}

	// The leads of a standard text are not listed, even if they have not been deleted from the list yet.
	r.DB.Exec(t, `UPDATE disclosures SET standard = true WHERE id = $1`, newest.ID)
	replaced := r.disclosure(t, texts[4])
	if err := r.Consents.Replace(t.Context(), scope.System,
		consents.Replacement{Disclosure: replaced.ID, Version: replaced.Version(), Text: texts[3], Note: "x"}); err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[consents.DisclosureKind]string{consents.NonStandardTexts: "3211", consents.StandardTexts: "4", consents.ReplacedTexts: "1"} {
		if starts, _, _ := list(scope.System, kind, "", "", 9); starts != want {
			t.Errorf("%q: got %s, want %s", kind, starts, want)
		}
	}
	standard := r.disclosure(t, texts[0])
	if leads, err := r.Consents.DisclosureLeads(t.Context(), scope.System, standard, 100); err != nil || len(leads) != 0 ||
		standard.Leads != 0 || !standard.Standard {
		t.Errorf("standard: got %+v, %+v, %v", standard, leads, err)
	}
}

// The text is used by more leads than a list counts.
func TestDisclosureOfManyLeads(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	r.agree(t, r.Required, "I agree")
	r.DB.Exec(t, `INSERT INTO disclosure_uses (lead_id, digest) SELECT gen_random_uuid(), digest FROM disclosures, generate_series(1, 100)`)
	page, _, _, err := r.Consents.Disclosures(t.Context(), scope.System, consents.NonStandardTexts,
		postgres.Page[consents.DisclosureCursor]{Size: 9})
	if err != nil || len(page) != 1 || page[0].Leads != 100 || !page[0].MoreLeads {
		t.Errorf("got %+v, %v", page, err)
	}
	if d := r.disclosure(t, "I agree"); d.Leads != 101 || d.MoreLeads {
		t.Errorf("got %+v", d)
	}
}

func TestDisclosureCursor(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "1", "1-", "1-ld_01JD3Z0000000000000000000A", "-1-ds_01JD3Z0000000000000000000A", "9223372036854775807-ds_01JD3Z0000000000000000000A"} {
		if c, err := consents.ParseDisclosureCursor(text); err == nil || c != (consents.DisclosureCursor{}) {
			t.Errorf("%q: got %+v, %v", text, c, err)
		}
	}
}

func TestReplaceDisclosure(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	const original = "I, Canary Name, agree.\n\tAlways."
	lead := r.agree(t, r.Required, original)
	d := r.disclosure(t, original)
	replace := func(d consents.Disclosure, text string) error {
		return r.Consents.Replace(t.Context(), scope.System,
			consents.Replacement{Disclosure: d.ID, Version: d.Version(), Text: text, Note: " case 7 "})
	}
	if err := replace(d, "I, [name], agree.\r\n\tAlways. \x01"); err != nil {
		t.Fatal(err)
	}
	if found := leadkit.RowsWith(t, r.DB, "canary name"); found != nil {
		t.Errorf("the original text is stored in %v", found)
	}
	if found := leadkit.RowsWith(t, r.DB, "[name]"); !slices.Equal(found, []string{"disclosures: 1"}) {
		t.Errorf("the new text is stored in %v", found)
	}
	again := r.agree(t, r.ReportOnly, original)
	now := r.disclosure(t, original)
	if now.ID != d.ID || now.Text != "I, [name], agree.\n\tAlways. \x01" || now.ReplacedAt == nil ||
		now.ReplacedBy != "fay@example.com" || *now.ReplacedByID != r.User.Staff || now.Leads != 2 {
		t.Errorf("got %+v", now)
	}
	for _, id := range []uuid.UUID{lead, again} {
		text := testkit.Value[string](t, r.DB,
			`SELECT text FROM consents c JOIN disclosures d ON d.digest = c.disclosure_digest WHERE lead_id = $1`, id)
		if text != now.Text {
			t.Errorf("got %q", text)
		}
	}
	event := testkit.Value[string](t, r.DB, `SELECT concat_ws(' ', actor, action, object_kind, object_id = $1, partner_id = $2, reason, num_nonnulls(before, after)) FROM audit_events WHERE action = 'disclosures.replace'`,
		consents.DisclosureID(d.ID), r.Required.ID)
	if event != "fay@example.com disclosures.replace disclosure t t case 7 0" {
		t.Errorf("got the audit event %q", event)
	}

	if err := replace(d, "Another text"); leadkit.Rejection(err) != "conflict changed" {
		t.Errorf("with the version before: got %s", leadkit.Rejection(err))
	}
	if err := replace(now, "I agree."); err != nil {
		t.Error(err)
	}
	if last := r.disclosure(t, original); last.Text != "I agree." || r.AuditEvents(t, "disclosures.replace", "done") != 2 {
		t.Errorf("got %+v", last)
	}

	// The text is deleted with its last lead.
	for _, id := range []uuid.UUID{lead, again} {
		if _, err := r.Erase(t, id); err != nil {
			t.Fatal(err)
		}
	}
	if err := replace(now, "x"); leadkit.Rejection(err) != "not_found disclosure" {
		t.Errorf("after the erasure: got %s", leadkit.Rejection(err))
	}
}

func TestReplaceDisclosureRejects(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	r.agree(t, r.Required, "I agree.\r\nAlways.")
	d := r.disclosure(t, "I agree.\r\nAlways.")
	longest := strings.Repeat("é", payload.MaxDisclosureText)
	for name, tt := range map[string]struct {
		scope  scope.Scope
		change func(*consents.Replacement)
		want   string
	}{
		"no text":   {scope.System, func(n *consents.Replacement) { n.Text = " \r\n" }, "invalid text"},
		"long text": {scope.System, func(n *consents.Replacement) { n.Text = longest + "x" }, "invalid text"},
		"U+0000":    {scope.System, func(n *consents.Replacement) { n.Text = "a\x00" }, "invalid text"},
		"not UTF-8": {scope.System, func(n *consents.Replacement) { n.Text = "a\xff" }, "invalid text"},
		"same text": {scope.System, func(n *consents.Replacement) { n.Text = d.Text }, "invalid text"},
		"no note":   {scope.System, func(n *consents.Replacement) { n.Note = " " }, "invalid note"},
		"long note": {
			scope.System, func(n *consents.Replacement) { n.Note = strings.Repeat("x", plaintext.MaxNote+1) }, "invalid note",
		},
		"control":      {scope.System, func(n *consents.Replacement) { n.Note = "a\x00" }, "invalid note"},
		"no version":   {scope.System, func(n *consents.Replacement) { n.Version = 0 }, "conflict changed"},
		"no such text": {scope.System, func(n *consents.Replacement) { n.Disclosure = uuid.New() }, "not_found disclosure"},
		"one partner":  {scope.Partners(r.Required.ID), func(*consents.Replacement) {}, "forbidden disclosure_scope"},
	} {
		n := consents.Replacement{Disclosure: d.ID, Version: d.Version(), Text: "New text", Note: "case 7"}
		tt.change(&n)
		if err := r.Consents.Replace(t.Context(), tt.scope, n); leadkit.Rejection(err) != tt.want {
			t.Errorf("%s: got %s, want %s", name, leadkit.Rejection(err), tt.want)
		}
	}
	if now := r.disclosure(t, d.Text); now.Text != d.Text || now.ReplacedAt != nil ||
		r.AuditEvents(t, "disclosures.replace", "done") != 0 {
		t.Errorf("got %+v", now)
	}
	if err := r.Consents.Replace(t.Context(), scope.System, consents.Replacement{Disclosure: d.ID, Version: d.Version(), Text: longest, Note: strings.Repeat("x", plaintext.MaxNote)}); err != nil {
		t.Error(err)
	}
}

// The text of a lead under a legal hold is not replaced, unless it is standard.
func TestReplaceDisclosureOfHeldLead(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	r.agree(t, r.ReportOnly, "I agree")
	d := r.disclosure(t, "I agree")
	replace := func(text string) string {
		return leadkit.Rejection(r.Consents.Replace(t.Context(), scope.System,
			consents.Replacement{Disclosure: d.ID, Version: r.disclosure(t, "I agree").Version(), Text: text, Note: "case 7"}))
	}
	for _, person := range []bool{false, true} {
		h := leadkit.PlaceHold(t, r.Erasures,
			r.agree(t, r.Required, fmt.Sprint("I agree", map[bool]string{true: " to more"}[person])), person)
		if got := replace("x"); got != "conflict legal_hold" {
			t.Errorf("person %t: got %s", person, got)
		}
		if err := r.Erasures.ReleaseHold(t.Context(), scope.System, h.ID); err != nil {
			t.Fatal(err)
		}
	}
	leadkit.PlaceHold(t, r.Erasures, r.agree(t, r.Required, "I do not agree"), false)
	if got := replace("x"); got != "<nil>" {
		t.Errorf("released: got %s", got)
	}
	leadkit.PlaceHold(t, r.Erasures, r.agree(t, r.Required, "I agree"), false)
	r.DB.Exec(t, `UPDATE disclosures SET standard = true WHERE id = $1`, d.ID)
	if got := replace("y"); got != "<nil>" {
		t.Errorf("standard: got %s", got)
	}
}

// If several replacements are made at once, one of them succeeds. If the last lead is erased at the same time, the text
// is deleted.
func TestConcurrentReplacementsAndErasure(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	for i := range 4 {
		original := fmt.Sprintf("Text %d", i)
		lead := r.agree(t, r.Required, original)
		d := r.disclosure(t, original)
		erases := i%2 == 0
		var failed [4]error
		var wg sync.WaitGroup
		for n := range failed {
			wg.Go(func() {
				failed[n] = r.Consents.Replace(context.Background(), scope.System, consents.Replacement{
					Disclosure: d.ID, Version: d.Version(), Text: fmt.Sprintf("Replacement %d", n), Note: "case 7",
				})
			})
		}
		if erases {
			wg.Go(func() {
				if _, err := r.Erasures.Erase(context.Background(), scope.System,
					erasure.NewErasure{Lead: lead, Reason: models.EraseForLegal}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		done := map[string]int{}
		for _, err := range failed {
			done[leadkit.Rejection(err)]++
		}
		if done["<nil>"]+done["conflict changed"]+done["not_found disclosure"] != 4 || done["<nil>"] > 1 || !erases &&
			done["<nil>"] != 1 {
			t.Errorf("got %v", done)
		}
		if left := testkit.Value[int](t, r.DB, `SELECT count(*) FROM disclosures WHERE id = $1`,
			d.ID); (left == 0) != erases {
			t.Errorf("got %d texts, erased: %t", left, erases)
		}
	}
}

func TestExportShowsReplacedDisclosure(t *testing.T) {
	t.Parallel()
	r := rig{leadkit.New(t)}
	lead := r.agree(t, r.Required, "I, Ann, agree.")
	d := r.disclosure(t, "I, Ann, agree.")
	if err := r.Consents.Replace(t.Context(), scope.System,
		consents.Replacement{Disclosure: d.ID, Version: d.Version(), Text: "I, [name], agree.", Note: "x"}); err != nil {
		t.Fatal(err)
	}
	request := r.RequestFor(t, models.RequestAccess, lead)
	passphrase, err := r.ExportRequest(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	files := r.Download(t, request, passphrase)
	var data struct {
		Leads []struct {
			Consent struct {
				DisclosureText       string
				DisclosureReplacedAt time.Time
			}
		}
	}
	if err := json.Unmarshal(files["data.json"], &data); err != nil || len(data.Leads) != 1 {
		t.Fatalf("got %+v, %v", data, err)
	}
	if c := data.Leads[0].Consent; c.DisclosureText != "I, [name], agree." || !c.DisclosureReplacedAt.Equal(r.Time.Now()) {
		t.Errorf("got %+v", c)
	}
	if page := string(files["data.html"]); !strings.Contains(page, "I, [name], agree.") ||
		!strings.Contains(page, r.Time.Now().UTC().Format("2 January 2006, 15:04:05 UTC")) {
		t.Errorf("got %s", page)
	}
}
