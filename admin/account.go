package admin

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/id"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates"
)

func (k *call) account() error { return k.showAccount(http.StatusOK, nil) }

func (k *call) showAccount(status int, mistakes templates.Errors) error {
	ctx, p := k.r.Context(), k.session.Staff
	names, err := k.slugs()
	if err != nil {
		return err
	}
	left, err := k.Staff.RecoveryCodesLeft(ctx, p.ID)
	if err != nil {
		return err
	}
	sessions, err := k.Staff.Sessions(ctx, p.ID)
	if err != nil {
		return err
	}
	v := templates.AccountView{
		Shell: k.shell("Your account"), Name: p.Name, Email: p.Email, Roles: scopeWords(k.access.Roles(p.ID), names),
		SecondFactor: len(p.TOTPSealed) > 0, EnrolledAt: timeOf(p.TOTPAt), RecoveryLeft: int(left), EnrolURL: "/account/second-factor", CodesURL: "/account/recovery-codes",
		PasswordURL: "/account/password", Errors: mistakes,
	}
	for _, s := range sessions {
		v.Sessions = append(v.Sessions, sessionRow(s, s.ID == k.session.ID, "/account/sessions/"))
	}
	if len(sessions) > 1 {
		v.RevokeOthers = "/account/sessions/end-others"
	}
	return k.show(status, templates.Account(v))
}

func sessionRow(s models.StaffSession, current bool, base string) templates.SessionRow {
	row := templates.SessionRow{Device: device(s.UserAgent), Address: s.Address, Started: s.CreatedAt, LastSeen: s.SeenAt, Current: current}
	if !current {
		row.RevokeURL = base + id.Format(id.Session, s.ID) + "/end"
	}
	return row
}

