package login

import (
	"bytes"
	"encoding/base64"
	"image/png"
	"net/http"
	"strings"

	"github.com/pingpost/pingpost/admin/web"
	view "github.com/pingpost/pingpost/templates/login"
	"github.com/pingpost/pingpost/templates/ui"
)

// enrolPage shows the setup key of a new second factor. Users open this page during sign-in or from the
// account page.
func (h *Handlers) enrolPage(k *web.Request) error {
	if err := k.RequireStepUp(); err != nil {
		return err
	}
	return h.showEnrol(k, http.StatusOK, nil)
}

func (h *Handlers) showEnrol(k *web.Request, status int, mistakes ui.Errors) error {
	key, err := h.Staff.BeginSecondFactor(k.R.Context(), k.Session)
	if err != nil {
		return err
	}
	image, err := key.Image(220, 220)
	if err != nil {
		return err
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image); err != nil {
		return err
	}
	s, cancel := k.Shell("Set up a second factor"), ""
	if k.SignedIn() {
		cancel = "/account"
	} else {
		s.Intro = "Your role requires a second factor. Set it up to continue."
	}
	return k.ShowSecret(status, view.EnrolSecondFactor(view.EnrolSecondFactorView{
		Shell:  s,
		Action: k.R.URL.RequestURI(),
		QR:     "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Bytes()),
		Secret: grouped(key.Secret()),
		Cancel: cancel,
		Errors: mistakes,
	}))
}

func (h *Handlers) enrol(k *web.Request) error {
	if err := k.RequireStepUp(); err != nil {
		return err
	}
	return k.Submit(web.Form{
		Do: func() (string, error) {
			token, codes, err := h.Staff.By(k.By).FinishSecondFactor(k.R.Context(), k.Session, k.R.PostForm.Get("code"))
			if err != nil {
				return "", err
			}
			if token != "" {
				k.SetSessionCookie(token)
			}
			return "", k.ShowRecoveryCodes(codes)
		},
		FieldOf: web.Field("code"),
		Show:    func(r web.Rejected) error { return h.showEnrol(k, r.Status, r.Errors) },
	})
}

func (h *Handlers) confirmRecoveryCodes(k *web.Request) error { return k.Redirect("/") }

func grouped(secret string) string {
	var groups []string
	for len(secret) > 4 {
		groups, secret = append(groups, secret[:4]), secret[4:]
	}
	return strings.Join(append(groups, secret), " ")
}
