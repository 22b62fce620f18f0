package payouts

import (
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/plaintext"
)

// optionalText returns the checked and trimmed value of a text field for returns, adjustments or runs.
func optionalText(name, value string) (string, error) {
	return plaintext.Check(name, value, plaintext.MaxNote)
}

// requiredText is like optionalText, but rejects an empty value. The parameter missing is the error
// message for an empty value.
func requiredText(name, value, missing string) (string, error) {
	value, err := optionalText(name, value)
	if err == nil && value == "" {
		err = apperr.InvalidField(name, apperr.Required, missing)
	}
	return value, err
}
