package search

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/templates"
)

// keys is the list of keys as a page, for whoever has no script.
func (h *Handlers) keys(k *web.Request) error {
	return k.Show(http.StatusOK, templates.Keys(templates.KeysView{Shell: k.Shell("Keys")}))
}
