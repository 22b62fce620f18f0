package web

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// Errors of the console itself.
var (
	errSignIn    = apperr.New(apperr.Unauthorized, "sign_in", "Sign in to continue.")
	ErrForbidden = apperr.New(apperr.Forbidden, "role", "Your roles do not allow this.")
	errCrossSite = apperr.New(apperr.Forbidden, "cross_site", "The request came from another site.")
	ErrNotFound  = apperr.New(apperr.NotFound, "page", "Page not found.")
	ErrForm      = apperr.New(apperr.Invalid, "form",
		"The form is not valid. Open the page again, then fill in and submit the form.")
	errTooLarge = apperr.New(apperr.TooLarge, "form", "The form is larger than 256 KB. Shorten it and submit it again.")
	errMethod   = apperr.New(apperr.Invalid, "method", "This page does not accept this kind of request.")
	errBroken   = apperr.New(apperr.Internal, "panic", "An unexpected error occurred.")
)

// ErrResponseWritten means that the handler has already written the response.
var ErrResponseWritten = errors.New("response already written")

var ErrFormKey = apperr.New(apperr.Invalid, "form_key",
	"The form is incomplete. Open the page again, then fill in the form and submit it.")

// OrNotFound returns ErrNotFound if err has the code apperr.NotFound, and err otherwise.
func OrNotFound(err error) error {
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return ErrNotFound
	}
	return err
}

func badForm(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errTooLarge
	}
	if _, ok := errors.AsType[url.EscapeError](err); ok { // it quotes the form, which must not be logged
		return ErrForm
	}
	return ErrForm.WithCause(err)
}

// Failure returns err if the platform caused it, and nil if the user did.
func Failure(err error) *apperr.Error {
	if f := apperr.As(err); f != nil && (f.Code == apperr.Unavailable || f.Code == apperr.Internal) {
		return f
	}
	return nil
}

// IsStale reports whether err means that the object was changed after the form was opened.
func IsStale(err error) bool {
	f := apperr.As(err)
	return f != nil && (f.Reason == "changed" || f.Reason == "stale")
}
