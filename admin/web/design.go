package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates"
)

// Design is the gallery of components, for whoever builds pages.
func (k *Request) Design() error {
	s := k.Shell("Design")
	if s.Person.Name == "" {
		s.Person = templates.Person{Name: "Nobody", Role: "not signed in"}
	}
	return k.Show(http.StatusOK, templates.Design(templates.DesignView{Shell: s}))
}
