package templates_test

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	partnersview "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

var asked = ui.StepUp{Needed: true, Code: true}

func partnerSigning() map[string]templ.Component {
	view := partnersview.PartnerSigningView{
		Head:        head("Signing"),
		Modes:       modes(),
		Mode:        "report only",
		Shared:      true,
		SharedWords: "At most 100 partners can use this option. 37 partners use it now",
		Accounts:    accounts(),
		Version:     12,
		StepUp:      asked,
		Forecast: partnersview.Forecast{
			Posts:    1204,
			Unsigned: 37,
			Accounts: []partnersview.ForecastRow{
				{Identifier: "harbour", Posts: 1100, Unsigned: 37, LastUnsigned: ago(12 * time.Minute)},
				{Identifier: "harbour-trial", Posts: 104},
			},
		},
	}
	signed, silent, conflict, locked := view, view, view, view
	signed.Forecast = partnersview.Forecast{
		Posts:    1204,
		Accounts: []partnersview.ForecastRow{{Identifier: "harbour", Posts: 1204}},
	}
	signed.Shared, signed.SharedLocked, signed.SharedWords = false, "No more partners can use this option. Turn it off for another partner first.", "At most 100 partners can use this option. 100 partners use it now"
	silent.Head, silent.Forecast, silent.Accounts = pending("Signing"), partnersview.Forecast{}, nil
	conflict.Conflict = &ui.Conflict{
		Actor:   "Mary Somerville",
		At:      ago(20 * time.Second),
		Changes: []ui.Change{{Name: "signing mode", Before: "off", After: "report only"}},
	}
	conflict.Errors = ui.Errors{
		{Field: "shared_base_url", Message: "The shared base URL is already on for 100 partners, which is the maximum. Let the partner post to its own base URL, or turn off the shared base URL for another partner first."},
		{Field: "proof", Message: "This is not your password or a valid code."},
	}
	locked.Head, locked.Locked = readOnly("Signing"), "You have read-only access to this partner."
	check := partnersview.CheckView{Head: head("")}
	check.Head.Shell = shell("Check a post", "partners", partnersCrumb, harbourCrumb)
	wrong := check
	wrong.Request = "POST /p/harbour-leads/api/lead/post HTTP/1.1\nX-Timestamp: 1795287764\n" +
		"X-Signature-SHA256: 7a74ddb6c5eee22d6198e210cf7a4aae6004fa7dc07f66752779c1d480cc319f\n\n{\n  \"transactionId\": \"tx_01M7Q5A2E9\"\n}\n"
	right, rejected := wrong, wrong
	wrong.Result = &partnersview.CheckResult{
		Verdict: "The post would be rejected: 401 Invalid HMAC SHA-256 signature", Code: "signature_invalid", Stop: "signature", At: now,
		Checks: []partnersview.CheckRow{
			{Name: "timestamp", Label: "Timestamp", Kind: "good", State: "Passed"},
			{
				Name: "signature", Label: "Signature", Kind: "bad", State: "Rejected here",
				Detail: "A line break at the end of the body was sent but not signed.", Fix: "Sign exactly the bytes that are sent.",
				Notes: []string{"The secret is correct: “live” (…9f3K)."},
			},
			{Name: "expiry", Label: "Quote expiry", Kind: "idle", State: "Not checked"},
		},
		Causes: []string{"body_newline_sent"}, Signed: []byte("1795287764.{\n  \"transactionId\": \"tx_01M7Q5A2E9\"\n}\n"),
	}
	right.Result = &partnersview.CheckResult{
		Accepted: true, Verdict: "The post would be accepted.", At: now, Signed: []byte("1795287764.{}"),
		Checks: []partnersview.CheckRow{{Name: "timestamp", Label: "Timestamp", Kind: "good", State: "Passed"}},
	}
	rejected.Errors = ui.Errors{{Field: "request", Message: "The body is missing. Paste it after the headers and an empty line."}}
	return map[string]templ.Component{
		"partner-signing":          partnersview.PartnerSigning(view),
		"partner-signing-full":     partnersview.PartnerSigning(signed),
		"partner-signing-silent":   partnersview.PartnerSigning(silent),
		"partner-signing-conflict": partnersview.PartnerSigning(conflict),
		"partner-signing-locked":   partnersview.PartnerSigning(locked),
		"check":                    partnersview.PostCheck(check),
		"check-wrong":              partnersview.PostCheck(wrong),
		"check-right":              partnersview.PostCheck(right),
		"check-errors":             partnersview.PostCheck(rejected),
	}
}

func secrets() []partnersview.SecretRow {
	return []partnersview.SecretRow{
		{
			Label:      "live 2027",
			ID:         "sk_01M7Q4Z8KX3F2V9N6T0B5RCWHD",
			Shown:      "pp_…Zt7Q",
			State:      "active",
			StateWords: "active",
			CreatedBy:  "Grace Hopper",
			Created:    ago(time.Hour),
			LastUsed:   ago(2 * time.Second),
			Posts:      311,
			ExpireURL:  "/r/1",
			RevokeURL:  "/v/1",
		},
		{
			Label:      "live 2026",
			ID:         "sk_01M6ZP6W1X2Y3Z4A5B6C7D8E9F",
			Shown:      "pp_…9f3K",
			State:      "expiring",
			StateWords: "expires in 23 h",
			CreatedBy:  "Mary Somerville",
			Created:    ago(212 * 24 * time.Hour),
			LastUsed:   ago(14 * time.Minute),
			Ends:       now.Add(23 * time.Hour),
			Posts:      893,
			ExpireURL:  "/r/2",
			RevokeURL:  "/v/2",
		},
		{
			Label:      "imported in 2025",
			ID:         "sk_01M6ZP7G0H1J2K3M4N5P6Q7R8S",
			Shown:      "…x0x0",
			State:      "revoked",
			StateWords: "revoked",
			CreatedBy:  "the system",
			Created:    ago(212 * 24 * time.Hour),
			Ends:       ago(200 * 24 * time.Hour),
		},
	}
}

