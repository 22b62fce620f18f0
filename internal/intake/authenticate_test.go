package intake_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
)

var modes = []models.SigningMode{models.SigningRequired, models.SigningReportOnly, models.SigningOff}

// accountOf returns the account of a lead.
func (n *node) accountOf(t testing.TB, lead uuid.UUID) uuid.UUID {
	t.Helper()
	return see[uuid.UUID](t, n, `SELECT account_id FROM leads WHERE id = $1`, lead)
}

func TestOwnerOfAPost(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	t.Run("owner of a signed post", func(t *testing.T) { ownerOfASignedPost(t, n) })
	t.Run("platform account", func(t *testing.T) { platformAccountPosts(t, n) })
	t.Run("unknown partner", func(t *testing.T) { unknownPartner(t, n) })
	t.Run("signing modes", func(t *testing.T) { signingModes(t, n) })
	t.Run("unknown mode requires signatures", func(t *testing.T) { unknownModeIsRequired(t, n) })
}

// The first criterion that is present determines the owner, even if this means that the post is
// rejected (decision 13).
func ownerOfASignedPost(t *testing.T, n *node) {
	trial := n.AddPartner(t, "no-default-active", models.SigningOff)
	n.DB.Exec(t, `UPDATE accounts SET status = 'suspended' WHERE id = $1`, trial.Accounts[0].ID)
	n.Reload(t)
	r, o := n.Required, n.Off
	for _, c := range []struct {
		name              string
		quoted, at, named string
		by                testkit.Partner
		account           models.Account // zero if rejected
		sandbox           bool
		want              rejection
	}{
		{"partnerId", shared, shared, r.Accounts[0].Identifier, r, r.Accounts[0], false, rejection{}},
		{"partnerId before the base URL's default", shared, r.Slug, r.Accounts[1].Identifier, r, r.Accounts[1], true,
			rejection{}},
		{"partnerId before the secret", shared, shared, o.Accounts[0].Identifier, r, models.Account{}, false, badSignature},
		{"partnerId of another partner than the base URL's", shared, o.Slug, r.Accounts[0].Identifier, r, models.Account{},
			false, badSignature},
		{"partnerId of another partner than the base URL's, signed by the base URL's", shared, o.Slug, r.Accounts[0].Identifier, o,
			models.Account{}, false, badPost.as(models.OutcomeUnknownAccount)},
		{"unknown partnerId on a base URL", shared, r.Slug, unknownAccount, r, models.Account{}, false,
			badPost.as(models.OutcomeUnknownAccount)},
		{"partnerId in different letter case", shared, shared, strings.ToUpper(r.Accounts[0].Identifier), r, models.Account{}, false,
			badSignature.as(models.OutcomeUnknownAccount)},
		{"partnerId of a suspended account", shared, trial.Slug, trial.Accounts[0].Identifier, trial, models.Account{},
			false, inactive},
		{"partnerId of a suspended account, shared base URL", shared, shared, trial.Accounts[0].Identifier, trial, models.Account{}, false,
			badSignature.as(models.OutcomeInactive)},
		{"partnerId with a suspended default account", shared, trial.Slug, trial.Accounts[1].Identifier, trial,
			trial.Accounts[1], true, rejection{}},
		{"base URL", shared, r.Slug, "", r, r.Accounts[0], false, rejection{}},
		{"base URL before the secret", shared, o.Slug, "", r, models.Account{}, false, badSignature},
		{"base URL with a suspended default account", shared, trial.Slug, "", trial, models.Account{}, false, inactive},
		{"quote", r.Slug, shared, "", r, r.Accounts[0], false, rejection{}},
		{"quote before the secret", o.Slug, shared, "", r, models.Account{}, false, badSignature},
		{"secret", shared, shared, "", r, r.Accounts[0], false, rejection{}},
		{"another partner's secret", shared, shared, "", o, o.Accounts[0], false, rejection{}},
		{"secret with a suspended default account", shared, shared, "", trial, models.Account{}, false,
			badSignature.as(models.OutcomeInactive)},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := body(n.quote(t, c.quoted))
			if c.named != "" {
				b = body(n.quote(t, c.quoted), partnerID(c.named))
			}
			want := stored{}
			if c.account.ID != uuid.Nil {
				want = oneLead
			}
			if c.sandbox {
				want = oneTest
			}
			n.stores(t, want, func() {
				if want == nothing {
					n.rejected(t, n.signed(c.by, c.at, b), c.want)
				} else if got := n.post(t, n.signed(c.by, c.at, b)); n.accountOf(t, got.LeadID) != c.account.ID ||
					got.Partner != c.by.ID {
					t.Errorf("stored for a different account of partner %s", got.Partner)
				}
			})
		})
	}
}

