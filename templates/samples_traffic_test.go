package templates_test

import (
	"fmt"
	"time"

	"github.com/a-h/templ"

	partnersview "github.com/pingpost/pingpost/templates/partners"
	"github.com/pingpost/pingpost/templates/ui"
)

func partnerTraffic() map[string]templ.Component {
	full := partnersview.PartnerTrafficView{
		Head: head("Traffic"),
		Period: ui.Period{
			Words:    "in the last 24 hours",
			StepHead: "Hour (UTC)",
			Ranges: []ui.Tab{
				{Label: "1 h", URL: "?range=1h"},
				{Label: "24 h", URL: "?range=24h", Current: true},
				{Label: "30 d", URL: "?range=30d"},
			},
		},
		Tiles: []ui.StatTile{
			{Label: "Pings", Value: "12,044", Note: "8,102 priced", URL: "/a"},
			{Label: "Posts", Value: "1,204", Note: "37 unsigned", URL: "/b"},
			{Label: "Accepted", Value: "94%", Note: "of posts", URL: "/c"},
			{Label: "Leads", Value: "1,131", Note: "including sandbox leads", URL: "/d"},
		},
		Outcomes: []partnersview.OutcomeRow{
			{Endpoint: "Ping", Outcome: "priced", Kind: "good", Count: 8102, Share: "67.3%"},
			{Endpoint: "Ping", Outcome: "not bought", Kind: "warn", Count: 3942, Share: "32.7%"},
			{Endpoint: "Post", Outcome: "delivered", Kind: "good", Count: 1131, Share: "93.9%"},
			{Endpoint: "Post", Outcome: "wrong signature", Kind: "bad", Count: 41, Share: "3.4%", URL: harbour + "?tab=requests&outcome=signature"},
			{
				Endpoint: "Post",
				Outcome:  "quote expired",
				Kind:     "bad",
				Count:    32,
				Share:    "2.7%",
				URL:      harbour + "?tab=requests&outcome=expired",
			},
		},
		Latency: []partnersview.LatencyRow{
			{Endpoint: "Ping", Count: 12044, P50: "≤ 0.5 ms", P95: "≤ 1 ms", P99: "≤ 2.5 ms"},
			{Endpoint: "Post", Count: 1204, P50: "≤ 5 ms", P95: "≤ 25 ms", P99: "> 1 s"},
		},
	}
	for hour := range int64(24) {
		full.Traffic = append(full.Traffic, ui.TrafficStep{
			Label: fmt.Sprintf("%02d:00", (hour+20)%24),
			Pings: 300 + hour*hour%190,
			Posts: 40 + hour%9,
		})
	}
	quiet, failed := full, full
	quiet.Outcomes, quiet.Latency, quiet.Tiles = nil, nil, []ui.StatTile{
		{Label: "Pings", Value: "0", Note: "none", URL: "/a"},
		{Label: "Posts", Value: "0", Note: "none", URL: "/b"},
	}
	quiet.Traffic = []ui.TrafficStep{{Label: "18:00"}, {Label: "19:00"}}
	failed.Failed, failed.RetryURL = "The partner's traffic could not be loaded.", harbour+"?tab=traffic"
	requests := partnersview.RequestsView{
		Head: head("Requests"),
		Outcomes: []ui.Option{
			{Value: "signature", Label: "Wrong signature"},
			{Value: "payload", Label: "Missing or invalid field"},
		},
		Views:    []ui.Tab{{Label: "Grouped", URL: harbour + "?tab=requests", Current: true}, {Label: "Each request", URL: harbour + "?tab=requests&view=each"}},
		Grouped:  true,
		Days:     "7 days",
		CheckURL: harbour + "/check",
		State:    ui.ListState{ClearURL: harbour + "?tab=requests"},
		Requests: []partnersview.RequestRow{
			{
				At:        ago(20 * time.Second),
				Outcome:   "Post: wrong signature",
				Response:  "401 Invalid HMAC SHA-256 signature",
				Code:      "signature_invalid",
				Account:   "harbour-trial",
				Secret:    "“first secret” (…9f3K), the first 3 min after it was revoked by ada@example.com",
				Fix:       "Sign with a valid secret. If the partner has none, create one.",
				RequestID: ui.Link{Label: "rq_01M7Q5A2E9J8K7M6N5P4Q3R2S1", URL: harbour + "/requests/rq_01M7Q5A2E9J8K7M6N5P4Q3R2S1"},
				Count:     "1,240",
				First:     ago(2 * time.Hour),
			},
			{
				At:        ago(9 * time.Minute),
				Outcome:   "Ping: missing or invalid field",
				Fix:       "The partner must fix the listed fields. The API response describes each error.",
				Fields:    []string{"industry", "consent.capturedAt", "phone"},
				RequestID: ui.Link{Label: "rq_01M7Q5A1B7T6V5W4X3Y2Z1A0B9", URL: harbour + "/requests/rq_01M7Q5A1B7T6V5W4X3Y2Z1A0B9"},
				Count:     "1",
			},
			{
				At: ago(3 * time.Hour), Outcome: "Post: replayed", Count: "3", First: ago(4 * time.Hour),
				RequestID: ui.Link{Label: "rq_01M7Q4C8D7E6F5G4H3J2K1M0N9", URL: harbour + "/requests/rq_01M7Q4C8D7E6F5G4H3J2K1M0N9"},
			},
		},
	}
	everyone := requests
	everyone.Head, everyone.AllPartners, everyone.Of, everyone.CheckURL = partnersview.PartnerHead{Shell: shell("Requests", "partners", partnersCrumb)}, true, "all partners", ""
	everyone.Ranges = []ui.Option{{Value: "24h", Label: "Last 24 hours", Selected: true}}
	each := requests
	each.Grouped, each.Pager = false, ui.Pager{Older: "/o"}
	none := requests
	none.Requests = nil
	nothing := none
	nothing.State.Filtered = true
	request := partnersview.PartnerRequestView{
		Head:      head("Requests"),
		RequestID: "rq_01M7Q5A2E9J8K7M6N5P4Q3R2S1",
		At:        ago(20 * time.Second),
		Kind:      "bad",
		Outcome:   "Wrong signature",
		Endpoint:  "Post",
		Account:   "harbour-trial",
		Secret:    "“first secret” (…9f3K), which was revoked by ada@example.com on 2026-11-05 09:12:44 UTC",
		Status:    "401 Unauthorized",
		Message:   "Invalid HMAC SHA-256 signature",
		Fix:       "Sign with a valid secret. If the partner has none, create one.",
		Took:      "310 µs",
		ListURL:   harbour + "?tab=requests",
		Checks: []partnersview.CheckRow{
			{Name: "timestamp", Label: "Timestamp", Kind: "good", State: "Passed"},
			{Name: "signature", Label: "Signature", Kind: "bad", State: "Stopped here"},
			{Name: "json", Label: "JSON", Kind: "idle", State: "Not reached"},
		},
		Reply: "Your post of 2026-11-05 09:14:44 UTC was rejected.\n\nResponse: 401 Invalid HMAC SHA-256 signature",
	}
	replay := request
	replay.Kind, replay.Outcome, replay.Status, replay.Message, replay.Fix = "good", "Replayed", "200 OK", "", ""
	replay.Checks, replay.Reply = nil, ""
	replay.Lead = ui.Link{Label: "ld_01M7Q5A2E9J8K7M6N5P4Q3R2S1", URL: "/leads/ld_01M7Q5A2E9J8K7M6N5P4Q3R2S1"}
	return map[string]templ.Component{
		"partner-traffic":           partnersview.PartnerTraffic(full),
		"partner-traffic-quiet":     partnersview.PartnerTraffic(quiet),
		"partner-traffic-failed":    partnersview.PartnerTraffic(failed),
		"partner-requests":          partnersview.Requests(requests),
		"requests-of-all-partners":  partnersview.Requests(everyone),
		"partner-requests-each":     partnersview.Requests(each),
		"partner-requests-none":     partnersview.Requests(none),
		"partner-requests-no-match": partnersview.Requests(nothing),
		"partner-request":           partnersview.PartnerRequest(request),
		"partner-request-replay":    partnersview.PartnerRequest(replay),
	}
}

