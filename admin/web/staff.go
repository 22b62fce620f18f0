package web

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/platform/authz"
	"github.com/pingpost/pingpost/internal/staff"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/templates/ui"
)

// SessionRow returns the table row for a session. The parameter base is the start of the URL for
// revoking the session.
func SessionRow(s models.StaffSession, current bool, base string) ui.SessionRow {
	row := ui.SessionRow{
		Device:   deviceLabel(device(s.UserAgent)),
		Address:  s.Address,
		Started:  s.CreatedAt,
		LastSeen: s.SeenAt,
		Current:  current,
	}
	if !current {
		row.RevokeURL = base + id.Format(id.Session, s.ID) + "/end"
	}
	return row
}

// device returns the browser and the operating system that a user agent names. Each is "" if
// unknown.
func device(agent string) (browser, system string) {
	find := func(names ...string) string {
		for i := 0; i < len(names); i += 2 {
			if strings.Contains(agent, names[i]) {
				return names[i+1]
			}
		}
		return ""
	}
	browser = find("Edg/", "Edge", "OPR/", "Opera", "Firefox/", "Firefox", "Chrome/", "Chrome", "Safari/", "Safari",
		"curl/", "curl")
	system = find("Android", "Android", "iPhone", "iPhone", "iPad", "iPad", "Windows", "Windows", "Mac OS X", "macOS",
		"Linux", "Linux")
	return browser, system
}

func deviceLabel(browser, system string) string {
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

// ShowRecoveryCodes shows new recovery codes. They cannot be shown again.
func (k *Request) ShowRecoveryCodes(codes []string) error {
	return k.ShowSecret(http.StatusOK, ui.RecoveryCodes(ui.RecoveryCodesView{
		Shell:  k.Shell("Recovery codes"),
		Codes:  codes,
		Action: "/account/recovery-codes/kept",
	}))
}

// usersNamed is the maximum number of users that a sentence names.
const usersNamed = 5

// OtherUsers returns the users who have a permission for a partner, as in "ann@example.com or bob@example.com". The
// parameter except is a user to omit. If there are no other users, OtherUsers returns "".
func (k *Request) OtherUsers(p authz.Permission, partner, except uuid.UUID) (string, error) {
	all, err := k.console.Staff.List(k.R.Context())
	if err != nil {
		return "", err
	}
	var names []string
	for _, user := range all {
		sc, ok := k.Access.Scope(user.ID, p)
		if ok && sc.Allows(partner) && user.Status == models.StaffActive && user.ID != except {
			names = append(names, user.Email)
		}
	}
	slices.Sort(names)
	if more := len(names) - usersNamed; more > 0 {
		names = append(names[:usersNamed], fmt.Sprintf("%d others", more))
	}
	return enumerate(names, "or"), nil
}

// ScopeLabels returns the labels of roles with their scopes: "Finance (all partners)".
func ScopeLabels(roles []models.StaffRole, slugs PartnerNames) []string {
	words := make([]string, len(roles))
	for i, r := range roles {
		name := ui.Sentence(staff.RoleName(r.Role))
		switch {
		case r.Role == models.Administrator:
			words[i] = name
		case r.PartnerID == nil:
			words[i] = name + " (all partners)"
		default:
			words[i] = name + " for " + slugs.Of(*r.PartnerID)
		}
	}
	return words
}
