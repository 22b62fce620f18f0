package admin

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	view "github.com/pingpost/pingpost/templates/design"
	"github.com/pingpost/pingpost/templates/ui"
)

// design is the gallery of components, for whoever builds pages.
func design(k *web.Request) error {
	s := k.Shell("Design")
	if s.Person.Name == "" {
		s.Person = ui.User{Name: "Nobody", Role: "not signed in"}
	}
	return k.Show(http.StatusOK, view.Design(view.DesignView{Shell: s}))
}
