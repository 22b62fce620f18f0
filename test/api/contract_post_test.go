package api

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pingpost/pingpost/test/node"
)

// hash is a SHA-256 hash in the form that partners send.
const hash = "475A7CDB32C3661DB2C8E9259C3A2C506E675B9B5E983068E23CB795C191E7A0"

// fullPost contains every field in the specification, and an unknown one.
const fullPost = `{"transactionId":"$TX","partnerId":"harbour-leads-second",
	"contact":{"email":"` + node.PersonEmail + `","name":"Ottilie Quillfeather","phoneE164":"` + node.PersonPhone + `"},
	"location":{"postcode":"EC1A 1BB","address":"` + node.PersonAddress + `","country":"ie"},
	"consent":{"acknowledged":true,"acknowledgedAt":"2026-01-02T03:50:40+01:00","disclosureText":"I agree to be called by ` + node.Marker + `.",
		"recipientHash":"` + hash + `","thirdPartyFormCertUrl":"https://certs.example/` + node.Marker +
	`","thirdPartyLeadId":"token-` + node.Marker + `"},
	"notes":"` + node.PersonNotes + `","answers":{"ownsHome":true,"bird":"` + node.Marker + `","rooms":[1,2.50,null]},
	"reference":"\"` + node.Marker + `\"/1","subId":"` + node.Marker + `",
	"unknown":{"passport":"` + node.Marker + `"}}`

func postFields(t *testing.T, n *node.Node) {
	t.Run("every field", func(t *testing.T) { everyField(t, n) })
	t.Run("required fields only", func(t *testing.T) { requiredFields(t, n) })
	t.Run("alternatives", func(t *testing.T) { alternatives(t, n) })
	t.Run("reference and subId", func(t *testing.T) { references(t, n) })
}

// A reference or subId that is not valid is ignored. The response to the post contains a warning, even if the value was
// in the ping (decision 63).
func references(t *testing.T, n *node.Node) {
	const ping = `{"industry":"plumber","postcode":"SW1A 1AA","reference":"click-1","subId":7}`
	tx := n.Ping(t, n.Required.Base(), ping).TransactionID
	a := n.Post(t, n.Required, node.WithTransaction(node.MinimalPost, tx))
	for _, want := range []string{
		`"transactionId":"` + tx + `","reference":"click-1","hmacVerified":true`,
		`"warnings":[{"code":"value_ignored","path":["subId"],"message":"`,
	} {
		if a.Status != http.StatusOK || !strings.Contains(a.Body, want) {
			t.Errorf("got %d %s, want %s", a.Status, a.Body, want)
		}
	}
}

func everyField(t *testing.T, n *node.Node) {
	ping := n.Ping(t, n.Required.Base(), `{"industry":"roofer","postcode":"SW1A 1AA","country":"DE","urgency":"Immediate"}`)
	n.Manual.Advance(time.Minute)
	var a node.Answer
	n.Stores(t, node.OneLead, func() { a = n.Post(t, n.Required, node.WithTransaction(fullPost, ping.TransactionID)) })
	d := node.Decode[node.Delivered](t, a)
	if d.Status != "success" || !strings.HasPrefix(d.LeadID, "ld_") || d.Payout != ping.BidPrice ||
		d.Currency != "EUR" || d.Sandbox || d.TransactionID != ping.TransactionID || !d.HMACVerified ||
		d.Reference != `"`+node.Marker+`"/1` || d.SubID != node.Marker {
		t.Errorf("got %s", a.Body)
	}
	if got := a.Header.Get("Server-Timing"); !serverTiming.MatchString(got) ||
		!strings.Contains(got, `desc="roofer/DE/immediate"`) {
		t.Errorf("got Server-Timing %s", got)
	}
	if a.Header.Get("X-Response-Time") != "1ms" || a.Header.Get("Idempotent-Replayed") != "" {
		t.Errorf("got headers %v", a.Header)
	}
	l := n.Lead(t, d.LeadID)
	now := n.Clock.Now().Truncate(time.Millisecond)
	if l.PartnerID != n.Required.ID || l.Account != n.Required.Accounts[1] || !l.Signed || !l.HMACVerified ||
		l.Industry != "roofer" || l.Urgency != "immediate" || l.Country != "IE" || l.Postcode != "EC1A 1BB" ||
		l.QuotedPostcode != "SW1A 1AA" || l.PartnerReference != d.Reference || l.SubID != d.SubID ||
		l.Currency != "EUR" || l.Price != minor(t, ping.BidPrice) || l.Accrued != l.Price || l.PhoneFlagged ||
		!l.QuotedAt.Equal(now.Add(-time.Minute)) || !l.ReceivedAt.Equal(now) {
		t.Errorf("got lead %+v", l)
	}
	if !l.AcknowledgedAt.Equal(time.Date(2026, 1, 2, 2, 50, 40, 0, time.UTC)) || *l.AcknowledgedText != "2026-01-02T03:50:40+01:00" ||
		*l.DisclosureText != "I agree to be called by "+node.Marker+"." ||
		*l.RecipientHash != strings.ToLower(hash) || *l.FormCertURL != "https://certs.example/"+node.Marker ||
		*l.ThirdPartyLeadID != "token-"+node.Marker {
		t.Errorf("got consent %+v", l)
	}
	want := map[string]any{
		"email":     node.PersonEmail,
		"name":      "Ottilie Quillfeather",
		"phone":     node.PersonPhone,
		"phoneE164": node.PersonPhone,
		"address":   node.PersonAddress,
		"notes":     node.PersonNotes,
		"answers":   map[string]any{"ownsHome": true, "bird": node.Marker, "rooms": []any{1.0, 2.5, nil}},
	}
	if diff := cmp.Diff(want, l.Contact); diff != "" {
		t.Errorf("contact record (-want +got):\n%s", diff)
	}
	checkEnvelope(t, a, d, l)
}