func partnerSecrets() map[string]templ.Component {
	list := partnersview.PartnerSecretsView{
		Head:      head("Secrets"),
		Secrets:   secrets()[:1],
		NewURL:    "/new",
		RotateURL: "/rotate",
		CheckURL:  harbour + "/check",
	}
	list.Secrets[0].Posts = 1204
	expiring, none, locked := list, list, list
	chart := ui.Chart{
		ID:      "overlap",
		Title:   "Posts by secret",
		Summary: "893 posts with “live 2026” and 311 with “live 2027” in the last 24 hours.",
		Steps:   "Hour (UTC)",
		Series:  []ui.Series{{Name: "live 2027"}, {Name: "live 2026"}},
	}
	for hour := range int64(24) {
		moved := max(0, hour-17)
		chart.Labels = append(chart.Labels, fmt.Sprintf("%02d:00", (hour+20)%24))
		chart.Series[0].Values = append(chart.Series[0].Values, moved*10)
		chart.Series[1].Values = append(chart.Series[1].Values, 60+hour%5-moved*9)
	}
	expiring.Secrets, expiring.Expiring = secrets(), true
	expiring.Overlap = &partnersview.OverlapView{
		Chart: chart,
		Words: "6 of 64 posts in the current and previous hour were signed with an older secret.",
	}
	none.Head, none.Secrets, none.RotateURL = pending("Secrets"), nil, ""
	locked.Head, locked.Secrets, locked.NewURL, locked.RotateURL = readOnly("Secrets"), secrets(), "", ""
	for i := range locked.Secrets {
		locked.Secrets[i].ExpireURL, locked.Secrets[i].RevokeURL = "", ""
	}
	all := secretForms()
	all["partner-secrets"], all["partner-secrets-expiring"] = partnersview.PartnerSecrets(list), partnersview.PartnerSecrets(expiring)
	all["partner-secrets-none"], all["partner-secrets-locked"] = partnersview.PartnerSecrets(none), partnersview.PartnerSecrets(locked)
	return all
}

func ends(labels ...string) (all []ui.Option) {
	for i, label := range labels {
		all = append(all, ui.Option{
			Value:    label,
			Label:    label,
			Selected: i == 2,
			Hint:     "At " + now.Add(time.Duration(i*i*8)*time.Hour).Format("2006-01-02 15:04:05 UTC") + ".",
		})
	}
	return all
}

func secretForms() map[string]templ.Component {
	in := func(title string) ui.Shell {
		return shell(title, "partners", partnersCrumb, harbourCrumb)
	}
	created := partnersview.SecretCreatedView{
		Shell:       in("New signing secret"),
		PartnerName: "Harbour Leads",
		Label:       "live 2027",
		Secret:      "pp_k3J9xQ2mT7vLw0RzN5cYbF8hSgD1pEaUuK4iXo6WZt7Q",
		BaseURL:     "https://api.pingpost.example/p/harbour-leads",
		NextLabel:   "Done",
		NextURL:     harbour + "?tab=secrets",
	}
	rotated := created
	rotated.Ends, rotated.LinkCreated = now.Add(24*time.Hour), now.Add(-3*24*time.Hour)
	form := partnersview.SecretFormView{
		Head:   head("Secrets"),
		Shell:  in("New secret"),
		Action: "/new",
		Cancel: harbour + "?tab=secrets",
		StepUp: asked,
	}
	wrong, rotate := form, form
	wrong.Label, wrong.Errors = "live", ui.Errors{
		{Field: "label", Message: "The label can have at most 200 characters and cannot contain control characters."},
		{Field: "import", Message: "An imported secret must have 16 to 256 printable characters and no spaces at the start or end."},
	}
	rotate.Shell, rotate.Rotate, rotate.Label, rotate.Overlaps = in("Rotate secret"), true, "live 2027", ends("Now", "In 1 hour", "In 24 hours", "In 3 days", "In 7 days")
	forced := rotate
	forced.Underway = "A rotation is in progress: “live 2026” (…9f3K) expires at 2026-11-22 18:02 UTC. If you rotate anyway, all older secrets expire no later than the time that you choose."
	forced.Errors = ui.Errors{{Field: "force", Message: "Select this to rotate while another rotation is in progress."}}
	expire := partnersview.ExpireFormView{
		Shell:    in("Set expiry for “live 2026”"),
		Action:   "/r/2",
		Cancel:   harbour + "?tab=secrets",
		Label:    "live 2026",
		Ends:     now.Add(23 * time.Hour),
		EndTimes: ends("Now", "In 1 hour", "In 24 hours", "In 7 days"),
		StepUp:   asked,
	}
	last := expire
	last.Last, last.Ends, last.Errors = true, time.Time{}, ui.Errors{{Field: "when", Message: "Choose one of the listed times."}}
	return map[string]templ.Component{
		"secret-new":           partnersview.SecretForm(form),
		"secret-new-errors":    partnersview.SecretForm(wrong),
		"secret-rotate":        partnersview.SecretForm(rotate),
		"secret-rotate-forced": partnersview.SecretForm(forced),
		"secret-created":       partnersview.SecretCreated(created),
		"secret-rotated":       partnersview.SecretCreated(rotated),
		"secret-expire":        partnersview.ExpireForm(expire),
		"secret-expire-last":   partnersview.ExpireForm(last),
	}
}
