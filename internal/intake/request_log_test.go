package intake_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/base/clientaddr"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/protocol/signing"
	"github.com/pingpost/pingpost/models"
)

type rejectionRow struct {
	request           uuid.UUID
	at                time.Time
	endpoint, outcome string
	fields            []string
}

// rejections returns a partner's rejections, newest first.
func (n *node) rejections(t testing.TB, p testkit.Partner) []rejectionRow {
	t.Helper()
	rows, err := n.sees.Query(t.Context(),
		`SELECT request_id, at, endpoint, outcome, fields FROM api_requests WHERE partner_id = $1 ORDER BY id DESC`, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (r rejectionRow, err error) {
		return r, row.Scan(&r.request, &r.at, &r.endpoint, &r.outcome, &r.fields)
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The newest rejections of each partner are kept, and so are those that belong to no partner (decision 80).
func TestNewestRejectionsAreKept(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	var sent []uuid.UUID // of Required, the newest first
	for round := range 3 {
		for range 3 {
			n.Time.Advance(time.Second)
			r := n.signed(n.Required, n.Required.Slug, []byte(`{"contact":{"email":""},"answers":7}`))
			n.rejected(t, r, badPost)
			sent = slices.Insert(sent, 0, r.ID)
		}
		if round == 0 {
			n.rejected(t, unsigned(shared, []byte("{")), noSignature) // belongs to the platform account
			n.rejected(t, n.signed(n.Off, n.Off.Slug, []byte("{")), badJSON)
			stranger := unsigned(shared, body("tx_1", partnerID(unknownAccount))) // belongs to no partner
			stranger.Headers = testkit.SignWith(unknownSecret, n.Time.Now(), stranger.Body)
			n.rejected(t, stranger, badSignature.as(models.OutcomeUnknownAccount))
		}
		n.Traffic.Flush(t.Context())
	}
	kept := n.rejections(t, n.Required)
	if len(kept) != testkit.RequestLogRows {
		t.Fatalf("got %d rejections, want %d", len(kept), testkit.RequestLogRows)
	}
	for i, r := range kept {
		at := n.Time.Now().Add(-time.Duration(i) * time.Second)
		if r.request != sent[i] || !r.at.Equal(at) || r.endpoint != "post" || r.outcome != "payload" {
			t.Errorf("rejection %d: got %+v", i, r)
		}
		if want := []string{"transactionId", "contact.email", "consent.acknowledged", "answers"}; !slices.Equal(r.fields, want) {
			t.Errorf("got fields %v, want %v", r.fields, want)
		}
	}
	if kept := n.rejections(t, n.Off); len(kept) != 1 || kept[0].outcome != "json" || len(kept[0].fields) != 0 {
		t.Errorf("other partner: got %+v", kept)
	}
	if all := see[int64](t, n, `SELECT count(*) FROM api_requests`); all != testkit.RequestLogRows+3 {
		t.Errorf("got %d rejections in total", all)
	}
}

// Values from a rejected request are never stored or logged. Only the names of its invalid fields
// are stored (decision 24).
func TestRejectionsContainNoValues(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	const canary = "CANARYBIRD"
	long := strings.Repeat(canary, 1000)
	bodies := []string{
		body1("email", canary), body1("email", long), body1("partnerId", canary), body1("partnerId", n.Off.Accounts[0].Identifier+canary),
		body1("transactionId", canary), body1("transactionId", "tx_"+canary), body1("notes", long), body1("postcode", long), body1("country", canary),
		body1(canary, canary), `{"` + canary + `":`, canary, `["` + canary + `"]`,
		`{"contact":{"email":"` + canary + `","name":"` + long + `","phoneE164":"` + canary + `","` + canary + `":1}}`,
		`{"location":{"country":"` + canary + `","postcode":"` + long + `","address":"` + long + `"}}`,
		`{"consent":{"acknowledged":"` + canary + `","acknowledgedAt":"` + canary + `","recipientHash":"` +
			canary + `","thirdPartyFormCertUrl":"` + canary + `"}}`,
		`{"answers":{"` + long + `":"` + canary + `"},"contact":"` + canary + `","consent":"` + canary +
			`","location":"` + canary + `"}`,
		string(body("tx_"+canary, `"name":"`+canary+`"`)),
		string(body(n.quote(t, n.Off.Slug), partnerID(n.Required.Accounts[0].Identifier), `"name":"`+canary+`"`)),
	}
	reject := func(r intake.PostRequest) {
		t.Helper()
		if _, err := n.in.Post(t.Context(), r); err == nil {
			t.Fatalf("accepted: %.80s", r.Body)
		} else if strings.Contains(err.Error(), canary) {
			t.Errorf("the error contains values: %v", err)
		}
	}
	for _, text := range bodies {
		for _, slug := range []string{shared, n.Required.Slug} {
			reject(n.signed(n.Required, slug, []byte(text)))
			reject(unsigned(slug, []byte(text)))
			if _, err := n.in.Ping(intake.PingRequest{ID: uuid.New(), Slug: slug, Body: []byte(text)}); err == nil {
				t.Fatalf("priced: %.80s", text)
			}
		}
	}
	for _, headers := range []signing.Headers{
		{Timestamp: []string{canary}, Signature: []string{canary}},
		{Timestamp: []string{"1"}, Alias: []string{canary}},
		{Timestamp: []string{canary}},
	} {
		r := unsigned(n.Off.Slug, body("tx_1"))
		r.Headers, r.Address = headers, clientaddr.Group(canary)
		reject(r)
	}
	_, _ = n.in.Post(t.Context(), unsigned(canary, body("tx_1")))
	n.Traffic.Flush(t.Context())
	run(t, n.Recorder.Run)()

	if see[int64](t, n, `SELECT count(*) FROM api_requests`) < testkit.RequestLogRows {
		t.Error("no rejections were recorded, so the search below would be pointless")
	}
	for _, table := range n.tables(t) {
		if rows := see[int64](t, n, `SELECT count(*) FROM `+table+` AS row WHERE row::text ILIKE '%' || $1 || '%'`, canary); rows != 0 {
			t.Errorf("%d rows of %s contain values", rows, table)
		}
	}
	if strings.Contains(n.Log.String(), canary) {
		t.Error("the log contains values")
	}
}

func body1(name, value string) string { return fmt.Sprintf(`{%q:%q}`, name, value) }

func (n *node) tables(t testing.TB) []string {
	t.Helper()
	return see[[]string](t, n, `SELECT array_agg(tablename::text ORDER BY tablename) FROM pg_tables WHERE schemaname = 'public'`)
}

// loggedRow is a row of the request log.
type loggedRow struct {
	Request                                uuid.UUID
	Kind, Endpoint, Outcome, Code, Message string
	Account, Secret, Lead                  *uuid.UUID
	Status, Took                           int
}

// logged returns a partner's logged requests, newest first, after writing them.
func (n *node) logged(t testing.TB, p testkit.Partner) []loggedRow {
	t.Helper()
	n.Traffic.Flush(t.Context())
	rows, err := n.sees.Query(t.Context(), `SELECT request_id, kind, endpoint, outcome, code, message, account_id, secret_id, lead_id, status, duration_us
		FROM api_requests WHERE partner_id = $1 ORDER BY id DESC`, p.ID)
	if err != nil {
		t.Fatal(err)
	}
	found, err := pgx.CollectRows(rows, pgx.RowToStructByPos[loggedRow])
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// A delivered post is not logged, because its lead contains the request ID. Replays and rejections are
// logged with what the response contained (decision 65).
func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	sent := n.signed(n.Required, n.Required.Slug, body(n.quote(t, n.Required.Slug)))
	first := n.post(t, sent)
	if got := n.logged(t, n.Required); len(got) != 0 {
		t.Fatalf("a delivered post was logged: %+v", got)
	}
	replay := sent
	replay.ID = uuid.New()
	n.post(t, replay)
	other := n.signed(n.Required, n.Required.Slug, append(slices.Clone(sent.Body), ' '))
	n.rejected(t, other, delivered)
	cut := unsigned(n.Required.Slug, sent.Body)
	n.rejected(t, cut, noSignature)
	account, secret := n.Required.Accounts[0].ID, n.Required.SecretID
	for i, want := range []loggedRow{
		{cut.ID, "other_post", "post", "signature_missing", "signature_missing", "Missing required X-Signature-SHA256 header", &account, nil, nil, 401, 0},
		{other.ID, "signed_post", "post", "already_delivered", "transaction_delivered", "Transaction has already been delivered", &account, &secret, &first.LeadID, 409, 0},
		{replay.ID, "signed_post", "post", "replayed", "", "", &account, &secret, &first.LeadID, 200, 0},
	} {
		got := n.logged(t, n.Required)
		if len(got) != 3 {
			t.Fatalf("got %d requests, want 3: %+v", len(got), got)
		}
		row := slices.IndexFunc(got, func(r loggedRow) bool { return r.Request == want.Request })
		if row < 0 || !reflect.DeepEqual(got[row], want) {
			t.Errorf("request %d: got %+v, want %+v", i, got, want)
		}
	}
}

// The duration of a delivered post is recorded once. Everything else is in the rows of its lead.
func TestDurationsOfDeliveredPosts(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	sent := n.signed(n.Required, n.Required.Slug, body(n.quote(t, n.Required.Slug)))
	n.post(t, sent)
	replay := sent
	replay.ID = uuid.New()
	n.post(t, replay)
	n.rejected(t, unsigned(n.Required.Slug, sent.Body), noSignature)
	n.Traffic.Flush(t.Context())
	n.Traffic.Flush(t.Context())
	type row struct {
		Request  uuid.UUID
		Duration int64 // 0, because the clock of a test stands still
	}
	rows, err := n.sees.Query(t.Context(), `SELECT request_id, duration_us FROM post_durations`)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := pgx.CollectRows(rows, pgx.RowToStructByPos[row]); err != nil || !slices.Equal(got, []row{{sent.ID, 0}}) {
		t.Errorf("got %+v (%v)", got, err)
	}
}

// Requests that anyone can send do not push out signed posts, and 429s do not push out other requests.
func TestKindsOfRequestsHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	limited := n.with(intake.Settings{PingRate: 1, PostRate: 1})
	p := n.Required
	want := []uuid.UUID{}
	for _, r := range []intake.PostRequest{n.signed(p, p.Slug, []byte("{")), unsigned(p.Slug, []byte("{"))} {
		if _, err := limited.in.Post(t.Context(), r); err == nil {
			t.Fatal("accepted")
		}
		want = append(want, r.ID)
	}
	ping := intake.PingRequest{ID: uuid.New(), Slug: p.Slug, Body: []byte("{")}
	if _, err := limited.in.Ping(ping); err == nil {
		t.Fatal("priced")
	}
	want = append(want, ping.ID)
	has := func(what string) {
		t.Helper()
		got := n.logged(t, p)
		for i, request := range want {
			if !slices.ContainsFunc(got, func(r loggedRow) bool { return r.Request == request }) {
				t.Errorf("%s pushed out request %d", what, i)
			}
		}
	}
	for range 4 * testkit.RequestLogRows { // over the limit of the rate, so they get a 429
		_, _ = limited.in.Post(t.Context(), n.signed(p, p.Slug, []byte("{")))
		_, _ = limited.in.Ping(intake.PingRequest{ID: uuid.New(), Slug: p.Slug, Body: []byte("{")})
	}
	has("429s")
	want = want[:2]
	for range 4 * testkit.RequestLogRows {
		_, _ = n.in.Ping(intake.PingRequest{ID: uuid.New(), Slug: p.Slug, Body: []byte("{")})
	}
	has("pings")
	want = want[:1]
	for range 4 * testkit.RequestLogRows {
		n.rejected(t, unsigned(p.Slug, []byte("{")), noSignature)
	}
	has("unsigned posts")
	kinds := map[string]int{}
	for _, r := range n.logged(t, p) {
		kinds[r.Kind]++
	}
	full := testkit.RequestLogRows
	if !maps.Equal(kinds, map[string]int{"signed_post": 1, "other_post": full, "ping": full, "rate_limited": full}) {
		t.Errorf("got %v", kinds)
	}
}

// Staff see which secret signed a post if it expired or was revoked. The response does not reveal it.
func TestPostsWithEndedSecrets(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p, active := n.Required, n.ReportOnly
	away := n.AddPartner(t, "away", models.SigningRequired)
	n.DB.Exec(t, `UPDATE partners SET shared_base_url = false WHERE id = $1`, away.ID)
	if err := n.Partners.RevokeSecret(t.Context(), scope.System, p.Partner, p.SecretID); err != nil {
		t.Fatal(err)
	}
	if err := n.Partners.ExpireSecret(t.Context(), scope.System, n.Off.Partner, n.Off.SecretID, n.Time.Now()); err != nil {
		t.Fatal(err)
	}
	n.Reload(t)
	for name, c := range map[string]struct {
		slug, secret string
		members      []string
		owner        testkit.Partner
		want         uuid.UUID
	}{
		"active, own quote with an unknown partnerId":        {shared, away.Secret, []string{partnerID(unknownAccount)}, away, away.SecretID},
		"active, shared base URL with an unknown partnerId":  {shared, active.Secret, []string{partnerID(unknownAccount)}, active, active.SecretID},
		"active, shared base URL, other partner's partnerId": {shared, active.Secret, []string{partnerID(p.Accounts[0].Identifier)}, p, uuid.Nil},
		"revoked, own base URL":                              {p.Slug, p.Secret, nil, p, p.SecretID},
		"revoked, shared base URL with a partnerId":          {shared, p.Secret, []string{partnerID(p.Accounts[0].Identifier)}, p, p.SecretID},
		"revoked, shared base URL":                           {shared, p.Secret, nil, p, p.SecretID},
		"expired, own base URL":                              {n.Off.Slug, n.Off.Secret, nil, n.Off, n.Off.SecretID},
		"another partner's secret":                           {p.Slug, n.Off.Secret, nil, p, uuid.Nil},
		"unknown, own base URL":                              {p.Slug, unknownSecret, nil, p, uuid.Nil},
	} {
		tx := "tx_1"
		if c.owner.ID == away.ID {
			tx = n.quote(t, away.Slug)
		}
		r := unsigned(c.slug, body(tx, c.members...))
		r.Headers = testkit.SignWith(c.secret, n.Time.Now(), r.Body)
		outcome, kind := badSignature, "other_post"
		if c.owner.ID == active.ID || c.owner.ID == away.ID {
			outcome, kind = badSignature.as(models.OutcomeUnknownAccount), "signed_post"
		}
		n.rejected(t, r, outcome)
		got := n.logged(t, c.owner)
		i := slices.IndexFunc(got, func(row loggedRow) bool { return row.Request == r.ID })
		if i < 0 {
			t.Errorf("%s: not logged", name)
			continue
		}
		var secret uuid.UUID
		if got[i].Secret != nil {
			secret = *got[i].Secret
		}
		if got[i].Kind != kind || got[i].Outcome != outcome.reason || got[i].Status != 401 || secret != c.want {
			t.Errorf("%s: got %+v", name, got[i])
		}
	}
	// A post that no secret of any partner signed belongs to no partner, and so does a ping to the shared base URL.
	stranger := unsigned(shared, body("tx_1"))
	stranger.Headers = testkit.SignWith(unknownSecret, n.Time.Now(), stranger.Body)
	n.rejected(t, stranger, badSignature)
	ping := intake.PingRequest{ID: uuid.New(), Body: []byte("{")}
	if _, err := n.in.Ping(ping); err == nil {
		t.Fatal("priced")
	}
	var ofNobody []uuid.UUID
	for _, r := range n.logged(t, testkit.Partner{}) {
		ofNobody = append(ofNobody, r.Request)
	}
	if !slices.Contains(ofNobody, stranger.ID) || !slices.Contains(ofNobody, ping.ID) || len(ofNobody) != 2 {
		t.Errorf("the requests without a partner are %v", ofNobody)
	}
	// After 30 days, the secret is treated like an unknown one.
	n.Time.Advance(31 * 24 * time.Hour)
	late := unsigned(p.Slug, body("tx_1"))
	late.Headers = testkit.SignWith(p.Secret, n.Time.Now(), late.Body)
	n.rejected(t, late, badSignature)
	if got := n.logged(t, p); got[0].Request != late.ID || got[0].Secret != nil {
		t.Errorf("after 31 days: got %+v", got[0])
	}
}

// The memory for bodies with a wrong signature is limited. Posts beyond the limit are logged without their
// secret.
func TestWrongSignaturesAreLimited(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	p := n.Required
	if err := n.Partners.RevokeSecret(t.Context(), scope.System, p.Partner, p.SecretID); err != nil {
		t.Fatal(err)
	}
	n.Reload(t)
	large := body("tx_1", `"notes":"`+strings.Repeat("x", 60<<10)+`"`)
	const within = 4 << 20 / (60 << 10)
	var last uuid.UUID
	for range within + 1 {
		r := n.signed(p, p.Slug, large)
		n.rejected(t, r, badSignature)
		last = r.ID
	}
	found := 0
	for _, row := range n.logged(t, p) {
		if row.Secret != nil && *row.Secret == p.SecretID {
			found++
		} else if row.Request != last || row.Secret != nil {
			t.Errorf("without the secret: got %+v", row)
		}
	}
	if found != testkit.RequestLogRows-1 { // the last post counts towards the same limit
		t.Errorf("%d posts are logged with their secret, want %d", found, testkit.RequestLogRows-1)
	}
	again := n.signed(p, p.Slug, large)
	n.rejected(t, again, badSignature)
	if got := n.logged(t, p); got[0].Request != again.ID || got[0].Secret == nil {
		t.Errorf("after the write: got %+v", got[0])
	}
}

// Staff see that a partner is not active, however the post identifies the partner.
func TestRejectionsOfInactivePartners(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	gone := n.AddPartner(t, "gone", models.SigningRequired)
	n.DB.Exec(t, `UPDATE partners SET status = 'suspended' WHERE id = $1`, gone.ID)
	n.Reload(t)
	tx := n.quote(t, shared)
	n.rejected(t, n.signed(gone, gone.Slug, body(tx)), inactive)
	n.rejected(t, n.signed(gone, shared, body("tx_1", partnerID(gone.Accounts[1].Identifier))), badSignature.as(models.OutcomeInactive))
	n.rejected(t, unsigned(gone.Slug, body(tx)), noSignature.as(models.OutcomeInactive))
	n.Traffic.Flush(t.Context())
	got := n.rejections(t, gone)
	if len(got) != 3 {
		t.Fatalf("got %d rejections: %+v", len(got), got)
	}
	for _, r := range got {
		if r.outcome != "inactive" {
			t.Errorf("got outcome %q", r.outcome)
		}
	}
	sandbox := see[int](t, n,
		`SELECT count(*) FROM traffic_minutes WHERE partner_id = $1 AND account_id = $2 AND outcome = 'inactive'`,
		gone.ID, gone.Accounts[1].ID)
	if sandbox != 1 {
		t.Errorf("got %d counters of the account, want 1", sandbox)
	}
}