// device says a browser and a system in words, as far as they tell.
func device(agent string) string {
	find := func(names ...string) string {
		for i := 0; i < len(names); i += 2 {
			if strings.Contains(agent, names[i]) {
				return names[i+1]
			}
		}
		return ""
	}
	browser := find("Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "Chrome/", "Chrome", "Safari/", "Safari", "curl/", "curl")
	system := find("Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Windows", "Windows", "Mac OS X", "macOS", "Linux", "Linux")
	switch {
	case browser == "" && system == "":
		return "Unknown device"
	case system == "":
		return browser
	case browser == "":
		return system
	}
	return browser + " on " + system
}

func (k *call) changePassword() error {
	if err := k.form(); err != nil {
		return err
	}
	form := k.r.PostForm
	if form.Get("password") != form.Get("again") {
		return k.showAccount(http.StatusUnprocessableEntity, templates.Errors{{Field: "again", Message: "The two are not the same: type the new password again."}})
	}
	if err := k.Staff.SetPassword(k.r.Context(), k.by, k.session, form.Get("current"), form.Get("password")); err != nil {
		status, message, other := k.told(err)
		if other != nil {
			return other
		}
		field := "password"
		if f := apperr.As(err); f.Reason == "confirmation" || f.Code == apperr.TooMany {
			field = "current"
		}
		return k.showAccount(status, templates.Errors{{Field: field, Message: message}})
	}
	k.notices = append(k.notices, notice{Kind: "good", Text: "Your password is changed. Everywhere else you are signed out."})
	return k.showAccount(http.StatusOK, nil)
}

// newRecoveryCodes replaces the recovery codes.
func (k *call) newRecoveryCodes() error {
	if err := k.mustBeConfirmed(); err != nil {
		return err
	}
	codes, err := k.Staff.NewRecoveryCodes(k.r.Context(), k.by, k.session.Staff.ID)
	if err != nil {
		return err
	}
	return k.showCodes(codes)
}

func (k *call) endOwnSession() error {
	session, err := id.Parse(id.Session, k.r.PathValue("session"))
	if err != nil {
		return errNoPage
	}
	if err := k.Staff.EndSession(k.r.Context(), k.by, k.session.Staff.ID, session); err != nil {
		return err
	}
	return k.to("/account")
}

func (k *call) endOwnOthers() error {
	if err := k.Staff.EndSessions(k.r.Context(), k.by, k.session.Staff.ID, k.session.ID); err != nil {
		return err
	}
	return k.to("/account")
}

// mustBeConfirmed leads whoever was not asked for long to a page that asks, and
// back. Somebody who is signing in was asked a moment ago.
func (k *call) mustBeConfirmed() error {
	if !k.signedIn() || k.session.Confirmed(k.now) {
		return nil
	}
	next := k.r.URL.RequestURI()
	if k.r.Method != http.MethodGet {
		next = "/account"
	}
	if err := k.to("/account/confirm?next=" + escape(next)); err != nil {
		return err
	}
	return errHandled
}

func (k *call) confirmPage() error { return k.showConfirm(http.StatusOK, "") }

func (k *call) showConfirm(status int, mistake string) error {
	return k.show(status, templates.StepUpPage(templates.StepUpView{
		Shell: k.shell("Is it still you?"), Action: "/account/confirm", Why: "What comes next changes who can sign in as you. You are asked again every ten minutes.",
		Code: len(k.session.Staff.TOTPSealed) > 0, Error: mistake, Next: k.next(),
	}))
}

func (k *call) confirm() error {
	if err := k.form(); err != nil {
		return err
	}
	if err := k.Staff.Confirm(k.r.Context(), k.by, k.session, k.r.PostForm.Get("proof")); err != nil {
		status, message, other := k.told(err)
		if other != nil {
			return other
		}
		return k.showConfirm(status, message)
	}
	return k.to(k.next())
}

// stepUp says whether a form has to ask for the password or a code.
func (k *call) stepUp() templates.StepUp {
	return templates.StepUp{Needed: !k.session.Confirmed(k.now), Code: len(k.session.Staff.TOTPSealed) > 0}
}

// proven checks the form's proof where one is needed; the mistake is the form's to show.
func (k *call) proven() (mistakes templates.Errors, err error) {
	if !k.stepUp().Needed {
		return nil, nil
	}
	if err := k.Staff.Confirm(k.r.Context(), k.by, k.session, k.r.PostForm.Get("proof")); err != nil {
		_, message, other := k.told(err)
		if other != nil {
			return nil, other
		}
		return templates.Errors{{Field: "proof", Message: message}}, nil
	}
	k.session.ConfirmedAt = &k.now
	return nil, nil
}

// confirmation checks the step-up proof of a form that needs one only for some choices.
// The form shows the proof field once it has been submitted without it.
func (k *call) confirmation(needed bool) (s templates.StepUp, mistakes templates.Errors, err error) {
	if s = k.stepUp(); !needed || !s.Needed {
		return templates.StepUp{}, nil, nil
	}
	if !k.r.PostForm.Has("proof") {
		return s, templates.Errors{{Field: "proof", Message: "Confirm this change with your password or a code."}}, nil
	}
	mistakes, err = k.proven()
	return s, mistakes, err
}

// unsigned reports whether an explicitly chosen signing mode accepts posts without a signature.
func unsigned(m models.SigningMode) bool {
	return m == models.SigningOff || m == models.SigningReportOnly
}

// slugs are partners' names by their ids, for roles that hold at some.
type slugs map[uuid.UUID]string

// slugsOf are the names of the partners of a page.
func (k *call) slugsOf(ids []uuid.UUID) (slugs, error) {
	all, err := k.Partners.Named(k.r.Context(), k.scope, ids)
	names := make(slugs, len(all))
	for partner, p := range all {
		names[partner] = p.Slug
	}
	return names, err
}

func (s slugs) of(partner uuid.UUID) string {
	if name, ok := s[partner]; ok {
		return name
	}
	return id.Format(id.Partner, partner)
}

func escape(path string) string { return url.QueryEscape(path) }
