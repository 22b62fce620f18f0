package templates_test

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	"github.com/pingpost/pingpost/internal/signing/diagnose"
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
		SharedWords: "37 of at most 100 partners use it",
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
	signed, silent, conflict, watcher := view, view, view, view
	signed.Forecast = partnersview.Forecast{
		Posts:    1204,
		Accounts: []partnersview.ForecastRow{{Identifier: "harbour", Posts: 1204}},
	}
	signed.Shared, signed.SharedLocked, signed.SharedWords = false, "All places are taken: take it from a partner that posts to its own base URL.", "100 of at most 100 partners use it"
	silent.Head, silent.Forecast, silent.Accounts = pending("Signing"), partnersview.Forecast{}, nil
	conflict.Conflict = &ui.Conflict{
		Actor:   "Mary Somerville",
		At:      ago(20 * time.Second),
		Changes: []ui.Change{{Name: "signing mode", Before: "off", After: "report only"}},
	}
	conflict.Errors = ui.Errors{
		{Field: "shared_address", Message: "All 100 places were taken meanwhile"},
		{Field: "proof", Message: "This is neither your password nor a code that is valid now"},
	}
	watcher.Head, watcher.Locked = watched("Signing"), "Your roles let you look at how this partner signs, not change it."
	check := partnersview.CheckView{Head: head("")}
	check.Head.Shell = shell("Check a signature", "partners", partnersCrumb, harbourCrumb)
	wrong := check
	wrong.Timestamp, wrong.Signature = "1795287764", "7a74ddb6c5eee22d6198e210cf7a4aae6004fa7dc07f66752779c1d480cc319f"
	wrong.Body = "{\n  \"transactionId\": \"tx_01M7Q5A2E9\",\n  \"email\": \"someone@example.com\"\n}\n"
	right, rejected := wrong, wrong
	wrong.Result = &diagnose.Diagnosis{
		Verdict: "No secret of this partner made this signature",
		Fix:     "It fits the same body without its last line end: sign the bytes exactly as they are sent.",
		Notes:   []string{"The timestamp is 4 minutes old, and would be in the window.", "The signature has the right form: 64 hexadecimal digits."},
		Signed:  []byte(wrong.Timestamp + "." + wrong.Body),
	}
	right.Result = &diagnose.Diagnosis{
		Matches: true,
		Verdict: "Signed with “live 2026” (…9f3K)",
		Signed:  []byte("1795287764.{}"),
	}
	rejected.Errors = ui.Errors{
		{Field: "timestamp", Message: "These are milliseconds; send seconds"},
		{Field: "body", Message: "Paste the body; an empty one is never signed"},
		{Field: "signature", Message: "This has 63 digits, and a signature 64"},
	}
	return map[string]templ.Component{
		"partner-signing":          partnersview.PartnerSigning(view),
		"partner-signing-full":     partnersview.PartnerSigning(signed),
		"partner-signing-silent":   partnersview.PartnerSigning(silent),
		"partner-signing-conflict": partnersview.PartnerSigning(conflict),
		"partner-signing-locked":   partnersview.PartnerSigning(watcher),
		"check":                    partnersview.SignatureCheck(check),
		"check-wrong":              partnersview.SignatureCheck(wrong),
		"check-right":              partnersview.SignatureCheck(right),
		"check-errors":             partnersview.SignatureCheck(rejected),
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
			RetireURL:  "/r/1",
			RevokeURL:  "/v/1",
		},
		{
			Label:      "live 2026",
			ID:         "sk_01M6ZP6W1X2Y3Z4A5B6C7D8E9F",
			Shown:      "pp_…9f3K",
			State:      "retiring",
			StateWords: "retiring in 23 h",
			CreatedBy:  "Mary Somerville",
			Created:    ago(212 * 24 * time.Hour),
			LastUsed:   ago(14 * time.Minute),
			Ends:       now.Add(23 * time.Hour),
			Posts:      893,
			RetireURL:  "/r/2",
			RevokeURL:  "/v/2",
		},
		{
			Label:      "their own from before",
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
	retiring, none, watcher := list, list, list
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
	retiring.Secrets, retiring.Retiring = secrets(), true
	retiring.Overlap = &partnersview.OverlapView{
		Chart: chart,
		Words: "Of 64 posts in the last hour, 58 were signed with the new secret. The partner has not changed over everywhere.",
	}
	none.Head, none.Secrets, none.RotateURL = pending("Secrets"), nil, ""
	watcher.Head, watcher.Secrets, watcher.NewURL, watcher.RotateURL = watched("Secrets"), secrets(), "", ""
	for i := range watcher.Secrets {
		watcher.Secrets[i].RetireURL, watcher.Secrets[i].RevokeURL = "", ""
	}
	all := secretForms()
	all["partner-secrets"], all["partner-secrets-retiring"] = partnersview.PartnerSecrets(list), partnersview.PartnerSecrets(retiring)
	all["partner-secrets-none"], all["partner-secrets-locked"] = partnersview.PartnerSecrets(none), partnersview.PartnerSecrets(watcher)
	return all
}

