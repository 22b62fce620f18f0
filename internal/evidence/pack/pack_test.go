package pack_test

import (
	"archive/zip"
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

var (
	created   = time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)
	signer    = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{7}, ed25519.SeedSize))
	otherKey  = ed25519.NewKeyFromSeed(bytes.Repeat([]byte{8}, ed25519.SeedSize))
	retiredAt = created.Add(time.Hour)
)

// ptr returns a pointer to a value.
func ptr[T any](v T) *T { return &v }

// document returns a document with a value in every field.
func document() pack.Document {
	staff := uuid.MustParse("0190a0a0-0000-7000-8000-000000000001")
	row := models.AuditEvent{
		ID: 41, At: created.Add(-time.Hour), StaffID: &staff, Actor: "fay@example.com", Role: "finance", Action: "lead.reveal", ObjectKind: "lead",
		ObjectID: "ld_1", PartnerID: &staff, Before: ptr(`{"a":1.50}`), After: ptr(`{"field":"email"}`), Reason: "reason-1", Address: "192.0.2.1",
		RequestID: "rq_1", Outcome: models.AuditDone, PrevHash: bytes.Repeat([]byte{1}, 32),
	}
	sum := audit.Hash(&row)
	row.Hash = sum[:]
	return pack.Document{
		Platform: "https://leads.example.com", CreatedAt: created, CreatedBy: "gus@example.com", DisputedReturn: "rt_1",
		Lead: pack.Lead{
			ID: "ld_1", State: "delivered", PartnerID: "pt_1", PartnerName: "Müller & Söhne <b>", AccountID: "ac_1", Account: "harbour-main",
			Industry: "plumber", Country: "GB", RateCardVersion: 17, Price: &pack.Amount{Amount: "45.60", Currency: "GBP"},
		},
		Times: pack.Times{PingedAt: created.Add(-3 * time.Hour), QuoteExpiresAt: created.Add(-165 * time.Minute), ReceivedAt: created.Add(-170 * time.Minute)},
		Consent: pack.Consent{
			Acknowledged: true, AcknowledgedAt: ptr(created.Add(-171 * time.Minute)), AcknowledgedText: ptr("text-1"), AcknowledgedDoubt: "consent_time_implausible", ReceivedAt: ptr(created.Add(-170 * time.Minute)),
			DisclosureText: ptr("I agree\nto <script>alert(1)</script> & \u202ecalls"), DisclosureReplacedAt: ptr(created.Add(-5 * time.Minute)),
			RecipientHash: ptr("abab"), CertificateURL: ptr("https://cert.example.com/1"),
			ThirdPartyLeadID: ptr("third-1"),
		},
		Signature: pack.Signature{Verified: true, Scheme: "HMAC-SHA256", SecretID: "sk_1", SecretLabel: "first", SecretPrefix: "pps_", SecretEnding: "wxyz"},
		Contact:   []pack.Field{{Field: "email", Label: "email address", Value: "ann@example.com"}},
		Timeline:  []pack.Event{{At: created.Add(-170 * time.Minute), Event: "delivered", Detail: map[string]string{"request_id": "rq_2"}}},
		Returns: []pack.Return{{
			ID: "rt_1", Reason: "fraud", ReasonText: "the lead is fake", State: "accepted", RequestedAt: created.Add(-time.Hour), RequestedBy: "ben@example.com",
			DecidedAt: ptr(created.Add(-30 * time.Minute)), DecidedBy: "cleo@example.com",
		}},
		Ledger: &pack.Ledger{Complete: true, Entries: []pack.Entry{
			{ID: 123, At: created.Add(-170 * time.Minute), Kind: "accrual", Reference: "ld_1", Amount: &pack.Amount{Amount: "-45.61", Currency: "EUR"}},
		}},
		Reveals: []pack.Reveal{{At: created.Add(-time.Hour), By: "fay@example.com", Field: "name", Reason: "complaint"}},
		Exports: []pack.Export{{At: created.Add(-3 * time.Minute), By: "ida@example.com", Kind: "request_download", Request: "rq_3"}},
		Holds: []pack.Hold{{
			ID: "lh_1", Person: true, PlacedAt: created.Add(-20 * time.Minute), PlacedBy: "eve@example.com",
			ReleasedAt: ptr(created.Add(-10 * time.Minute)), ReleasedBy: "hal@example.com",
		}},
		Erasure: &pack.Erasure{At: created.Add(-time.Minute), By: "dan@example.com", Reason: "retention", Entry: 456, Receipt: "cdcd", ConsentKept: true},
		Audit:   pack.Audit{HeadID: 789, Head: "efef", Complete: true, Events: []pack.AuditEvent{pack.EventOf(&row)}},
	}
}

