package apperr

import (
	"errors"
	"fmt"
	"testing"
	"time"
)

func TestCopiesDoNotChangeTheOriginal(t *testing.T) {
	base := New(Unavailable, "storing", "Unable to save lead record.")
	cause := errors.New("connection refused")
	got := base.WithCause(cause).WithFields(Field{Code: Required}).WithRetryAfter(2 * time.Second)

	if base.Fields != nil || base.RetryAfter != 0 || errors.Unwrap(base) != nil {
		t.Fatalf("the declared error was changed: %+v", base)
	}
	if !errors.Is(got, base) || !errors.Is(got, cause) {
		t.Fatalf("%v does not match both the declared error and its cause", got)
	}
}

func TestReasonsAndPublicCodesAreIndependent(t *testing.T) {
	base := New(Unauthorized, "signature", "Invalid").WithPublicCode(SignatureInvalid)
	hidden, variant := base.WithReason("inactive"), base.WithPublicCode(SignatureMalformed)
	if hidden.PublicCode != SignatureInvalid || errors.Is(hidden, base) {
		t.Errorf("another reason: got public code %s, equal %t", hidden.PublicCode, errors.Is(hidden, base))
	}
	if variant.Reason != "signature" || !errors.Is(variant, base) {
		t.Errorf("another public code: got reason %s, equal %t", variant.Reason, errors.Is(variant, base))
	}
}

func TestIsComparesCodeAndReason(t *testing.T) {
	a := New(Invalid, "format", "one")
	for _, c := range []struct {
		other *Error
		want  bool
	}{
		{New(Invalid, "format", "another text"), true},
		{New(Invalid, "payload", "one"), false},
		{New(Expired, "format", "one"), false},
	} {
		if got := errors.Is(a, c.other); got != c.want {
			t.Errorf("Is(%v/%v) = %v, want %v", c.other.Code, c.other.Reason, got, c.want)
		}
	}
}

func TestAs(t *testing.T) {
	f := New(NotFound, "partner", "No such partner.")
	if As(fmt.Errorf("looking up: %w", f)) != f {
		t.Error("a wrapped Error was not found")
	}
	if As(errors.New("plain")) != nil {
		t.Error("As returned an Error for a plain error")
	}
}
