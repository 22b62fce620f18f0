package partners_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/models"
)

func (o *partnerService) secret(t *testing.T, p models.Partner, label string) models.SigningSecret {
	t.Helper()
	made, err := o.CreateSecret(t.Context(), scope.System, p, label)
	if err != nil {
		t.Fatal(err)
	}
	return made.SigningSecret
}

// reloadSecret reads a secret from the database.
func (o *partnerService) reloadSecret(t *testing.T, p models.Partner, secret uuid.UUID) models.SigningSecret {
	t.Helper()
	list, err := o.Secrets(t.Context(), scope.System, p)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if s.ID == secret {
			return s
		}
	}
	t.Fatal("secret not found")
	return models.SigningSecret{}
}

func TestExpireSecret(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	s := o.secret(t, p, "first")
	expire := func(what string, after time.Duration, code apperr.Code, reason string) {
		t.Helper()
		wantError(t, what, o.ExpireSecret(t.Context(), scope.System, p, s.ID, o.clock.Now().Add(after)), code, reason)
	}
	ends := func(want time.Duration, state string) {
		t.Helper()
		now := o.reloadSecret(t, p, s.ID)
		if now.ExpiresAt == nil || !now.ExpiresAt.Equal(o.clock.Now().Add(want)) ||
			partners.StateOf(now, o.clock.Now()) != state {
			t.Errorf("got state %s and expiry %v, want %s, %s from now", partners.StateOf(now, o.clock.Now()), now.ExpiresAt, state, want)
		}
	}
	wantError(t, "other partner's secret", o.ExpireSecret(t.Context(), scope.System, other, s.ID, o.clock.Now()), apperr.NotFound, "secret")
	wantError(t, "unknown", o.ExpireSecret(t.Context(), scope.System, p, uuid.New(), o.clock.Now()), apperr.NotFound, "secret")
	expire("too far ahead", partners.MaxExtension+time.Microsecond, apperr.Invalid, "overlap")
	if o.reloadSecret(t, p, s.ID).ExpiresAt != nil {
		t.Fatal("a rejected change set the expiry")
	}
	expire("maximum", partners.MaxExtension, "", "")
	ends(partners.MaxExtension, partners.StateExpiring)
	if e, before, after, _ := o.lastEvent(t); e.Action != "secret.expire" || before["expires_at"] != "never" ||
		after["label"] != "first" || after["expires_at"] == nil {
		t.Errorf("audit event %s %v → %v", e.Action, before, after)
	}
	expire("earlier", time.Hour, "", "")
	ends(time.Hour, partners.StateExpiring)
	expire("later", 2*time.Hour, "", "")
	ends(2*time.Hour, partners.StateExpiring)
	if _, before, after, _ := o.lastEvent(t); before["expires_at"] != o.clock.Now().Add(time.Hour).Format(time.RFC3339Nano) || after["expires_at"] != o.clock.Now().Add(2*time.Hour).Format(time.RFC3339Nano) {
		t.Errorf("audit event %v → %v", before, after)
	}
	_, _, _, events := o.lastEvent(t)
	expire("the same", 2*time.Hour, "", "")
	if _, _, _, n := o.lastEvent(t); n != events {
		t.Error("an update without changes wrote an audit event")
	}
	expire("in the past", -time.Hour, "", "")
	ends(0, partners.StateExpired)
	if o.directory(t).ByID(p.ID).CanSign(o.clock.Now()) {
		t.Error("CanSign is true after the only secret expired")
	}
	expire("expired", time.Hour, apperr.Conflict, "secret_expired")
	ends(0, partners.StateExpired)
	wantError(t, "revoke", o.RevokeSecret(t.Context(), scope.System, p, s.ID), "", "")
	expire("revoked", time.Hour, apperr.Conflict, "secret_revoked")
	if state := partners.StateOf(o.reloadSecret(t, p, s.ID), o.clock.Now()); state != partners.StateRevoked {
		t.Errorf("got state %s, want revoked", state)
	}
}

func TestStateOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	before, after := now.Add(-time.Microsecond), now.Add(time.Microsecond)
	for _, c := range []struct {
		row  models.SigningSecret
		want string
		ok   bool
	}{
		{models.SigningSecret{State: models.SecretActive}, "active", true},
		{models.SigningSecret{State: models.SecretActive, ExpiresAt: &after}, "expiring", true},
		{models.SigningSecret{State: models.SecretActive, ExpiresAt: &now}, "expired", false},
		{models.SigningSecret{State: models.SecretActive, ExpiresAt: &before}, "expired", false},
		{models.SigningSecret{State: models.SecretRevoked, ExpiresAt: &after}, "revoked", false},
	} {
		if got := partners.StateOf(c.row, now); got != c.want || partners.Valid(c.row, now) != c.ok {
			t.Errorf("StateOf() = %s, want %s", got, c.want)
		}
	}
}

func TestLastActive(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	last := func(s models.SigningSecret, want bool) {
		t.Helper()
		if got, err := o.LastActive(t.Context(), scope.System, p, s.ID); err != nil || got != want {
			t.Errorf("LastActive(%s) = %t, %v, want %t", s.Label, got, err, want)
		}
	}
	first := o.secret(t, p, "first")
	o.secret(t, other, "another's")
	last(first, true)
	second := o.secret(t, p, "second")
	last(first, false)
	wantError(t, "expire", o.ExpireSecret(t.Context(), scope.System, p, second.ID, o.clock.Now().Add(time.Hour)), "", "")
	last(first, false)
	o.clock.Advance(time.Hour)
	last(first, true)
	last(second, false)
	wantError(t, "revoke", o.RevokeSecret(t.Context(), scope.System, p, first.ID), "", "")
	last(second, true)
}

