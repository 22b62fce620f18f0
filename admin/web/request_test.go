package web

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The error of a form that cannot be parsed does not quote the form, because it is logged.
func TestFormErrorDoesNotQuoteForm(t *testing.T) {
	r := httptest.NewRequest(http.MethodPost, "/privacy/notes/find", strings.NewReader("text=Zor%Qa"))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	err := (&Request{R: r}).ParseForm()
	if !errors.Is(err, ErrForm) || errors.Unwrap(err) != nil {
		t.Errorf("got %v with the cause %v", err, errors.Unwrap(err))
	}
}
