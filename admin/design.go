package admin

import (
	"net/http"

	"github.com/pingpost/pingpost/admin/web"
	view "github.com/pingpost/pingpost/templates/design"
	"github.com/pingpost/pingpost/templates/ui"
)

// design shows the gallery of components, for developers.
func design(k *web.Request) error {
	s := k.Shell("Design")
	if s.Person.Name == "" {
		s.Person = ui.User{Name: "Visitor", Role: "not signed in"}
	}
	return k.Show(http.StatusOK, view.Design(view.DesignView{Shell: s}))
}
