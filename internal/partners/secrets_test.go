package partners_test

import (
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"testing/cryptotest"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/models"
)

var (
	everyPartner = scope.System
	aSecretID    = id.Format(id.Secret, uuid.New())
	generated    = regexp.MustCompile(`^pp_[0-9A-Za-z]{43}$`)
)

func TestGeneratedSecrets(t *testing.T) {
	cryptotest.SetGlobalRandom(t, 1) // the counts below are the same in each run
	seen, digits := map[string]bool{}, map[rune]int{}
	for range 1000 {
		s := partners.GenerateSecret()
		if !generated.MatchString(s) || seen[s] {
			t.Fatalf("got a secret with %d characters, seen before: %t", len(s), seen[s])
		}
		seen[s] = true
		for _, r := range s[len("pp_"):] {
			digits[r]++
		}
	}
	// Each of the 62 digits should occur about 694 times. A modulo bias would change that by a quarter.
	for r, n := range digits {
		if n < 540 || n > 850 {
			t.Errorf("%c occurs %d times in 43000 digits", r, n)
		}
	}
	if len(digits) != 62 {
		t.Errorf("got %d different digits, want 62", len(digits))
	}
}

func TestCreateSecret(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	made, err := o.CreateSecret(t.Context(), scope.System, p, "")
	if err != nil {
		t.Fatal(err)
	}
	found, err := o.FindSecret(t.Context(), scope.System, p, id.Format(id.Secret, made.ID))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := testkit.PlatformKeys(t, 1).Open(keyring.SigningSecret, found.ID[:], found.Sealed)
	if err != nil || string(plain) != made.Plain || !generated.MatchString(made.Plain) {
		t.Errorf("the sealed secret is not the returned one (%v)", err)
	}
	if found.Label != "secret 2026-01-02" || found.Prefix != "pp_" || found.LastFour != made.Plain[len(made.Plain)-4:] ||
		found.State != models.SecretActive || !found.NotBefore.Equal(o.clock.Now()) || found.ExpiresAt != nil ||
		found.RevokedAt != nil {
		t.Errorf("created %+v", found)
	}
	if other, err := o.CreateSecret(t.Context(), scope.System, p, " the second "); err != nil || other.Label != "the second" ||
		other.Plain == made.Plain {
		t.Errorf("second secret: %q (%v)", other.Label, err)
	}
	errs := atOnce(8, func(int) error { _, err := o.CreateSecret(t.Context(), scope.System, p, ""); return err })
	if n := testkit.Value[int](t, o.db, `SELECT count(DISTINCT label) FROM signing_secrets WHERE label ~ '^secret 2026-01-02( \([2-9]\))?$'`); n != 9 {
		t.Errorf("got %d different default labels, want 9 (%v)", n, errs)
	}
}

// strongSecret contains no repetition, so its substrings are strong too.
const strongSecret = "kbcdefghijalmnopqzyxwvutsr0192837465ABCDEFGHIJKLMNOPQR"