func TestSecretsRecordTheirCreator(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	by := o.By(audit.Actor{Name: "jo@example.org"})
	for what, made := range map[string]func() (partners.CreatedSecret, error){
		"create": func() (partners.CreatedSecret, error) { return by.CreateSecret(t.Context(), scope.System, p, "") },
		"import": func() (partners.CreatedSecret, error) {
			return by.ImportSecret(t.Context(), scope.System, p, "", strongSecret)
		},
		"rotate": func() (partners.CreatedSecret, error) {
			return by.RotateSecret(t.Context(), scope.System, p, "", time.Hour, true)
		},
	} {
		s, err := made()
		if err != nil {
			t.Fatal(err)
		}
		if now := o.reloadSecret(t, p, s.ID); now.CreatedBy != "jo@example.org" {
			t.Errorf("%s: created by %q, want jo@example.org", what, now.CreatedBy)
		}
	}
	if s := o.secret(t, p, ""); s.CreatedBy != audit.Service.Name {
		t.Errorf("created by %q, want %q", s.CreatedBy, audit.Service.Name)
	}
}

// Concurrent rotations without an overlap would expire each other's new secrets, so only one succeeds.
func TestConcurrentRotationsWithoutOverlap(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	o.secret(t, p, "first")
	o.clock.Advance(time.Hour)
	errs := atOnce(4, func(int) error {
		_, err := o.RotateSecret(t.Context(), scope.System, p, "", 0, false)
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
	o.clock.Advance(time.Minute)
	if _, err := o.RotateSecret(t.Context(), scope.System, p, "", 0, false); err != nil {
		t.Errorf("a minute later: %v", err)
	}
	if _, err := o.RotateSecret(t.Context(), scope.System, p, "", 0, true); err != nil {
		t.Errorf("forced: %v", err)
	}
}

// Staff see who revoked a secret, set its expiry or rotated it.
func TestSecretEnd(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p := o.partner(t, "harbour-leads")
	as := func(name string) *partners.Service {
		return o.By(testkit.Actor(t, o.db, name))
	}
	create := func(label string) models.SigningSecret {
		o.clock.Advance(time.Minute)
		made, err := as("creator@example.com-"+label).CreateSecret(t.Context(), scope.System, p, label)
		if err != nil {
			t.Fatal(err)
		}
		return made.SigningSecret
	}
	revoked, expired, rotated := create("revoked"), create("expired"), create("rotated")
	if err := as("revoker@example.com").RevokeSecret(t.Context(), scope.System, p, revoked.ID); err != nil {
		t.Fatal(err)
	}
	ends := o.clock.Now().Add(time.Hour)
	if err := as("expirer@example.com").ExpireSecret(t.Context(), scope.System, p, expired.ID, ends); err != nil {
		t.Fatal(err)
	}
	o.clock.Advance(2 * time.Hour)
	last, err := as("rotator@example.com").RotateSecret(t.Context(), scope.System, p, "last", time.Hour, true)
	if err != nil {
		t.Fatal(err)
	}
	rotation := o.clock.Now()
	for _, c := range []struct {
		secret models.SigningSecret
		at     time.Time
		by     string
	}{
		{revoked, ends.Add(-time.Hour), "revoker@example.com"},
		{expired, ends, "expirer@example.com"},
		{rotated, rotation.Add(time.Hour), "rotator@example.com"},
		{last.SigningSecret, time.Time{}, ""},
	} {
		row, err := o.FindSecret(t.Context(), scope.System, p, id.Format(id.Secret, c.secret.ID))
		if err != nil {
			t.Fatal(err)
		}
		if at, by, err := o.SecretEnd(t.Context(), scope.System, row); err != nil || !at.Equal(c.at) || by != c.by {
			t.Errorf("%s: ended %s by %q (%v), want %s by %q", c.secret.Label, at, by, err, c.at, c.by)
		}
	}
}

// A user whose scope does not include a partner cannot read or change its secrets.
func TestSecretsOutsideScope(t *testing.T) {
	t.Parallel()
	o := newPartnerService(t)
	p, other := o.partner(t, "harbour-leads"), o.partner(t, "meadow-media")
	made, err := o.CreateSecret(t.Context(), scope.Partners(p.ID), p, "live")
	if err != nil {
		t.Fatal(err)
	}
	ctx, outside := t.Context(), scope.Partners(other.ID)
	for name, c := range map[string]struct {
		reason string
		do     func() error
	}{
		"create": {"partner", func() error { _, err := o.CreateSecret(ctx, outside, p, ""); return err }},
		"import": {"partner", func() error { _, err := o.ImportSecret(ctx, outside, p, "", strongSecret); return err }},
		"rotate": {"partner", func() error { _, err := o.RotateSecret(ctx, outside, p, "", 0, true); return err }},
		"find": {"secret", func() error {
			_, err := o.FindSecret(ctx, outside, p, id.Format(id.Secret, made.ID))
			return err
		}},
		"expire": {"secret", func() error { return o.ExpireSecret(ctx, outside, p, made.ID, o.clock.Now()) }},
		"revoke": {"secret", func() error { return o.RevokeSecret(ctx, outside, p, made.ID) }},
		"end":    {"secret", func() error { _, _, err := o.SecretEnd(ctx, outside, made.SigningSecret); return err }},
	} {
		wantError(t, name, c.do(), apperr.NotFound, c.reason)
	}
	if list, err := o.Secrets(ctx, outside, p); err != nil || len(list) != 0 {
		t.Errorf("got %d secrets, %v", len(list), err)
	}
	list, err := o.Secrets(ctx, scope.System, p)
	if err != nil || len(list) != 1 || list[0].ExpiresAt != nil || list[0].State != models.SecretActive {
		t.Errorf("the secret has changed: %+v, %v", list, err)
	}
}
