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
		Head:     head("Traffic"),
		Words:    "in the last 24 hours",
		StepHead: "Hour (UTC)",
		Ranges: []ui.Tab{
			{Label: "1 h", URL: "?range=1h"},
			{Label: "24 h", URL: "?range=24h", Current: true},
			{Label: "30 d", URL: "?range=30d"},
		},
		Tiles: []ui.StatTile{
			{Label: "Pings", Value: "12,044", Note: "8,102 priced", URL: "/a"},
			{Label: "Posts", Value: "1,204", Note: "37 unsigned", URL: "/b"},
			{Label: "Accepted", Value: "94%", Note: "of posts", URL: "/c"},
			{Label: "Leads", Value: "1,131", Note: "5 of them sandbox", URL: "/d"},
		},
		Outcomes: []partnersview.OutcomeRow{
			{Endpoint: "Ping", Outcome: "priced", Kind: "good", Count: 8102, Share: "67.3%"},
			{Endpoint: "Ping", Outcome: "no buyer", Kind: "warn", Count: 3942, Share: "32.7%"},
			{Endpoint: "Post", Outcome: "delivered", Kind: "good", Count: 1131, Share: "93.9%"},
			{Endpoint: "Post", Outcome: "wrong signature", Kind: "bad", Count: 41, Share: "3.4%", URL: harbour + "?tab=rejections&outcome=signature"},
			{
				Endpoint: "Post",
				Outcome:  "the transaction had expired",
				Kind:     "bad",
				Count:    32,
				Share:    "2.7%",
				URL:      harbour + "?tab=rejections&outcome=expired",
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
	failed.Failed, failed.RetryURL = "The figures took longer than five seconds. Nothing is lost; partners are not affected.", harbour+"?tab=traffic"
	rejections := partnersview.PartnerRejectionsView{
		Head: head("Refusals"),
		Outcomes: []ui.Option{
			{Value: "signature", Label: "Wrong signature"},
			{Value: "payload", Label: "Fields at fault"},
		},
		Kept:     "the newest 500 are kept",
		CheckURL: harbour + "/check",
		State:    ui.ListState{ClearURL: harbour + "?tab=rejections"},
		Pager:    ui.Pager{Count: "about 120 refusals", Older: "/o"},
		Rejections: []partnersview.RejectionRow{
			{
				At:        ago(20 * time.Second),
				Endpoint:  "Post",
				Outcome:   "wrong signature",
				Fix:       "Sign the timestamp, a dot and the body's bytes exactly as they are sent, with a secret that is active.",
				RequestID: "rq_01M7Q5A2E9J8K7M6N5P4Q3R2S1",
			},
			{
				At:        ago(9 * time.Minute),
				Endpoint:  "Ping",
				Outcome:   "fields at fault",
				Fix:       "Give each of these fields a value of the kind that the documentation says.",
				Fields:    []string{"industry", "consent.capturedAt", "phone"},
				RequestID: "rq_01M7Q5A1B7T6V5W4X3Y2Z1A0B9",
			},
			{At: ago(3 * time.Hour), Endpoint: "Post", Outcome: "the transaction had expired", RequestID: "rq_01M7Q4C8D7E6F5G4H3J2K1M0N9"},
		},
	}
	none := rejections
	none.Rejections, none.Pager = nil, ui.Pager{}
	nothing := none
	nothing.Request, nothing.State.Filtered = "rq_01M7ZZ", true
	return map[string]templ.Component{
		"partner-traffic":             partnersview.PartnerTraffic(full),
		"partner-traffic-quiet":       partnersview.PartnerTraffic(quiet),
		"partner-traffic-failed":      partnersview.PartnerTraffic(failed),
		"partner-rejections":          partnersview.PartnerRejections(rejections),
		"partner-rejections-none":     partnersview.PartnerRejections(none),
		"partner-rejections-no-match": partnersview.PartnerRejections(nothing),
	}
}

// onboardings are the path at its start, while the first post is awaited, and at its end.
func onboardings() map[string]templ.Component {
	at := func(current int, live partnersview.OnboardingLive) templ.Component {
		h := pending("")
		h.Shell = shell("Onboarding Harbour Leads", "partners", partnersCrumb, harbourCrumb)
		v := partnersview.OnboardingView{Head: h, Steps: steps(), Live: live}
		for i := range v.Steps {
			v.Steps[i].Done, v.Steps[i].Current = i < current, i == current
		}
		return partnersview.Onboarding(v)
	}
	return map[string]templ.Component{
		"onboarding":         at(1, partnersview.OnboardingLive{URL: "/onboarding-nothing", Waiting: true}),
		"onboarding-waiting": at(4, partnersview.OnboardingLive{URL: "/onboarding-events", Waiting: true}),
		"onboarding-done":    at(5, arrivals()),
	}
}

func steps() []partnersview.OnboardingStep {
	return []partnersview.OnboardingStep{
		{
			Title:       "Accounts",
			Text:        "Leads are sold and paid by account. Begin with a sandbox account: its trial posts pay nobody.",
			Detail:      "harbour-trial (sandbox)",
			ActionURL:   harbour + "/accounts/new",
			ActionLabel: "Make an account",
			Also:        &ui.Link{Label: "All accounts", URL: harbour},
		},
		{
			Title:       "Approve",
			Text:        "Until it is approved it gets no price, and its posts are refused.",
			ActionURL:   harbour + "/approve",
			ActionLabel: "Approve Harbour Leads",
			Post:        true,
			Also:        &ui.Link{Label: "Its details", URL: harbour + "?tab=details"},
		},
		{
			Title:       "First secret",
			Text:        "The partner signs its posts with it. It is shown once.",
			ActionURL:   harbour + "/secrets/new",
			ActionLabel: "Make the first secret",
		},
		{
			Title:       "Hand over",
			Text:        "Give the partner the base URL, the secret and the link to its documentation, each in a way that only it can read.",
			Detail:      "https://api.pingpost.example/p/harbour-leads",
			ActionURL:   harbour + "/link",
			ActionLabel: "Make the link",
			Post:        true,
		},
		{Title: "First post", Text: "The partner sends a ping, and then a signed post. Both show below as they arrive."},
	}
}

func arrivals() partnersview.OnboardingLive {
	return partnersview.OnboardingLive{URL: "/onboarding-events", Events: []partnersview.LiveEvent{
		{
			At:      ago(4 * time.Second),
			Kind:    "good",
			What:    "Lead delivered",
			Detail:  "Sandbox account harbour-trial, signed with “first secret”.",
			LeadID:  "ld_01M7Q5A2E9J8K7M6N5P4Q3R2S1",
			Sandbox: true,
		},
		{
			At:       ago(50 * time.Second),
			Kind:     "bad",
			What:     "Post refused: wrong signature",
			Detail:   "Sandbox account harbour-trial.",
			Fix:      "Sign the timestamp, a dot and the body's bytes exactly as they are sent.",
			Sandbox:  true,
			CheckURL: harbour + "/check",
		},
		{At: ago(2 * time.Minute), Kind: "good", What: "Ping priced", Detail: "Account harbour-trial: solar, GB.", Sandbox: true},
	}}
}
