package node

import (
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// Marker is a word that tests put in every text that the service does not interpret, such as names,
// notes, unknown fields and invalid values. If it appears in a rejection, the log, the metrics, or a
// database column that the variable clear does not list, personal data has leaked.
const Marker = "quillfeather"

// The contact details of the consumer in test leads.
const (
	PersonEmail   = "ottilie@" + Marker + ".example"
	PersonPhone   = "+442079460958"
	PersonLocal   = "020 7946 0958"
	PersonAddress = "7 Larkspur Mews, " + Marker
	PersonNotes   = "The tap drips on the " + Marker + "."
)

// MinimalPost is the body of a post with only the required fields.
const MinimalPost = `{"transactionId":"$TX","contact":{"email":"` + PersonEmail + `"},"consent":{"acknowledged":true}}`

// Secrets returns the personal data and the secrets that the tests use, except for those that contain
// Marker. The map's keys describe the values.
func (n *Node) Secrets() map[string]string {
	raw := func(key string) string {
		bytes, _ := base64.StdEncoding.DecodeString(key)
		return string(bytes)
	}
	platform, kek := n.Config.Keys.Platform[0].Reveal(), ""
	if local := n.Config.Keys.Local; len(local) > 0 {
		kek = local[0].Reveal()
	}
	return map[string]string{
		"the phone number":               PersonPhone,
		"the phone number as typed":      PersonLocal,
		"the required partner's secret":  n.Required.Secret,
		"the reporting partner's secret": n.ReportOnly.Secret,
		"the unsigned partner's secret":  n.Off.Secret,
		"the platform key":               platform,
		"the platform key's bytes":       raw(platform),
		"the KEK":                        kek,
		"the KEK's bytes":                raw(kek),
		"the database's password":        "app-of-tests",
	}
}

// checkRepeatsNothing fails the test if a rejection contains personal data from the request or a secret.
func (n *Node) checkRepeatsNothing(t testing.TB, a Answer) {
	t.Helper()
	var all strings.Builder
	_ = a.Header.Write(&all)
	all.WriteString(a.Body)
	for _, what := range n.leaksIn(all.String()) {
		t.Errorf("the rejection contains %s: %s", what, a.Body)
	}
}

// leaksIn describes the personal data and secrets that a text contains. It finds them in hexadecimal
// form as well, because that is how Postgres displays bytes.
func (n *Node) leaksIn(text string) []string {
	lower := strings.ToLower(text)
	var found []string
	for what, secret := range n.Secrets() {
		if secret != "" && (strings.Contains(text, secret) || strings.Contains(lower, hex.EncodeToString([]byte(secret)))) {
			found = append(found, what)
		}
	}
	if strings.Contains(lower, Marker) || strings.Contains(lower, hex.EncodeToString([]byte(Marker))) {
		found = append(found, "the marker")
	}
	return found
}

// The variable clear lists the columns that may contain unencrypted text from requests: parts of the
// consent record, the postcode, and fields of the ping (decisions 2 and 20).
var clear = []string{
	"disclosures.text", "consents.form_cert_url", "consents.third_party_lead_id",
	"pings.budget", "pings.job_type", "pings.urgency", "pings.postcode",
	"leads.postcode", "leads.quoted_postcode", "leads.partner_reference", "leads.sub_id",
}

// CheckNoPersonalData stops the node and searches its log, its metrics and all tables for personal data
// and secrets. To check that the search works, it first sends a ping whose budget is the marker. The
// budget is stored unencrypted, so the search must find it.
func (n *Node) CheckNoPersonalData(t *testing.T) {
	t.Helper()
	n.Ping(t, "", `{"industry":"plumber","postcode":"1","budget":"`+Marker+`"}`)
	metrics := n.Get(t, n.Ops+"/metrics")
	n.Shutdown(t)
	for name, text := range map[string]string{"log": n.Log.String(), "metrics": metrics} {
		for _, what := range n.leaksIn(text) {
			t.Errorf("found %s in the %s", what, name)
		}
	}
	if !strings.Contains(n.Log.String(), `"msg":"request"`) || !strings.Contains(metrics, "pingpost_requests_total") {
		t.Error("log or metrics do not mention the requests, so the search proves nothing")
	}
	found := map[string][]string{}
	for column, text := range n.DB.Columns(t) {
		if leaks := n.leaksIn(text); leaks != nil {
			found[column] = leaks
		}
	}
	for column, leaks := range found {
		if !slices.Contains(clear, column) || !slices.Equal(leaks, []string{"the marker"}) {
			t.Errorf("stored as text in %s: %s", column, strings.Join(leaks, ", "))
		}
	}
	if found["pings.budget"] == nil {
		t.Error("the marker is not in pings.budget, so the search proves nothing")
	}
}

// Get returns the response body for a URL outside the partner API. The status must be 200.
func (n *Node) Get(t testing.TB, url string) string {
	t.Helper()
	resp, err := n.Client.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: got %s, want 200: %s", url, resp.Status, text)
	}
	return string(text)
}
