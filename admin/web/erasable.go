package web

import (
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/templates/ui"
)

// hiddenValue is what pages show instead of erasable data that is hidden.
const hiddenValue = "hidden"

// Erasable returns a value that is erased together with a lead, as pages may show it. While the database may
// contain data that should have been erased, for example because an older backup was restored, the value is
// hidden, and the page shows the reason. All values that an erasure deletes must be passed through Erasable, and so
// must values for which a page searches, because a result would confirm them.
func (k *Request) Erasable(value string) string {
	if value == "" {
		return ""
	}
	if err := k.readable(); err != nil {
		k.hidden = err
		return hiddenValue
	}
	return value
}

// CheckErasable returns the reason why erasable data is hidden, or nil. Pages and exports that contain nothing
// else are rejected with this error.
func (k *Request) CheckErasable() error { return k.readable() }

// hiddenNotice returns the notice about hidden values, or nil if the response hides none.
func (k *Request) hiddenNotice() *ui.Notice {
	if k.hidden == nil {
		return nil
	}
	text := "Personal data is hidden on this page, because some of it should have been erased."
	if reason := apperr.As(k.hidden); reason != nil {
		text += " " + reason.Message
	}
	return &ui.Notice{Kind: "warn", Code: "erasable_hidden", Text: text}
}