func ends(labels ...string) (all []ui.Option) {
	for i, label := range labels {
		all = append(all, ui.Option{
			Value:    label,
			Label:    label,
			Selected: i == 2,
			Hint:     "Ends at " + now.Add(time.Duration(i*i*8)*time.Hour).Format("2006-01-02 15:04:05 UTC") + ".",
		})
	}
	return all
}

func secretForms() map[string]templ.Component {
	in := func(title string) ui.Shell {
		return shell(title, "partners", partnersCrumb, harbourCrumb)
	}
	made := partnersview.SecretCreatedView{
		Shell:       in("A new secret for Harbour Leads"),
		PartnerName: "Harbour Leads",
		Label:       "live 2027",
		Secret:      "pp_k3J9xQ2mT7vLw0RzN5cYbF8hSgD1pEaUuK4iXo6WZt7Q",
		BaseURL:     "https://api.pingpost.example/p/harbour-leads",
		NextLabel:   "Kept: go on",
		NextURL:     harbour + "?tab=secrets",
	}
	rotated := made
	rotated.Ends, rotated.LinkCreated = now.Add(24*time.Hour), now.Add(-3*24*time.Hour)
	form := partnersview.SecretFormView{
		Head:   head("Secrets"),
		Shell:  in("New secret for Harbour Leads"),
		Action: "/new",
		Cancel: harbour + "?tab=secrets",
		StepUp: asked,
	}
	wrong, rotate := form, form
	wrong.Label, wrong.Errors = "live", ui.Errors{
		{Field: "label", Message: "Another secret of this partner is called live; choose another"},
		{Field: "import", Message: "A secret has at least 16 characters; paste it whole"},
	}
	rotate.Shell, rotate.Rotate, rotate.Label, rotate.Overlaps = in("Rotate the secret of Harbour Leads"), true, "live 2027", ends("Now", "1 hour", "24 hours", "3 days", "7 days")
	forced := rotate
	forced.Underway = "“live 2026” still retires, until 2026-11-22 18:02:44 UTC. Rotating again leaves the partner three secrets to tell apart; end the older one first, or go on all the same."
	forced.Errors = ui.Errors{{Field: "force", Message: "Tick this to rotate while a rotation is under way"}}
	retire := partnersview.RetireFormView{
		Shell:    in("When live 2026 ends"),
		Action:   "/r/2",
		Cancel:   harbour + "?tab=secrets",
		Label:    "live 2026",
		Ends:     now.Add(23 * time.Hour),
		EndTimes: ends("Now", "In 1 hour", "In 24 hours", "In 7 days"),
		StepUp:   asked,
	}
	last := retire
	last.Last, last.Ends, last.Errors = true, time.Time{}, ui.Errors{{Field: "when", Message: "Choose when it ends"}}
	return map[string]templ.Component{
		"secret-new":           partnersview.SecretForm(form),
		"secret-new-errors":    partnersview.SecretForm(wrong),
		"secret-rotate":        partnersview.SecretForm(rotate),
		"secret-rotate-forced": partnersview.SecretForm(forced),
		"secret-made":          partnersview.SecretCreated(made),
		"secret-rotated":       partnersview.SecretCreated(rotated),
		"secret-retire":        partnersview.RetireForm(retire),
		"secret-retire-last":   partnersview.RetireForm(last),
	}
}
