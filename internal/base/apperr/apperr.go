// Package apperr defines the errors that partners and users can see.
//
// An Error has a code, which determines the HTTP status, and a public message. If the
// specification contains a text for the error, the message is that text. Further details are in the
// cause, which is logged but never shown.
package apperr

import (
	"errors"
	"time"
)

// Code classifies an error. It determines the HTTP status of the response.
type Code string

const (
	Invalid      Code = "invalid"      // the request is malformed or breaks a rule
	Unauthorized Code = "unauthorized" // the signature, or data needed to verify it, is missing or wrong
	Forbidden    Code = "forbidden"    // the user is not allowed to do this
	Expired      Code = "expired"      // the quote has expired
	Delivered    Code = "delivered"    // a different post was already delivered for the transaction
	NotFound     Code = "not_found"
	WrongMethod  Code = "wrong_method"
	Incomplete   Code = "incomplete" // the request did not arrive completely
	TooLarge     Code = "too_large"
	TooMany      Code = "too_many"
	Conflict     Code = "conflict"    // the current state does not allow the change, for example after another user's change
	Unavailable  Code = "unavailable" // a dependency is unavailable; the same request may succeed later
	Internal     Code = "internal"
)

// FieldCode classifies the problem with a field. The constants below are the only codes (decision 19).
type FieldCode string

const (
	Required     FieldCode = "required"
	InvalidType  FieldCode = "invalid_type"
	InvalidValue FieldCode = "invalid_value"
	TooLong      FieldCode = "too_long"
	TooManyItems FieldCode = "too_many"
	FieldClash   FieldCode = "conflict"
)

// Field is a problem with one field of a request. Path is the field's path in the request.
// Message states what to fix and never contains the value.
type Field struct {
	Code    FieldCode `json:"code"`
	Path    []string  `json:"path"`
	Message string    `json:"message"`
}

// Detail is the position of an error in a JSON body. Reason is from a fixed list. Offset is the number of
// bytes before the error.
type Detail struct {
	Reason string `json:"reason"`
	Offset int    `json:"offset"`
}

// Error is an error with a public message. Reason names the check that rejected the request, in lower
// case with underscores. Counters and the console use Reason, but it is not sent to partners. They
// receive PublicCode instead, which only errors of the partner API have.
type Error struct {
	Code       Code
	Message    string
	Reason     string
	PublicCode PublicCode
	Fields     []Field
	Detail     *Detail // only for a body that is not valid JSON
	RetryAfter time.Duration

	// LeadID and DeliveredAt identify the lead that was already delivered, in case the partner did not
	// receive the first response (decision 3). They are set only for the partner that delivered the
	// lead.
	LeadID      string
	DeliveredAt time.Time

	Object string // id of the conflicting object, for a link in the console

	cause error
}

// New returns an error with a public message.
func New(code Code, reason, message string) *Error {
	return &Error{Code: code, Reason: reason, Message: message}
}

// AtField returns an error about one field of a form. The error and the field have the same
// message.
func AtField(code Code, reason string, kind FieldCode, field, message string) *Error {
	return New(code, reason, message).WithFields(Field{Code: kind, Path: []string{field}, Message: message})
}

// InvalidField returns an Invalid error about one field of a form. Its reason is the field.
func InvalidField(field string, kind FieldCode, message string) *Error {
	return AtField(Invalid, field, kind, field, message)
}

// Wrap returns an error with a cause, which is logged but not shown.
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

// Is reports whether target is an Error with the same code and reason as e. With this method, errors.Is
// also recognises copies of an error, such as those that WithCause returns.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code && t.Reason == e.Reason
}

// WithFields returns a copy of e with the given list of field problems.
func (e *Error) WithFields(fields ...Field) *Error {
	c := *e
	c.Fields = fields
	return &c
}

// WithCause returns a copy of e with a cause for the log.
func (e *Error) WithCause(cause error) *Error {
	c := *e
	c.cause = cause
	return &c
}

// WithPublicCode returns a copy of e with the code that partners receive.
func (e *Error) WithPublicCode(code PublicCode) *Error {
	c := *e
	c.PublicCode = code
	return &c
}

// WithDetail returns a copy of e with the position of an error in a JSON body.
func (e *Error) WithDetail(d Detail) *Error {
	c := *e
	c.Detail = &d
	return &c
}

// WithReason returns a copy of e with another reason and the same public code. Use it if staff may know
// the reason, but the sender may not.
func (e *Error) WithReason(reason string) *Error {
	c := *e
	c.Reason = reason
	return &c
}

// WithRetryAfter returns a copy of e that tells the client to send the request again after d.
func (e *Error) WithRetryAfter(d time.Duration) *Error {
	c := *e
	c.RetryAfter = d
	return &c
}

// As returns the first Error in err's chain, or nil.
func As(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}