// An unsigned post that does not identify its partner belongs to the platform account. The
// platform's default mode determines whether it is accepted (decisions 13, 14).
func platformAccountPosts(t *testing.T, n *node) {
	for _, mode := range modes {
		n := n.withDefault(mode)
		b := body(n.quote(t, shared))
		if mode == models.SigningRequired {
			n.stores(t, nothing, func() { n.rejected(t, unsigned(shared, b), noSignature) })
			continue
		}
		n.stores(t, oneLead, func() {
			got := n.post(t, unsigned(shared, b))
			if got.HMACVerified || got.Partner != models.PlatformIDs.Partner ||
				n.accountOf(t, got.LeadID) != models.PlatformIDs.Account {
				t.Errorf("%s: verified %t, of partner %s", mode, got.HMACVerified, got.Partner)
			}
		})
		// A post with a partner's quote belongs to that partner.
		n.stores(t, nothing, func() { n.rejected(t, unsigned(shared, body(n.quote(t, n.Required.Slug))), noSignature) })
	}
}

// A partnerId that is unknown, inactive or another partner's always gets the same response, so that the response
// does not reveal which partners exist (decision 13). Staff see the reason.
func unknownPartner(t *testing.T, n *node) {
	gone := n.AddPartner(t, "gone", models.SigningOff)
	n.setStatus(t, gone, models.PartnerSuspended)
	n.Reload(t)
	for _, mode := range modes {
		n := n.withDefault(mode)
		for name, by := range map[string]struct {
			slug, named      string
			signed, unsigned models.Outcome
		}{
			"unknown":                {shared, unknownAccount, models.OutcomeUnknownAccount, models.OutcomeUnknownAccount},
			"of a suspended partner": {shared, gone.Accounts[0].Identifier, "signature", models.OutcomeInactive},
			"on another base URL":    {n.Required.Slug, n.Off.Accounts[0].Identifier, "signature", models.OutcomeUnknownAccount},
			"unknown on a base URL":  {n.Required.Slug, unknownAccount, "signature", models.OutcomeUnknownAccount},
		} {
			t.Run(string(mode)+" "+name, func(t *testing.T) {
				b := body(n.quote(t, shared), partnerID(by.named))
				n.stores(t, nothing, func() {
					n.rejected(t, n.signed(n.Off, by.slug, b), badSignature.as(by.signed))
					if mode == models.SigningRequired {
						n.rejected(t, unsigned(by.slug, b), noSignature.as(by.unsigned))
						return
					}
					f := n.rejected(t, unsigned(by.slug, b), badPost.as(by.unsigned))
					checkPartnerID(t, f, by.named)
					// A post to the partner's own base URL must not get the advice to post there.
					message := f.Fields[0].Message
					if strings.Contains(message, "base URL") != (by.slug == shared) || !strings.Contains(message, "sign the post") {
						t.Errorf("got the message %q", message)
					}
				})
			})
		}
	}
}

// checkPartnerID checks that an error is only about the partnerId and does not contain its value.
func checkPartnerID(t *testing.T, f *apperr.Error, value string) {
	t.Helper()
	if len(f.Fields) != 1 || f.Fields[0].Code != apperr.InvalidValue ||
		strings.Join(f.Fields[0].Path, ".") != "partnerId" {
		t.Errorf("got fields %+v", f.Fields)
	} else if strings.Contains(f.Fields[0].Message, value) {
		t.Error("the message contains the value")
	}
}