func TestImportSecret(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	for _, c := range []struct {
		name, plain, reason string
		prefix, last        string
	}{
		{"15 characters", strongSecret[:15], "secret_form", "", ""},
		{"16 characters", strongSecret[:16], "", "", "op"},
		{"31 characters", strongSecret[1:32], "", "", "83"},
		{"32 characters", strongSecret[2:34], "", "", "8374"},
		{"256 characters", strongSecret[3:] + strings.Repeat("3", 256-len(strongSecret)+3), "", "", "3333"},
		{"256 characters of three bytes", strings.Repeat("€", 240) + strongSecret[:15] + "€", "", "", "mno€"},
		{"257 characters", strongSecret + strings.Repeat("4", 257-len(strongSecret)), "secret_form", "", ""},
		{"a generated secret", "pp_" + strongSecret[4:47], "", "pp_", "HIJK"},
		{"a space inside", "a secret with blanks", "", "", "ks"},
		{"a space at the end", strongSecret + " ", "secret_form", "", ""},
		{"a line break", strongSecret + "\n7", "secret_form", "", ""},
		{"a no-break space inside", strongSecret + "\u00a08", "secret_form", "", ""},
		{"not UTF-8", strongSecret + "\xff", "secret_form", "", ""},
		{"the example in the documentation", "example-secret-never-use-this-one", "secret_weak", "", ""},
		{"an example in different case", "Correct Horse Battery Staple", "secret_weak", "", ""},
		{"one character", strings.Repeat("x", 64), "secret_weak", "", ""},
		{"a repeated pattern", strings.Repeat("a1b2c3d4e5", 4)[:37], "secret_weak", "", ""},
		{"a pattern repeated once", strongSecret[:20] + strongSecret[:20], "secret_weak", "", ""},
		{"seven different characters", "abcdefgabcdfegbacdefg", "secret_weak", "", ""},
		{"eight different characters", "abcdefghabcdfeghbacdefgh", "", "", "gh"},
	} {
		made, err := o.ImportSecret(t.Context(), scope.System, p, "imported", c.plain)
		wantError(t, c.name, err, apperr.Invalid, c.reason)
		if f := apperr.As(err); f != nil &&
			(len(f.Fields) != 1 || f.Fields[0].Path[0] != "import" || strings.Contains(f.Message, c.plain)) {
			t.Errorf("%s: fields %+v", c.name, f.Fields)
		}
		if err == nil && (made.Plain != c.plain || made.Prefix != c.prefix || made.LastFour != c.last) {
			t.Errorf("%s: hint is %s…%s, want %s…%s", c.name, made.Prefix, made.LastFour, c.prefix, c.last)
		}
	}
}

// A secret must belong to only one partner, because a signature identifies the partner.
func TestSecretsAreUniqueOnThePlatform(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	secret, err := o.CreateSecret(t.Context(), scope.System, p, "")
	if err != nil {
		t.Fatal(err)
	}
	rotated := func(fills ...byte) *partners.Service {
		return partners.NewService(o.db.DB, testkit.PlatformKeys(t, fills...), o.clock)
	}
	rejected := func(what string) {
		t.Helper()
		for name, s := range map[string]*partners.Service{
			"with the same key":      o.Service,
			"with a new key second":  rotated(1, 2),
			"with the new key first": rotated(2, 1),
		} {
			for _, p := range []models.Partner{p, other} {
				_, err := s.ImportSecret(t.Context(), scope.System, p, "", secret.Plain)
				wantError(t, what+" "+name, err, apperr.Conflict, "secret_known")
			}
		}
	}
	rejected("active")
	if err := o.RevokeSecret(t.Context(), scope.System, p, secret.ID); err != nil {
		t.Fatal(err)
	}
	rejected("revoked")

	const plain = "the same secret for all partners"
	errs := atOnce(8, func(i int) error {
		_, err := o.ImportSecret(t.Context(), scope.System, []models.Partner{p, other}[i%2], "", plain)
		return err
	})
	for _, err := range errs {
		if err != nil {
			wantError(t, "at once", err, apperr.Conflict, "secret_known")
		}
	}
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d of 8 imports of the same secret succeeded, want 1", n)
	}
}

