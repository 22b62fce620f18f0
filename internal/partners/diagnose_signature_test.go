package partners_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/scope"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/internal/testkit"
	"github.com/pingpost/pingpost/models"
)

func TestDiagnoseSignature(t *testing.T) {
	o := newPartnerService(t)
	p, other := o.partnerWithAccounts(t, "harbour-leads"), o.partner(t, "meadow-media")
	p.Status = models.PartnerApproved
	made := map[string]string{}
	for _, label := range []string{"active", "expiring", "expired", "revoked"} {
		s, err := o.CreateSecret(t.Context(), scope.System, p, label)
		if err != nil {
			t.Fatal(err)
		}
		made[label] = s.Plain
		switch label {
		case "expiring":
			err = o.ExpireSecret(t.Context(), scope.System, p, s.ID, o.clock.Now().Add(time.Hour))
		case "expired":
			err = o.ExpireSecret(t.Context(), scope.System, p, s.ID, o.clock.Now())
		case "revoked":
			err = o.RevokeSecret(t.Context(), scope.System, p, s.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	foreign, err := o.CreateSecret(t.Context(), scope.System, other, "")
	if err != nil {
		t.Fatal(err)
	}
	made["another's"] = foreign.Plain
	const body = `{"transactionId":"tx_1","contact":{"email":"jo@example.org"}}`
	ts := strconv.FormatInt(o.clock.Now().Unix(), 10)
	for label, plain := range made {
		signature := signing.Sign([]byte(plain), ts, []byte(body))
		d, err := o.DiagnoseSignature(t.Context(), scope.Partners(p.ID), p, ts, body, signature)
		if err != nil {
			t.Fatal(err)
		}
		hint := label + " (…" + plain[len(plain)-4:] + ")"
		if d.Matches != (label == "active" || label == "expiring") || (d.Key >= 0) != (label != "another's") ||
			strings.Contains(d.Verdict, hint) != (d.Key >= 0) {
			t.Errorf("%s: %+v", label, d)
		}
		if (label == "expired" || label == "revoked") && !slices.Equal(d.Causes, []string{"secret_" + label}) {
			t.Errorf("%s: %s", label, d.Verdict)
		}
	}
	e, before, after, n := o.lastEvent(t)
	if e.Action != "signature.check" || *e.PartnerID != p.ID || before != nil || after != nil {
		t.Errorf("audit event %s %v %v", e.Action, before, after)
	}
	_, err = o.DiagnoseSignature(t.Context(), scope.Partners(other.ID), p, ts, body, "")
	wantError(t, "out of scope", err, apperr.NotFound, "partner")
	if _, _, _, after := o.lastEvent(t); after != n {
		t.Error("a rejected check wrote an audit event")
	}
	// The notes list the secrets that cannot be decrypted.
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 2), o.clock)
	d, err := o.DiagnoseSignature(t.Context(), everyPartner, p, ts, body, signing.Sign([]byte(made["active"]), ts, []byte(body)))
	if err != nil || d.Key != -1 || len(d.Notes) != 4 ||
		!strings.Contains(strings.Join(d.Notes, ""), "active (…"+made["active"][len(made["active"])-4:]+")") {
		t.Errorf("%+v (%v)", d, err)
	}
}

// Text fields send line breaks as CR LF, so the body is tried with LF and with CR LF. The audit log
// contains one event for both.
func TestDiagnoseSignatureTriesBothLineBreaks(t *testing.T) {
	o := newPartnerService(t)
	p := o.partnerWithAccounts(t, "harbour-leads")
	p.Status = models.PartnerApproved
	made, err := o.CreateSecret(t.Context(), scope.System, p, "")
	if err != nil {
		t.Fatal(err)
	}
	ts := strconv.FormatInt(o.clock.Now().Unix(), 10)
	const pasted = "{\r\n}\r\n"
	for _, c := range []struct {
		signed  string
		matches bool
		crlf    bool
	}{{"{\n}\n", true, false}, {pasted, true, true}, {"{}", false, false}} {
		_, _, _, before := o.lastEvent(t)
		d, err := o.DiagnoseSignature(t.Context(), everyPartner, p, ts, pasted,
			signing.Sign([]byte(made.Plain), ts, []byte(c.signed)))
		if err != nil || d.Matches != c.matches || (len(d.Notes) > 0) != c.crlf && c.matches {
			t.Errorf("signed %q: %+v (%v)", c.signed, d, err)
		}
		if _, _, _, after := o.lastEvent(t); after != before+1 {
			t.Errorf("signed %q: got %d audit events, want 1", c.signed, after-before)
		}
	}
}

// The diagnosis says why a post with a valid signature is rejected because of its account.
func TestDiagnoseSignatureChecksTheAccount(t *testing.T) {
	o := newPartnerService(t)
	p := o.partnerWithAccounts(t, "harbour-leads")
	accounts, err := o.Accounts(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := o.CreateSecret(t.Context(), scope.System, p, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Status = models.PartnerApproved
	ts := strconv.FormatInt(o.clock.Now().Unix(), 10)
	notes := func(p models.Partner, partnerID string) int {
		t.Helper()
		body := `{"partnerId":"` + partnerID + `"}`
		if partnerID == "" {
			body = `{}`
		}
		d, err := o.DiagnoseSignature(t.Context(), everyPartner, p, ts, body, signing.Sign([]byte(secret.Plain), ts, []byte(body)))
		if err != nil || !d.Matches {
			t.Fatalf("%q: %+v, %v", partnerID, d, err)
		}
		return len(slices.DeleteFunc(d.Notes, func(note string) bool { return !strings.HasPrefix(note, "The post is rejected") }))
	}
	known := accounts[0].Identifier
	for partnerID, want := range map[string]int{"": 0, known: 0, strings.ToUpper(known): 1, "nope": 1} {
		if got := notes(p, partnerID); got != want {
			t.Errorf("partnerId %q: got %d reasons, want %d", partnerID, got, want)
		}
	}
	suspended := p
	suspended.Status = models.PartnerSuspended
	if got := notes(suspended, known); got != 1 {
		t.Errorf("suspended partner: got %d reasons, want 1", got)
	}
	o.db.Exec(t, `UPDATE accounts SET status = 'suspended' WHERE partner_id = $1`, p.ID)
	if got := notes(suspended, ""); got != 2 {
		t.Errorf("suspended partner and account: got %d reasons, want 2", got)
	}
}
