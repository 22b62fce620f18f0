package search

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/templates/ui"
)

func (h *Handlers) keys(k *web.Request) error {
	return k.Show(http.StatusOK, ui.Keys(ui.KeysView{Shell: k.Shell("Keyboard shortcuts")}))
}
