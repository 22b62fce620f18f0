package transit

import (
	"context"
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

// Error is a call that Vault did not do. Its text is for operators: it names
// neither token nor path.
type Error struct {
	Status int    // of Vault's answer; 0 when there was none
	Reason string // a word for metrics: sealed, denied, login, paused, timeout, unreachable, refused, …
	text   string
}

func (e *Error) Error() string { return e.text }

// explain turns the library's errors into ours.
func explain(err error) error {
	if err == nil {
		return nil
	}
	var ours *Error
	if errors.As(err, &ours) {
		return err
	}
	var answered *api.ResponseError
	if errors.As(err, &answered) {
		return explainAnswer(answered)
	}
	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return &Error{0, "timeout", "Vault does not answer in time"}
	}
	if errors.Is(err, context.Canceled) {
		return &Error{0, "cancelled", "the call to Vault was cancelled"}
	}
	var outer *url.Error
	if errors.As(err, &outer) { // without the address and path, which are configured
		err = outer.Err
	}
	return &Error{0, "unreachable", "Vault cannot be reached: " + err.Error()}
}

func explainAnswer(answered *api.ResponseError) error {
	said := strings.TrimSpace(strings.Join(answered.Errors, "; "))
	e := &Error{Status: answered.StatusCode}
	switch answered.StatusCode {
	case statusForbidden:
		e.Reason, e.text = "denied", "Vault refuses this identity: its policy, its token, or its login has ended"
	case statusNotFound:
		e.Reason, e.text = "not_found", "Vault has no such path: check vault.mount, vault.key and vault.auth_mount"
	case statusTooMany:
		e.Reason, e.text = "too_many", "Vault has too many requests"
	case statusUnavailable:
		e.Reason, e.text = "sealed", "Vault is sealed or has no active node"
	default:
		e.Reason, e.text = "rejected", "Vault rejected the call"
	}
	if said != "" {
		e.text += " (" + said + ")"
	}
	return e
}

// calls counts calls by operation and reason; the reason of a success is "ok".
type calls struct {
	mu    sync.Mutex
	total map[Call]int64
}

// Call is what calls are counted by.
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

// Calls are the counts since the start.
func (w *Wrapper) Calls() map[Call]int64 {
	w.calls.mu.Lock()
	defer w.calls.mu.Unlock()
	return maps.Clone(w.calls.total)
}
