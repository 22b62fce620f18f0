package admin

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	"github.com/pingpost/pingpost/templates"
)

// dryRun shows what a file would change, or what is wrong with it. theirs is what
// somebody else did where it was to be applied already.
func (k *call) dryRun(status int, d ratecard.Draft, u upload, theirs *templates.Conflict) error {
	i, err := k.read(d, u)
	var problems pricingrules.Problems
	if errors.As(err, &problems) {
		v := templates.ImportView{More: max(len(problems)-shownProblems, 0)}
		for _, p := range problems[:min(len(problems), shownProblems)] {
			v.Problems = append(v.Problems, problemWords(p))
		}
		return k.showImport(http.StatusUnprocessableEntity, d, u, v)
	}
	if err != nil {
		return err
	}
	shown := min(len(i.changes), shownCells)
	r := templates.ImportResult{Name: u.name, Kind: u.kind, Content: u.text, Summary: i.summary(u), Changes: i.changes[:shown], More: len(i.changes) - shown, Submit: i.submit()}
	return k.showImport(status, d, upload{kind: u.kind}, templates.ImportView{Result: &r, Conflict: theirs})
}

// problemWords is a problem with its line, for whoever has only this one file.
func problemWords(p pricingrules.Problem) string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("Line %d: %s", p.Line, p.Message)
}

func (i imported) summary(u upload) string {
	what := short(u.name)
	switch {
	case i.nothing():
		return "The draft has all that " + what + " says: nothing would change."
	case u.kind == kindYAML && len(i.changes) == 0:
		return fmt.Sprintf("With %s, %s would be new, different or gone; no price would change.", what, countWords(int64(i.rules), false, "rule", "rules"))
	case u.kind == kindYAML:
		return fmt.Sprintf("With %s, %s would change; %s would be new, different or gone.", what, countWords(int64(len(i.changes)), false, "price", "prices"), countWords(int64(i.rules), false, "rule", "rules"))
	}
	return fmt.Sprintf("With %s, %s would change.", what, countWords(int64(len(i.changes)), false, "base", "bases"))
}

// submit is the button that applies it; "" where there is nothing to apply.
func (i imported) submit() string {
	switch {
	case i.nothing():
		return ""
	case len(i.changes) == 0:
		return "Apply " + countWords(int64(i.rules), false, "change of a rule", "changes of rules")
	}
	return "Apply " + countWords(int64(len(i.changes)), false, "change", "changes")
}

// applyImport does what the dry run showed, to the draft that it was shown for.
func (k *call) applyImport(d ratecard.Draft, u upload) error {
	version, err := strconv.Atoi(u.version)
	if err != nil || version < 1 {
		return errForm
	}
	i, err := k.read(d, u)
	var problems pricingrules.Problems
	if errors.As(err, &problems) {
		return k.dryRun(http.StatusUnprocessableEntity, d, u, nil)
	}
	if err != nil {
		return err
	}
	if u.kind == kindYAML {
		_, err = k.prices().Replace(k.r.Context(), d.ID, version, "Imported the rate card "+u.name, i.card)
	} else {
		_, err = k.prices().SetBases(k.r.Context(), d.ID, version, "Imported the bases of "+u.name, i.bases)
	}
	if err == nil {
		return k.to(draftURL(d.ID))
	}
	status, mistakes, other := k.mistakes(err)
	if other != nil {
		return other
	}
	d, theirs, err := k.metConflict(d, err)
	if err != nil {
		return err
	}
	if theirs != nil {
		return k.dryRun(status, d, u, theirs)
	}
	return k.showImport(status, d, u, templates.ImportView{Errors: mistakes})
}
