package requests

import (
	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/id"
)

// URLForID returns the URL of the privacy request with this id. It returns "" if there is none or the user
// cannot see it.
func (h *Handlers) URLForID(k *web.Request, text string) string {
	request, err := id.Parse(id.PrivacyRequest, text)
	if err != nil || !k.May(web.ReadRequests) {
		return ""
	}
	if _, err := h.Requests.Request(k.R.Context(), request); err != nil {
		return ""
	}
	return web.RequestURL(request)
}
