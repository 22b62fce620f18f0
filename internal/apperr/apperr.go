// Package apperr holds the errors that callers of the platform may see.
//
// A fault has a code, which api and admin map to an HTTP status, and a public
// message: the specification's text where it gives one. Whatever else is known
// about the failure travels as the cause, which is logged and never shown.
package apperr

import (
	"errors"
	"time"
)

// Code classifies a fault. The HTTP status of each is decided in api and admin.
type Code string

const (
	Invalid      Code = "invalid"      // the request is malformed or breaks a rule
	Unauthorized Code = "unauthorized" // the signature, or what it needs, is missing or wrong
	Forbidden    Code = "forbidden"    // the person may not do this
	Expired      Code = "expired"      // the quote is older than its validity
	Delivered    Code = "delivered"    // the transaction already holds another post
	NotFound     Code = "not_found"
	Incomplete   Code = "incomplete" // the request did not arrive whole
	TooLarge     Code = "too_large"
	TooMany      Code = "too_many"
	Conflict     Code = "conflict"    // someone else changed the same thing
	Unavailable  Code = "unavailable" // a dependency is away; the same request may succeed later
	Internal     Code = "internal"
)

// FieldCode classifies the problem of a field. Its constants are the closed set of decision 19.
type FieldCode string

const (
	Required     FieldCode = "required"
	InvalidType  FieldCode = "invalid_type"
	InvalidValue FieldCode = "invalid_value"
	TooLong      FieldCode = "too_long"
	TooManyItems FieldCode = "too_many"
	FieldClash   FieldCode = "conflict"
)

// Field is one problem with one field of a request. Path names the field as it
// was sent; Message says what to mend and never repeats the value.
type Field struct {
	Code    FieldCode `json:"code"`
	Path    []string  `json:"path"`
	Message string    `json:"message"`
}

// Error is a fault. Reason names the check that rejected the request, for counters
// and the console, and is not shown to partners. It is in lower case, with underscores
// between words. Code and Reason identify an error within its package; errors that callers
// treat alike may share them.
type Error struct {
	Code       Code
	Message    string
	Reason     string
	Fields     []Field
	RetryAfter time.Duration

	// LeadID and DeliveredAt let a partner that lost an answer find its lead
	// again (decision 3). They are set only for the partner that delivered it.
	LeadID      string
	DeliveredAt time.Time

	Object string // id of the object that is in the way, for the console to link to

	cause error
}

// New makes a fault with a public message.
func New(code Code, reason, message string) *Error {
	return &Error{Code: code, Reason: reason, Message: message}
}

// AtField makes a fault of one field of a form. The field has the same message.
func AtField(code Code, reason string, kind FieldCode, field, message string) *Error {
	return New(code, reason, message).WithFields(Field{Code: kind, Path: []string{field}, Message: message})
}

// Wrap makes a fault whose cause is logged but not shown.
func Wrap(cause error, code Code, reason, message string) *Error {
	return &Error{Code: code, Reason: reason, Message: message, cause: cause}
}

func (e *Error) Error() string {
	if e.cause != nil {
		return e.Message + ": " + e.cause.Error()
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.cause }

// Is makes two faults equal when code and reason are, so that a package can
// declare its faults once and callers can test for them with errors.Is.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Reason == e.Reason
}

// WithFields returns a copy that lists the fields at fault.
func (e *Error) WithFields(fields ...Field) *Error {
	c := *e
	c.Fields = fields
	return &c
}

// WithCause returns a copy that carries cause for the log.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// Retry returns a copy that asks the caller to come back after d.
func (e *Error) Retry(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// As finds the fault in err's chain; nil when there is none.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