// If the account has no signing mode of its own, its partner's mode applies. If the partner has
// none either, the platform's mode applies (decision 14).
func signingModes(t *testing.T, n *node) {
	type row struct {
		account, partner, platform models.SigningMode
		required                   bool
	}
	const inherit, byDefault = models.SigningInherit, models.SigningDefault
	const required, reportOnly, off = models.SigningRequired, models.SigningReportOnly, models.SigningOff
	owners := map[[2]models.SigningMode]testkit.Partner{}
	for _, c := range []row{
		{inherit, byDefault, required, true}, {inherit, byDefault, reportOnly, false}, {inherit, byDefault, off, false},
		{inherit, required, off, true}, {inherit, reportOnly, required, false}, {inherit, off, required, false},
		{required, off, off, true}, {off, required, required, false}, {reportOnly, required, required, false},
		{required, byDefault, off, true}, {off, byDefault, required, false},
	} {
		name := strings.ReplaceAll(string(c.account+"-"+c.partner), "_", "-")
		p, known := owners[[2]models.SigningMode{c.account, c.partner}]
		if !known {
			p = n.AddPartner(t, name, c.partner, partners.NewAccount{Identifier: name, Signing: c.account})
			owners[[2]models.SigningMode{c.account, c.partner}] = p
			n.Reload(t)
		}
		t.Run(name+" on "+string(c.platform), func(t *testing.T) {
			n := n.withDefault(c.platform)
			b := body(n.quote(t, p.Slug))
			if c.required {
				n.stores(t, nothing, func() { n.rejected(t, unsigned(p.Slug, b), noSignature) })
			} else {
				n.stores(t, oneLead, func() {
					if n.post(t, unsigned(p.Slug, b)).HMACVerified {
						t.Error("an unsigned post is reported as verified")
					}
				})
			}
			// A signature is verified in every mode.
			forged := n.signed(p, p.Slug, b)
			forged.Headers = n.Required.Sign(n.Time.Now(), b)
			n.rejected(t, forged, badSignature)
			signedBody := body(n.quote(t, p.Slug))
			if !n.post(t, n.signed(p, p.Slug, signedBody)).HMACVerified {
				t.Error("a signed post is reported as not verified")
			}
		})
	}
}

// An unknown mode must not accept unsigned posts.
func unknownModeIsRequired(t *testing.T, n *node) {
	n = &node{n.Platform, n.Intake(intake.Settings{}), n.sees}
	n.rejected(t, unsigned(shared, body(n.quote(t, shared))), noSignature)
}

// The partner in a quote owns the post even after the quote has expired. Posts signed by other
// partners are rejected (decision 13).
func TestExpiredQuoteStillDeterminesTheOwner(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	away := n.AddPartner(t, "not-at-the-shared-address", models.SigningRequired)
	n.DB.Exec(t, `UPDATE partners SET shared_base_url = false WHERE id = $1`, away.ID)
	n.Reload(t)
	bodies := map[*testkit.Partner][]byte{}
	for _, p := range []*testkit.Partner{&n.Required, &n.Off, &away} {
		bodies[p] = body(n.quote(t, p.Slug))
	}
	n.Time.Advance(quote.Validity + time.Millisecond)
	n.stores(t, nothing, func() {
		for p, b := range bodies {
			n.rejected(t, n.signed(*p, shared, b), expired)
			n.rejected(t, n.signed(n.ReportOnly, shared, b), badSignature)
		}
		n.rejected(t, unsigned(shared, bodies[&n.Off]), expired) // this partner need not sign
		n.rejected(t, unsigned(shared, bodies[&n.Required]), noSignature)
	})
}

