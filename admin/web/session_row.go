package web

import (
	"strings"

	"github.com/pingpost/pingpost/internal/base/id"
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
