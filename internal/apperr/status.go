package apperr

import "net/http"

var statuses = map[Code]int{
	Invalid:      http.StatusBadRequest,
	Expired:      http.StatusBadRequest,
	Unauthorized: http.StatusUnauthorized,
	Forbidden:    http.StatusForbidden,
	NotFound:     http.StatusNotFound,
	Delivered:    http.StatusConflict,
	Conflict:     http.StatusConflict,
	Incomplete:   http.StatusRequestTimeout,
	TooLarge:     http.StatusRequestEntityTooLarge,
	TooMany:      http.StatusTooManyRequests,
	Unavailable:  http.StatusServiceUnavailable,
	Internal:     http.StatusInternalServerError,
}

// Status returns the HTTP status of the responses with this error.
func (e *Error) Status() int {
	if status, ok := statuses[e.Code]; ok {
		return status
	}
	return http.StatusInternalServerError
}