func build(t testing.TB, d pack.Document) []byte {
	t.Helper()
	content, _, err := pack.Build(d, signer)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// keys returns the public keys of the platform: a retired key, which signed the packs, and the active one.
func keys(t testing.TB) []pack.PublicKey {
	t.Helper()
	var all []pack.PublicKey
	for _, k := range []struct {
		key         ed25519.PrivateKey
		from, until time.Time
	}{{otherKey, retiredAt, time.Time{}}, {signer, created.Add(-time.Hour), retiredAt}} {
		public := k.key.Public().(ed25519.PublicKey)
		kid, err := pack.KeyID(public)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pack.PublicKey{ID: kid, Key: public, From: k.from, Until: k.until})
	}
	text, err := pack.MarshalKeys(all)
	if err == nil {
		all, err = pack.ParseKeys(text)
	}
	if err != nil || len(all) != 2 {
		t.Fatalf("got keys %v, %v", all, err)
	}
	return all
}

// files returns the files in a pack.
func files(t testing.TB, content []byte) map[string][]byte {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]byte{}
	for _, f := range r.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if all[f.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

func TestBuildAndVerify(t *testing.T) {
	t.Parallel()
	d := document()
	content := build(t, d)
	v, err := pack.Verify(content, keys(t))
	if err != nil {
		t.Fatal(err)
	}
	d.Format = pack.Format
	got, _ := json.Marshal(v.Document)
	if want, _ := json.Marshal(d); !bytes.Equal(got, want) {
		t.Errorf("got document\n%s, want\n%s", got, want)
	}
	if v.Key.ID != keys(t)[1].ID {
		t.Errorf("got key %+v", v.Key)
	}
	if again := build(t, document()); !bytes.Equal(again, content) {
		t.Error("two packs with the same facts differ")
	}
}

// leaves returns all texts and numbers in a JSON value.
func leaves(value any) (all []string) {
	switch v := value.(type) {
	case map[string]any:
		for _, element := range v {
			all = append(all, leaves(element)...)
		}
	case []any:
		for _, element := range v {
			all = append(all, leaves(element)...)
		}
	case string, json.Number:
		all = append(all, fmt.Sprint(v))
	}
	return all
}

// The page contains every fact that is in the JSON, but no scripts and no links.
func TestPageContainsAllFacts(t *testing.T) {
	t.Parallel()
	parts := files(t, build(t, document()))
	var value any
	d := json.NewDecoder(bytes.NewReader(parts["evidence.json"]))
	d.UseNumber()
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	page := html.UnescapeString(string(parts["evidence.html"]))
	facts := leaves(value)
	if len(facts) < 60 {
		t.Fatalf("got only %d facts", len(facts))
	}
	for _, fact := range facts {
		if !strings.Contains(page, fact) {
			t.Errorf("the page does not contain %q", fact)
		}
	}
	for _, active := range []string{"<script", "<a ", " src=", "<b>", "url(", "onerror"} {
		if strings.Contains(string(parts["evidence.html"]), active) {
			t.Errorf("the page contains %q", active)
		}
	}
}

// Packs of all earlier versions can be verified. If this fails because a new version of Go writes ZIP files
// differently, keep the old ZIP format.
func TestVerifyEarlierPack(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile("testdata/pack-1.zip")
	if err != nil {
		t.Fatal(err)
	}
	if v, err := pack.Verify(content, keys(t)); err != nil || v.Document.Lead.ID != "ld_1" || len(v.Document.Audit.Events) != 1 {
		t.Errorf("got %+v, %v", v, err)
	}
}

// changed returns a pack with one file replaced, removed or added.
func changed(t *testing.T, change func(files map[string][]byte) []string) []byte {
	t.Helper()
	parts := files(t, build(t, document()))
	order := change(parts)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range order {
		f, err := w.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Store})
		if err == nil {
			_, err = f.Write(parts[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestVerifyRejects(t *testing.T) {
	t.Parallel()
	all := []string{"evidence.html", "evidence.json", "evidence.jws"}
	otherSigner, _, err := pack.Build(document(), otherKey)
	if err != nil {
		t.Fatal(err)
	}
	early, late, wrongHash := document(), document(), document()
	early.CreatedAt, late.CreatedAt = created.Add(-2*time.Hour), retiredAt.Add(10*time.Minute)
	wrongHash.Audit.Events[0].Reason = "another reason"
	tooLarge := bytes.Repeat([]byte("PK"), pack.MaxSize)
	for name, c := range map[string]struct {
		content []byte
		want    error
	}{
		"empty":         {nil, pack.ErrNotPack},
		"not a ZIP":     {[]byte("PK\x03\x04 nonsense"), pack.ErrNotPack},
		"too large":     {tooLarge, pack.ErrTooLarge},
		"page changed":  {changed(t, func(f map[string][]byte) []string { f[all[0]] = append(f[all[0]], '\n'); return all }), pack.ErrChanged},
		"facts changed": {changed(t, func(f map[string][]byte) []string { f[all[1]][20]++; return all }), pack.ErrChanged},
		"signature cut": {changed(t, func(f map[string][]byte) []string { f[all[2]] = f[all[2]][:90]; return all }), pack.ErrSignature},
		"no signature":  {changed(t, func(f map[string][]byte) []string { f[all[2]] = nil; return all }), pack.ErrSignature},
		"file missing":  {changed(t, func(map[string][]byte) []string { return all[:2] }), pack.ErrMissing},
		"file added":    {changed(t, func(f map[string][]byte) []string { f["x"] = nil; return append(all[:3:3], "x") }), pack.ErrAdded},
		"path":          {changed(t, func(f map[string][]byte) []string { f["../x"] = nil; return append(all[:3:3], "../x") }), pack.ErrAdded},
		"two files":     {changed(t, func(map[string][]byte) []string { return append(all[:3:3], all[0]) }), pack.ErrDuplicate},
		"packed again":  {changed(t, func(map[string][]byte) []string { return all }), pack.ErrArchive},
		"bytes added":   {append(build(t, document()), 0), pack.ErrArchive},
		"key too new":   {otherSigner, pack.ErrKeyTime},
		"key too new 2": {build(t, early), pack.ErrKeyTime},
		"key retired":   {build(t, late), pack.ErrKeyTime},
		"audit event":   {build(t, wrongHash), pack.ErrAudit},
	} {
		if _, err := pack.Verify(c.content, keys(t)); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", name, err, c.want)
		}
	}
	if _, err := pack.Verify(build(t, document()), keys(t)[:1]); !errors.Is(err, pack.ErrUnknownKey) {
		t.Errorf("unknown key: got %v", err)
	}
	if _, err := pack.Verify(build(t, document()), nil); !errors.Is(err, pack.ErrUnknownKey) {
		t.Errorf("no keys: got %v", err)
	}
}

// A signature that was made with the platform's key is not valid if the signed text is not a manifest, or if another
// algorithm was used.
func TestVerifyRejectsOtherSignatures(t *testing.T) {
	t.Parallel()
	kid := keys(t)[1].ID
	manifest := `{"createdAt":"2026-01-02T03:04:05Z","files":{},"format":"pingpost-evidence/1","lead":"ld_1"}`
	for name, header := range map[string]string{
		"none":       `{"alg":"none","kid":"` + kid + `","typ":"pingpost-evidence"}`,
		"HMAC":       `{"alg":"HS256","kid":"` + kid + `","typ":"pingpost-evidence"}`,
		"other type": `{"alg":"EdDSA","kid":"` + kid + `","typ":"JWT"}`,
		"own key":    `{"alg":"EdDSA","jwk":{"kty":"OKP","crv":"Ed25519","x":"` + kid + `"},"kid":"` + kid + `","typ":"pingpost-evidence"}`,
		"critical":   `{"alg":"EdDSA","crit":["x"],"kid":"` + kid + `","typ":"pingpost-evidence","x":1}`,
	} {
		signed := encode(header) + "." + encode(manifest)
		text := signed + "." + encode(string(ed25519.Sign(signer, []byte(signed))))
		content := changed(t, func(f map[string][]byte) []string {
			f["evidence.jws"] = []byte(text)
			return []string{"evidence.html", "evidence.json", "evidence.jws"}
		})
		if _, err := pack.Verify(content, keys(t)); !errors.Is(err, pack.ErrSignature) && !errors.Is(err, pack.ErrFormat) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// Each single byte of a pack is protected.
func TestVerifyDetectsEveryChangedByte(t *testing.T) {
	t.Parallel()
	d := pack.Document{CreatedAt: created, Lead: pack.Lead{ID: "ld_1"}}
	content, public := build(t, d), keys(t)
	if _, err := pack.Verify(content, public); err != nil {
		t.Fatal(err)
	}
	for i := range content {
		for _, flip := range []byte{1, 0x20, 0x80} {
			content[i] ^= flip
			if _, err := pack.Verify(content, public); err == nil {
				t.Errorf("byte %d of %d: the change is not detected", i, len(content))
			}
			content[i] ^= flip
		}
	}
}

// Any edit is detected, such as deleting, repeating or inserting bytes.
func TestVerifyDetectsEdits(t *testing.T) {
	t.Parallel()
	content, public := build(t, document()), keys(t)
	rapid.Check(t, func(t *rapid.T) {
		from := rapid.IntRange(0, len(content)).Draw(t, "from")
		to := rapid.IntRange(from, min(len(content), from+64)).Draw(t, "to")
		insert := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 64), rapid.Just(content[from:to]), rapid.Just(bytes.Repeat(content[from:to], 2))).Draw(t, "insert")
		edited := bytes.Join([][]byte{content[:from], insert, content[to:]}, nil)
		if _, err := pack.Verify(edited, public); err == nil && !bytes.Equal(edited, content) {
			t.Fatal("the edit is not detected")
		}
	})
}

func FuzzVerify(f *testing.F) {
	content, public := build(f, document()), keys(f)
	f.Add(content)
	f.Add(content[:len(content)-1])
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Fuzz(func(t *testing.T, given []byte) {
		if _, err := pack.Verify(given, public); err == nil && !bytes.Equal(given, content) {
			t.Error("a pack that was not signed is valid")
		}
	})
}

func FuzzParseKeys(f *testing.F) {
	text, err := pack.MarshalKeys(keys(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"keys":[{"kty":"RSA"},{"kty":"OKP","crv":"Ed25519","x":"AA"}]}`))
	f.Fuzz(func(t *testing.T, given []byte) {
		all, err := pack.ParseKeys(given)
		for _, k := range all {
			if kid, _ := pack.KeyID(k.Key); err == nil && (kid != k.ID || len(k.Key) != ed25519.PublicKeySize) {
				t.Errorf("got key %+v", k)
			}
		}
	})
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
