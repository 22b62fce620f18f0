package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates/ui"
)

// Form is how a form is submitted. What it changes and what it shows is the area's; the
// order of the checks, mistakes, the proof of who is asking, what somebody else changed
// meanwhile, and the page that follows are the same for all.
type Form struct {
	Mistakes ui.Errors // found in the values; the change is not made then
	Proof    Proof
	// Do makes the change. It returns the address of the page that follows, or "" when it
	// has written the response itself.
	Do func() (next string, err error)
	// Reload reads the object again after somebody else changed it, and says what they
	// changed. It is nil for a form whose object has no version.
	Reload func() (*ui.Conflict, error)
	// Show shows the form again.
	Show func(Rejected) error
}

// Proof says whether a form asks for the password or a code.
type Proof int

const (
	NoProof    Proof = iota
	NeedsProof       // the form has a field for it
	AddsProof        // only what was chosen needs it: the form gets the field once it was submitted without
)

// ProofWhen is AddsProof for choices that need one.
func ProofWhen(needed bool) Proof {
	if needed {
		return AddsProof
	}
	return NoProof
}

// Rejected is why a form is shown again.
type Rejected struct {
	Status   int
	Errors   ui.Errors
	Conflict *ui.Conflict // what somebody else changed meanwhile; Errors is empty then
	StepUp   ui.StepUp
	Err      error // of Do; nil when it was not called
}

// Submit submits a form that has been parsed.
func Submit(k *Request, f Form) error {
	r := Rejected{Status: http.StatusUnprocessableEntity, Errors: f.Mistakes}
	proof, err := prove(k, f.Proof, &r)
	if err != nil {
		return err
	}
	if r.Errors = append(r.Errors, proof...); len(r.Errors) > 0 {
		return f.Show(r)
	}
	next, err := f.Do()
	if err == nil && next == "" {
		return nil
	}
	if err == nil {
		return k.Redirect(next)
	}
	r.Err = err
	if r.Status, r.Errors, err = FormErrors(k, err); err != nil {
		return err
	}
	if f.Reload != nil && IsStale(r.Err) {
		r.Errors = nil
		if r.Conflict, err = f.Reload(); err != nil {
			return err
		}
	}
	return f.Show(r)
}

// prove checks the proof that a form needs, and what the form shows of it.
func prove(k *Request, p Proof, r *Rejected) (ui.Errors, error) {
	switch p {
	case NoProof:
		return nil, nil
	case AddsProof:
		r.StepUp = StepUp(k)
		if r.StepUp.Needed && !k.R.PostForm.Has("proof") {
			return ui.Errors{{Field: "proof", Message: "Confirm this change with your password or a code."}}, nil
		}
		return checkProof(k)
	case NeedsProof:
		mistakes, err := checkProof(k)
		r.StepUp = StepUp(k)
		return mistakes, err
	}
	panic("an unknown kind of proof")
}