// A partner that is not active can find out which leads it delivered before. Its other posts are checked
// completely and then rejected (decision 59).
func TestPostsOfInactivePartners(t *testing.T) {
	t.Parallel()
	for name, suspend := range map[string]func(*testing.T, *node, testkit.Partner){
		"partner": func(t *testing.T, n *node, p testkit.Partner) { n.setStatus(t, p, models.PartnerSuspended) },
		"pending": func(t *testing.T, n *node, p testkit.Partner) { n.setStatus(t, p, models.PartnerPending) },
		"account": func(t *testing.T, n *node, p testkit.Partner) {
			n.DB.Exec(t, `UPDATE accounts SET status = 'suspended' WHERE id = $1`, p.Accounts[0].ID)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t)
			p := n.Required
			deliveredBody, old := body(n.quote(t, p.Slug)), body(n.quote(t, p.Slug))
			first := n.post(t, n.signed(p, p.Slug, deliveredBody))
			at := n.Time.Now()
			tx := n.quote(t, p.Slug)
			suspend(t, n, p)
			n.Reload(t)
			send := func(slug string, b []byte, want rejection) {
				t.Helper()
				n.rejected(t, n.signed(p, slug, b), want)
			}
			hidden := badSignature.as(models.OutcomeInactive)
			n.stores(t, nothing, func() {
				for _, slug := range []string{p.Slug, shared} {
					n.again(t, first, n.signed(p, slug, deliveredBody), true)
					f := n.rejected(t, n.signed(p, slug, append(deliveredBody, ' ')), delivered)
					if f.LeadID == "" || !f.DeliveredAt.Equal(at) {
						t.Errorf("got lead %q, delivered at %s", f.LeadID, f.DeliveredAt)
					}
				}
				for _, b := range [][]byte{body(tx), body(tx, partnerID(p.Accounts[0].Identifier))} {
					send(p.Slug, b, inactive)
					send(shared, b, hidden)
				}
				send(p.Slug, []byte("{"), badJSON)
				send(p.Slug, []byte("{}"), badPost)
				send(p.Slug, body(tx, partnerID(unknownAccount)), badPost.as(models.OutcomeUnknownAccount))
				send(p.Slug, body("tx_junk"), badTransactionID)
				for _, b := range [][]byte{[]byte("{}"), body("tx_junk")} {
					send(shared, append(b[:len(b):len(b)], ' '), hidden)
				}
				// The signature is required as before.
				forged := n.signed(p, p.Slug, deliveredBody)
				forged.Headers = n.Off.Sign(n.Time.Now(), deliveredBody)
				n.rejected(t, forged, badSignature)
				n.rejected(t, unsigned(p.Slug, deliveredBody), noSignature.as(models.OutcomeInactive))

				n.Time.Advance(quote.Validity + time.Millisecond)
				for _, slug := range []string{p.Slug, shared} {
					if f := n.rejected(t, n.signed(p, slug, deliveredBody), expired); f.LeadID == "" {
						t.Error("the rejection of a delivered transaction contains no lead")
					}
					withoutLead(t, n.rejected(t, n.signed(p, slug, old), expired))
				}
			})
		})
	}
}

// All problems with a payload are reported at once, even if the partnerId is not one of the partner's accounts.
func TestUnknownAccountOnOwnBaseURL(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	for _, named := range []string{unknownAccount, strings.Repeat("x", 129), n.Off.Accounts[0].Identifier} {
		f := n.rejected(t, n.signed(n.Required, n.Required.Slug, []byte(`{"partnerId":"`+named+`","email":"a@example.com"}`)),
			badPost.as(models.OutcomeUnknownAccount))
		var paths []string
		for _, field := range f.Fields {
			paths = append(paths, field.Path[0])
		}
		if len(paths) != 3 || paths[0] != "partnerId" || paths[1] != "transactionId" || paths[2] != "consent" {
			t.Errorf("got problems with %v, want partnerId, transactionId and consent", paths)
		}
		checkPartnerID(t, n.rejected(t, n.signed(n.Required, n.Required.Slug, body(n.quote(t, n.Required.Slug), partnerID(named))),
			badPost.as(models.OutcomeUnknownAccount)), named)
	}
	n.rejected(t, n.signed(n.Required, n.Required.Slug, []byte(`{"partnerId":"`+unknownAccount+`"`)), badJSON)
}