func TestRotateSecret(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	first, err := o.CreateSecret(t.Context(), scope.System, p, "first")
	if err != nil {
		t.Fatal(err)
	}
	revoked, err := o.CreateSecret(t.Context(), scope.System, p, "revoked")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.RevokeSecret(t.Context(), scope.System, p, revoked.ID); err != nil {
		t.Fatal(err)
	}
	start := o.clock.Now()
	rotate := func(label string, overlap time.Duration, force bool, code apperr.Code, reason string) {
		t.Helper()
		_, err := o.RotateSecret(t.Context(), scope.System, p, label, overlap, force)
		wantError(t, label, err, code, reason)
	}
	// ends checks the expiry of each secret. want contains the expected times, measured from start.
	ends := func(want map[string]time.Duration) {
		t.Helper()
		secrets, err := o.Secrets(t.Context(), scope.System, p)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range secrets {
			end, expires := want[s.Label]
			if (s.ExpiresAt != nil) != expires || (expires && !s.ExpiresAt.Equal(start.Add(end))) {
				t.Errorf("%s: ExpiresAt is %v, want %s after %s: %t", s.Label, s.ExpiresAt, end, start, expires)
			}
		}
	}
	rotate("second", -time.Nanosecond, true, apperr.Invalid, "overlap")
	rotate("second", time.Hour, false, "", "")
	ends(map[string]time.Duration{"first": time.Hour})
	rotate("third", time.Hour, false, apperr.Conflict, "overlap")
	o.clock.Advance(time.Hour - time.Microsecond)
	rotate("third", time.Hour, false, apperr.Conflict, "overlap")
	o.clock.Advance(time.Microsecond) // the first has expired
	rotate("third", 2*time.Hour, false, "", "")
	ends(map[string]time.Duration{"first": time.Hour, "second": 3 * time.Hour})
	rotate("fourth", 3*time.Hour, true, "", "") // forcing does not extend older secrets
	ends(map[string]time.Duration{"first": time.Hour, "second": 3 * time.Hour, "third": 4 * time.Hour})
	rotate("fifth", 0, true, "", "") // all others expire now
	ends(map[string]time.Duration{"first": time.Hour, "second": time.Hour, "third": time.Hour, "fourth": time.Hour})
	if secrets, _ := o.Secrets(t.Context(), scope.System, p); len(secrets) != 6 {
		t.Errorf("got %d secrets, want 6, because rejected rotations create none", len(secrets))
	}
	if first.ExpiresAt != nil {
		t.Error("the first secret was created with an expiry")
	}
}

func TestConcurrentRotations(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	if _, err := o.CreateSecret(t.Context(), scope.System, p, ""); err != nil {
		t.Fatal(err)
	}
	errs := atOnce(4, func(int) error {
		_, err := o.RotateSecret(t.Context(), scope.System, p, "", partners.DefaultOverlap, false)
		return err
	})
	for _, err := range errs {
		if err != nil {
			wantError(t, "at once", err, apperr.Conflict, "overlap")
		}
	}
	if n := succeeded(errs); n != 1 {
		t.Errorf("%d of 4 concurrent rotations succeeded, want 1", n)
	}
}

// A service whose platform keys differ from the nodes' keys cannot create secrets, because no node
// could decrypt them.
func TestForeignPlatformKeysAreRejected(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	made, err := o.CreateSecret(t.Context(), scope.System, p, "")
	if err != nil {
		t.Fatal(err)
	}
	own := o.Service
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 2), o.clock)
	_, err = o.CreateSecret(t.Context(), scope.System, p, "")
	wantError(t, "create", err, apperr.Conflict, "platform_key")
	_, err = o.ImportSecret(t.Context(), scope.System, p, "", "a secret from elsewhere")
	wantError(t, "import", err, apperr.Conflict, "platform_key")
	_, err = o.RotateSecret(t.Context(), scope.System, p, "", time.Hour, false)
	wantError(t, "rotate", err, apperr.Conflict, "platform_key")
	if kept, err := own.Secrets(t.Context(), scope.System, p); err != nil || len(kept) != 1 || kept[0].ExpiresAt != nil {
		t.Errorf("got secrets %+v (%v), want the first unchanged", kept, err)
	}
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 2, 1), o.clock) // while a new key is added
	if _, err := o.CreateSecret(t.Context(), scope.System, p, ""); err != nil {
		t.Error(err)
	}
	// Revoked secrets do not have to be decrypted.
	if err := o.RevokeSecret(t.Context(), scope.System, p, made.ID); err != nil {
		t.Fatal(err)
	}
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 2), o.clock)
	if _, err := o.CreateSecret(t.Context(), scope.System, p, ""); err != nil {
		t.Error(err)
	}
}

