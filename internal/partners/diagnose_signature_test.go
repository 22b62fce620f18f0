package partners_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

func TestDiagnoseSignature(t *testing.T) {
	t.Parallel()
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
		d, _, err := o.DiagnoseSignature(t.Context(), scope.Partners(p.ID), p, ts, signature, []string{body})
		if err != nil {
			t.Fatal(err)
		}
		hint := "“" + label + "” (…" + plain[len(plain)-4:] + ")"
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
	_, _, err = o.DiagnoseSignature(t.Context(), scope.Partners(other.ID), p, ts, "", []string{body})
	wantError(t, "out of scope", err, apperr.NotFound, "partner")
	if _, _, _, after := o.lastEvent(t); after != n {
		t.Error("a rejected check wrote an audit event")
	}
	// The notes list the secrets that cannot be decrypted.
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 2), o.clock)
	d, _, err := o.DiagnoseSignature(t.Context(), everyPartner, p, ts, signing.Sign([]byte(made["active"]), ts, []byte(body)), []string{body})
	if err != nil || d.Key != -1 || len(d.Notes) != 4 ||
		!strings.Contains(strings.Join(d.Notes, ""), "“active” (…"+made["active"][len(made["active"])-4:]+")") {
		t.Errorf("%+v (%v)", d, err)
	}
}

// Pasting changes line breaks, so there are several bodies. The audit log contains one event for all of them.
func TestDiagnoseSignatureFindsTheSignedBody(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partnerWithAccounts(t, "harbour-leads")
	made, err := o.CreateSecret(t.Context(), scope.System, p, "")
	if err != nil {
		t.Fatal(err)
	}
	// The timestamp of a post that was sent earlier does not prevent the search.
	ts := strconv.FormatInt(o.clock.Now().Add(-24*time.Hour).Unix(), 10)
	bodies := []string{"{\n}", "{\n}\n", "{\r\n}"}
	for i, signed := range append(bodies, "{}") {
		want := bodies[i%len(bodies)] // the first if none was signed
		_, _, _, before := o.lastEvent(t)
		d, body, err := o.DiagnoseSignature(t.Context(), everyPartner, p, ts, signing.Sign([]byte(made.Plain), ts, []byte(signed)), bodies)
		if err != nil || body != want || d.Matches != (i < len(bodies)) {
			t.Errorf("signed %q: got %q, %+v (%v)", signed, body, d, err)
		}
		if _, _, _, after := o.lastEvent(t); after != before+1 {
			t.Errorf("signed %q: got %d audit events, want 1", signed, after-before)
		}
	}
}