// onboardings returns the onboarding page at the start, while it waits for the first lead, and at
// the end.
func onboardings() map[string]templ.Component {
	at := func(current int, live partnersview.OnboardingLive) templ.Component {
		h := pending("")
		h.Shell = shell("Onboard Harbour Leads", "partners", partnersCrumb, harbourCrumb)
		v := partnersview.OnboardingView{Head: h, Steps: steps(), Live: live}
		for i := range v.Steps {
			v.Steps[i].Done, v.Steps[i].Current = i < current, i == current
		}
		return partnersview.Onboarding(v)
	}
	return map[string]templ.Component{
		"onboarding":         at(1, partnersview.OnboardingLive{URL: "/onboarding-nothing", Waiting: true}),
		"onboarding-waiting": at(4, partnersview.OnboardingLive{URL: "/onboarding-events", Waiting: true}),
		"onboarding-done":    at(5, liveActivity()),
	}
}

func steps() []partnersview.OnboardingStep {
	return []partnersview.OnboardingStep{
		{
			Title:       "Create an account",
			Text:        "Create a sandbox account for testing. Its leads are processed as usual, but earn nothing and are deleted automatically.",
			Detail:      "harbour-trial (sandbox)",
			ActionURL:   harbour + "/accounts/new",
			ActionLabel: "Create account",
			Also:        &ui.Link{Label: "All accounts", URL: harbour},
		},
		{
			Title:       "Approve the partner",
			Text:        "Once approved, the partner gets prices and can deliver leads.",
			ActionURL:   harbour + "/approve",
			ActionLabel: "Approve partner",
			Post:        true,
			Also:        &ui.Link{Label: "Partner details", URL: harbour + "?tab=details"},
		},
		{
			Title:       "Create a signing secret",
			Text:        "The partner signs its posts with this secret. The secret is shown only once.",
			ActionURL:   harbour + "/secrets/new",
			ActionLabel: "Create secret",
		},
		{
			Title:       "Share integration details",
			Text:        "Send the partner its base URL, its secret and the link to its own documentation.",
			Detail:      "https://api.pingpost.example/p/harbour-leads",
			ActionURL:   harbour + "/link",
			ActionLabel: "Create link",
			Post:        true,
		},
		{Title: "Receive the first lead", Text: "Leads and rejected requests appear below as they arrive."},
	}
}

func liveActivity() partnersview.OnboardingLive {
	return partnersview.OnboardingLive{URL: "/onboarding-events", Events: []partnersview.LiveEvent{
		{
			At:      ago(4 * time.Second),
			Kind:    "good",
			What:    "Lead delivered",
			Detail:  "Sandbox account harbour-trial, signed with “first secret”.",
			Lead:    ui.Link{Label: "ld_01M7Q5A2E9J8K7M6N5P4Q3R2S1", URL: "/leads/ld_01M7Q5A2E9J8K7M6N5P4Q3R2S1"},
			Sandbox: true,
		},
		{
			At:       ago(50 * time.Second),
			Kind:     "bad",
			What:     "Post: wrong signature",
			Detail:   "Sandbox account harbour-trial.",
			Fix:      "Sign the timestamp, a dot and the raw bytes of the body.",
			Sandbox:  true,
			CheckURL: harbour + "/check",
		},
		{
			At: ago(2 * time.Minute), Kind: "bad", What: "Ping: missing or invalid field", Detail: "Fields: industry",
			Fix: "The partner must fix the listed fields. The API response describes each error.",
		},
	}}
}