func TestRevokeAndFindSecret(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	made, err := o.CreateSecret(t.Context(), scope.System, p, "")
	if err != nil {
		t.Fatal(err)
	}
	text := id.Format(id.Secret, made.ID)
	wantError(t, "other partner's secret", o.RevokeSecret(t.Context(), scope.System, other, made.ID), apperr.NotFound, "secret")
	wantError(t, "unknown", o.RevokeSecret(t.Context(), scope.System, p, uuid.New()), apperr.NotFound, "secret")
	for name, c := range map[string]struct {
		of   models.Partner
		text string
	}{
		"other partner": {other, text},
		"unknown":       {p, aSecretID},
		"partner id":    {p, id.Format(id.Partner, made.ID)},
		"empty":         {p, ""},
	} {
		_, err := o.FindSecret(t.Context(), scope.System, c.of, c.text)
		wantError(t, name, err, apperr.NotFound, "secret")
	}
	if s, err := o.FindSecret(t.Context(), scope.System, p, strings.ToLower(text)); err != nil || s.State != models.SecretActive {
		t.Errorf("state is %s (%v), want active", s.State, err)
	}
	o.clock.Advance(time.Minute)
	wantError(t, "revoke", o.RevokeSecret(t.Context(), scope.System, p, made.ID), "", "")
	wantError(t, "revoke again", o.RevokeSecret(t.Context(), scope.System, p, made.ID), apperr.Conflict, "secret_revoked")
	if s, err := o.FindSecret(t.Context(), scope.System, p, text); err != nil || s.State != models.SecretRevoked ||
		!s.RevokedAt.Equal(o.clock.Now()) {
		t.Errorf("got %+v (%v), want it revoked now", s, err)
	}
}

// No table contains a secret in plain text, hex or base64.
func TestSecretsAreNotStoredInPlainText(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	var plains []string
	for _, newSecret := range []func() (partners.CreatedSecret, error){
		func() (partners.CreatedSecret, error) { return o.CreateSecret(t.Context(), scope.System, p, "") },
		func() (partners.CreatedSecret, error) {
			return o.ImportSecret(t.Context(), scope.System, p, "imported", "an imported partner secret")
		},
		func() (partners.CreatedSecret, error) {
			return o.RotateSecret(t.Context(), scope.System, p, "", time.Hour, false)
		},
	} {
		made, err := newSecret()
		if err != nil {
			t.Fatal(err)
		}
		plains = append(plains, made.Plain)
	}
	rows, err := testkit.Connect(t, o.db.RootURL).Query(t.Context(), `SELECT table_name, query_to_xml(format('SELECT * FROM %I', table_name), true, false, '')::text
		FROM information_schema.tables WHERE table_schema = 'public'`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	dump := 0
	for rows.Next() {
		var table, content string
		if err := rows.Scan(&table, &content); err != nil {
			t.Fatal(err)
		}
		dump += len(content)
		// In XML, bytes are in base64 with line breaks.
		content = strings.ToLower(strings.ReplaceAll(content, "\n", ""))
		for _, plain := range plains {
			middle := []byte(plain[3 : len(plain)-6]) // without the parts that a list shows
			for _, form := range []string{string(middle), hex.EncodeToString(middle), base64.StdEncoding.EncodeToString(middle[:9]),
				base64.StdEncoding.EncodeToString(middle[1:10]), base64.StdEncoding.EncodeToString(middle[2:11])} {
				if strings.Contains(content, strings.ToLower(form)) {
					t.Errorf("table %s contains a secret", table)
				}
			}
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if dump < 1000 {
		t.Errorf("searched only %d characters", dump)
	}
}
