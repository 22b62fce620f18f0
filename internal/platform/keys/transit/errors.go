package transit

import (
	"context"
	"crypto/tls"
	"errors"
	"maps"
	"net"
	"net/url"
	"strings"
	"sync"

	"github.com/hashicorp/vault/api"
)

const (
	statusBadRequest  = 400
	statusForbidden   = 403
	statusNotFound    = 404
	statusTooMany     = 429
	statusUnavailable = 503
)

// Error describes a failed call to Vault. Its text is for operators and contains neither a token
// nor a path.
type Error struct {
	Status int    // of Vault's response; 0 if there was none
	Reason string // a word for metrics: sealed, denied, login, paused, timeout, unreachable, rejected, …
	text   string
}

func (e *Error) Error() string { return e.text }

// explain converts an error of Vault's client to an *Error.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var known *Error
	if errors.As(err, &known) {
		return err
	}
	var answered *api.ResponseError
	if errors.As(err, &answered) {
		return explainResponse(answered)
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return &Error{0, "timeout", "Vault did not respond in time"}
	}
	if errors.Is(err, context.Canceled) {
		return &Error{0, "cancelled", "the call to Vault was cancelled"}
	}
	var outer *url.Error
	if errors.As(err, &outer) { // leave out the path
		err = outer.Err
	}
	var certificate *tls.CertificateVerificationError
	if errors.As(err, &certificate) {
		return &Error{0, "unreachable", "cannot reach Vault: " + certificate.Err.Error() +
			": check vault.address and vault.ca_file"}
	}
	return &Error{0, "unreachable", "cannot reach Vault: " + err.Error() + ": check vault.address"}
}

// details returns the errors in Vault's response, on one line.
func details(answered *api.ResponseError) string {
	return strings.Join(strings.Fields(strings.Join(answered.Errors, "; ")), " ")
}

func explainResponse(answered *api.ResponseError) error {
	details := details(answered)
	e := &Error{Status: answered.StatusCode}
	switch answered.StatusCode {
	case statusForbidden:
		e.Reason = "denied"
		e.text = "Vault denied access: check vault.mount, vault.key, the policy, and that the token or login has not expired"
	case statusNotFound:
		e.Reason, e.text = "not_found", "Vault path not found: check vault.mount, vault.key and vault.auth_mount"
	case statusTooMany:
		e.Reason, e.text = "too_many", "Vault is limiting requests"
	case statusUnavailable:
		e.Reason, e.text = "sealed", "Vault is sealed or has no active node"
	default:
		e.Reason, e.text = "rejected", "Vault rejected the call"
	}
	if details != "" {
		e.text += " (" + details + ")"
	}
	return e
}

// calls counts the calls to Vault by operation and reason. For a successful call, the reason is "ok".
type calls struct {
	mu    sync.Mutex
	total map[Call]int64
}

// Call is a group of calls to Vault that are counted together, because they have the same operation and
// reason.
type Call struct{ Operation, Reason string }

func (c *calls) count(operation string, err error) error {
	k := Call{operation, "ok"}
	if err != nil {
		k.Reason = "failed"
		var e *Error
		if errors.As(err, &e) {
			k.Reason = e.Reason
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total == nil {
		c.total = map[Call]int64{}
	}
	c.total[k]++
	return err
}

// Calls returns the number of calls to Vault since the node started, by operation and reason.
func (w *Wrapper) Calls() map[Call]int64 {
	w.calls.mu.Lock()
	defer w.calls.mu.Unlock()
	return maps.Clone(w.calls.total)
}