// checkEnvelope checks that the response contains the stored envelope, in standard base64 and
// without its salt.
func checkEnvelope(t *testing.T, a node.Answer, d node.Delivered, l node.Lead) {
	t.Helper()
	e := d.Envelope
	if !bytes.Equal(e.PIICiphertext, l.Ciphertext) || !bytes.Equal(e.WrappedDEK, l.Wrapped) ||
		!bytes.Equal(e.IV, l.IV) || !bytes.Equal(e.AuthTag, l.AuthTag) {
		t.Errorf("the response does not contain the stored envelope: %s", a.Body)
	}
	if len(e.IV) != 12 || len(e.AuthTag) != 16 {
		t.Errorf("got an IV of %d bytes and a tag of %d bytes, want 12 and 16", len(e.IV), len(e.AuthTag))
	}
	var raw struct{ Envelope map[string]string }
	if err := json.Unmarshal([]byte(a.Body), &raw); err != nil || len(raw.Envelope) != 4 {
		t.Errorf("got envelope %v: %v", raw.Envelope, err)
	}
	for name, text := range raw.Envelope {
		if _, err := base64.StdEncoding.Strict().DecodeString(text); err != nil {
			t.Errorf("%s is not base64: %v", name, err)
		}
	}
	if strings.Contains(a.Body, base64.StdEncoding.EncodeToString(l.Salt)) {
		t.Error("the response contains the salt")
	}
}

func requiredFields(t *testing.T, n *node.Node) {
	ping := n.Ping(t, n.Off.Base(), `{"industry":"plumber","postcode":" SW1A 1AA ","country":"fr"}`)
	var a node.Answer
	n.Stores(t, node.OneLead, func() {
		a = n.Do(t, node.Request{
			Path: n.Off.Base() + "/api/lead/post",
			Body: node.WithTransaction(node.MinimalPost, ping.TransactionID),
		})
	})
	d := node.Decode[node.Delivered](t, a)
	if d.HMACVerified {
		t.Error("an unsigned post is reported as verified")
	}
	l := n.Lead(t, d.LeadID)
	if l.Country != "FR" || l.Postcode != "SW1A 1AA" || l.Signed || l.HMACVerified ||
		l.Account != n.Off.Accounts[0] || l.Accrued != minor(t, ping.BidPrice) {
		t.Errorf("got lead %+v", l)
	}
	if l.AcknowledgedAt != nil || l.AcknowledgedText != nil || l.DisclosureText != nil || l.RecipientHash != nil || l.FormCertURL != nil ||
		l.ThirdPartyLeadID != nil {
		t.Errorf("got more consent fields than were sent: %+v", l)
	}
	if diff := cmp.Diff(map[string]any{"email": node.PersonEmail}, l.Contact); diff != "" {
		t.Errorf("contact record (-want +got):\n%s", diff)
	}
	checkEnvelope(t, a, d, l)
}

