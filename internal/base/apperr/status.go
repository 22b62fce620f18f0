package apperr

var statuses = map[Code]int{
	Invalid:      400,
	Expired:      400,
	Unauthorized: 401,
	Forbidden:    403,
	NotFound:     404,
	WrongMethod:  405,
	Delivered:    409,
	Conflict:     409,
	Incomplete:   408,
	TooLarge:     413,
	TooMany:      429,
	Unavailable:  503,
	Internal:     500,
}

// Status returns the HTTP status of responses with this error.
func (e *Error) Status() int {
	if status, ok := statuses[e.Code]; ok {
		return status
	}
	return statuses[Internal]
}