// alternatives sends each field under each of its names, and then under several names at once. If
// there are several, the service uses the name that comes first in the specification.
func alternatives(t *testing.T, n *node.Node) {
	const consent = `"consent":{"acknowledged":true}`
	for _, c := range []struct{ name, fields, field, want string }{
		{"email", `"email":"a@b.example",` + consent, "email", "a@b.example"},
		{"email, and a contact without email", `"contact":{"email":null,"name":"A"},"email":"a@b.example",` + consent,
			"email", "a@b.example"},
		{"contact.email first", `"contact":{"email":"c@d.example"},"email":7,` + consent, "email", "c@d.example"},
		{"contact.name first", `"contact":{"email":"a@b.example","name":"A","fullName":"B"},"name":"C",` + consent, "name", "A"},
		{"contact.fullName", `"contact":{"email":"a@b.example","fullName":"B"},"name":"C",` + consent, "name", "B"},
		{"name", `"contact":{"email":"a@b.example"},"name":"C",` + consent, "name", "C"},
		{"contact.phoneE164 first",
			`"contact":{"email":"a@b.example","phoneE164":"+442079460958","phone":"1"},"phone":"2",` + consent,
			"phoneE164", node.PersonPhone},
		{"contact.phone", `"contact":{"email":"a@b.example","phone":"020 7946 0958"},"phone":"2",` + consent,
			"phoneE164", node.PersonPhone},
		{"phone", `"email":"a@b.example","phone":"020 7946 0958",` + consent, "phone", node.PersonLocal},
		{"an invalid phone", `"email":"a@b.example","phone":"call ` + node.Marker + `",` + consent, "phone",
			"call " + node.Marker},
		{"location.address first",
			`"email":"a@b.example","location":{"address":"A","street_address":"B"},"address":"C",` + consent,
			"address", "A"},
		{"location.street_address", `"email":"a@b.example","location":{"street_address":"B"},"address":"C",` + consent,
			"address", "B"},
		{"address", `"email":"a@b.example","address":"C",` + consent, "address", "C"},
		{"location.postcode first",
			`"email":"a@b.example","location":{"postcode":"1","postal_code":"2"},"postcode":"3","postal_code":"4",` + consent,
			"postcode", "1"},
		{"location.postal_code",
			`"email":"a@b.example","location":{"postal_code":"2"},"postcode":"3","postal_code":"4",` + consent,
			"postcode", "2"},
		{"postcode", `"email":"a@b.example","postcode":"3","postal_code":"4",` + consent, "postcode", "3"},
		{"postal_code", `"email":"a@b.example","postal_code":"4",` + consent, "postcode", "4"},
		{"location.country first", `"email":"a@b.example","location":{"country":"us"},"country":"ca",` + consent,
			"country", "US"},
		{"country", `"email":"a@b.example","country":"ca",` + consent, "country", "CA"},
		{"thirdPartyFormCertUrl", `"email":"a@b.example","thirdPartyFormCertUrl":"https://c.example/1",` + consent,
			"cert", "https://c.example/1"},
		{"consent.thirdPartyFormCertUrl first",
			`"email":"a@b.example","thirdPartyFormCertUrl":"x","consent":{"acknowledged":true,"thirdPartyFormCertUrl":"https://c.example/2"}`,
			"cert", "https://c.example/2"},
		{"thirdPartyLeadId", `"email":"a@b.example","thirdPartyLeadId":"t1",` + consent, "token", "t1"},
		{"consent.thirdPartyLeadId first",
			`"email":"a@b.example","thirdPartyLeadId":"t1","consent":{"acknowledged":true,"thirdPartyLeadId":"t2"}`,
			"token", "t2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var l node.Lead
			n.Stores(t, node.OneLead,
				func() { l = n.Lead(t, n.Deliver(t, n.Required, `{"transactionId":"$TX",`+c.fields+`}`).LeadID) })
			got := map[string]any{
				"postcode": l.Postcode,
				"country":  l.Country,
				"cert":     l.FormCertURL,
				"token":    l.ThirdPartyLeadID,
			}[c.field]
			switch v := got.(type) {
			case nil:
				got = l.Contact[c.field]
			case *string:
				got = *v
			}
			if got != c.want {
				t.Errorf("%s: got %v, want %s", c.field, got, c.want)
			}
			if c.field == "phone" && l.PhoneFlagged != (c.want != node.PersonLocal) {
				t.Errorf("got phone flagged: %t", l.PhoneFlagged)
			}
		})
	}
}
