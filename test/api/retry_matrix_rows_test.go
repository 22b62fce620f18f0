package api

import (
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/models"
	"github.com/pingpost/pingpost/test/node"
)

// ping sends a ping to the partner's own base URL.
func ping(t *testing.T, n *node.Node, p node.Partner, body string) node.Answer {
	t.Helper()
	return n.Do(t, node.Request{Path: p.Base() + "/api/lead/ping", Body: body})
}

// send sends a signed post. Unlike Post, it does not check the response against the OpenAPI document, which
// would slow down concurrent posts.
func send(t *testing.T, n *node.Node, body string) node.Answer {
	t.Helper()
	_, a := n.Send(t, n.Signed(n.Required, body))
	return a
}

func sameBytes(t *testing.T, n *node.Node) []node.Answer {
	body := n.FreshPost(t, n.Required)
	return []node.Answer{n.Post(t, n.Required, body), n.Post(t, n.Required, body)}
}

func newSecret(t *testing.T, n *node.Node) []node.Answer {
	p := n.NewPartner(t, "new-secret", models.SigningRequired)
	body := n.FreshPost(t, p)
	first := n.Post(t, p, body)
	made, err := n.Partners.CreateSecret(t.Context(), scope.System, p.Partner, "")
	if err != nil {
		t.Fatal(err)
	}
	p.Secret = made.Plain
	n.AwaitPartner(t, p)
	return []node.Answer{first, n.Post(t, p, body)}
}

func otherBase(t *testing.T, n *node.Node) []node.Answer {
	body := n.FreshPost(t, n.Required)
	shared := n.Signed(n.Required, body)
	shared.Path = "/api/lead/post"
	return []node.Answer{n.Post(t, n.Required, body), n.Do(t, shared)}
}

func otherBody(start string) func(*testing.T, *node.Node) []node.Answer {
	return func(t *testing.T, n *node.Node) []node.Answer {
		body := n.FreshPost(t, n.Required)
		return []node.Answer{n.Post(t, n.Required, body), n.Post(t, n.Required, strings.Replace(body, "{", start, 1))}
	}
}

func trailingNewline(t *testing.T, n *node.Node) []node.Answer {
	body := n.FreshPost(t, n.Required)
	return []node.Answer{n.Post(t, n.Required, body), n.Post(t, n.Required, body+"\n")}
}

// otherPartner delivers a lead with a quote from the given base URL, and sends the same body as another
// partner.
func otherPartner(base string) func(*testing.T, *node.Node) []node.Answer {
	return func(t *testing.T, n *node.Node) []node.Answer {
		body := node.WithTransaction(node.MinimalPost, n.Ping(t, base, node.MinimalPing).TransactionID)
		return []node.Answer{n.Post(t, n.Required, body), n.Post(t, n.ReportOnly, body)}
	}
}

// atOnce sends 50 posts for one transaction concurrently, all with the same body or each with its own.
func atOnce(differ bool) func(*testing.T, *node.Node) []node.Answer {
	return func(t *testing.T, n *node.Node) []node.Answer {
		body := n.FreshPost(t, n.Required)
		answers := make([]node.Answer, 50)
		var all sync.WaitGroup
		for i := range answers {
			mine := body
			if differ {
				mine = strings.Replace(body, "{", `{"notes":"`+strconv.Itoa(i)+`",`, 1)
			}
			all.Go(func() { answers[i] = send(t, n, mine) })
		}
		all.Wait()
		return answers
	}
}

// cut sends posts on connections that end before the response is read, and then sends each of them again.
func cut(posts int, end func(*testing.T, *node.Connection, string)) func(*testing.T, *node.Node) []node.Answer {
	return func(t *testing.T, n *node.Node) []node.Answer {
		answers := make([]node.Answer, posts)
		var all sync.WaitGroup
		for i := range answers {
			body := n.FreshPost(t, n.Required)
			line := n.Dial(t)
			all.Go(func() {
				end(t, line, n.RawSigned(n.Required, body).String())
				answers[i] = send(t, n, body)
			})
		}
		all.Wait()
		return answers
	}
}

func closed(_ *testing.T, l *node.Connection, post string) {
	l.Send(post)
	l.Close()
}

func reset(t *testing.T, l *node.Connection, post string) {
	l.Send(post)
	if err := l.Conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Error(err)
	}
	l.Close()
}

func halfBody(_ *testing.T, l *node.Connection, post string) {
	l.Send(post[:len(post)-10])
	l.Close()
}

func halfClose(t *testing.T, l *node.Connection, post string) {
	l.Send(post)
	if err := l.Conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Error(err)
	}
}

func frozenDatabase(t *testing.T, n *node.Node, proxy *node.FaultyProxy) []node.Answer {
	body := n.FreshPost(t, n.Required)
	proxy.Hold()
	first := n.Post(t, n.Required, body)
	proxy.Restore()
	testkit.Eventually(t, node.Patience, "the node is ready again", func() bool { return n.Readiness(t, "/readyz").Ready })
	return []node.Answer{first, n.Post(t, n.Required, body)}
}

func expiredAfter(t *testing.T, n *node.Node) []node.Answer {
	body := n.FreshPost(t, n.Required)
	first := n.Post(t, n.Required, body)
	n.Manual.Advance(quote.Validity + time.Millisecond)
	return []node.Answer{first, n.Post(t, n.Required, body), n.Post(t, n.Required, body+" ")}
}

func expiredBefore(t *testing.T, n *node.Node) []node.Answer {
	body := n.FreshPost(t, n.Required)
	n.Manual.Advance(quote.Validity + time.Millisecond)
	return []node.Answer{n.Post(t, n.Required, body)}
}

// impatientClients delivers 40 leads concurrently. Half of the clients give up after 15 ms, and then double this time
// with each attempt.
func impatientClients(t *testing.T, n *node.Node) []node.Answer {
	answers := make([]node.Answer, 40)
	var all sync.WaitGroup
	for i := range answers {
		body, timeout := n.FreshPost(t, n.Required), 15*time.Millisecond
		if i%2 == 0 {
			timeout = node.Patience
		}
		all.Go(func() {
			for ; answers[i].Status == 0 && timeout <= node.Patience; timeout *= 2 {
				answers[i] = postWithin(t, n, body, timeout)
			}
		})
	}
	all.Wait()
	return answers
}

// postWithin sends a signed post. The result is the zero Answer if there is no response in time.
func postWithin(t *testing.T, n *node.Node, body string, timeout time.Duration) (a node.Answer) {
	signed := n.Signed(n.Required, body)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, n.API+signed.Path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return a
	}
	request.Header = signed.Header
	client := &http.Client{Transport: n.Client.Transport, Timeout: timeout}
	response, err := client.Do(request)
	if err != nil {
		return a
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return a
	}
	a = node.Answer{Status: response.StatusCode, Header: response.Header, Body: string(text)}
	n.Record(t, signed.Path, a)
	return a
}

func timestamps(seconds ...int64) func(*testing.T, *node.Node) []node.Answer {
	return func(t *testing.T, n *node.Node) (answers []node.Answer) {
		post := n.Signed(n.Required, n.FreshPost(t, n.Required))
		for _, s := range seconds {
			node.SignAt(&post, n.Required.Secret, n.NowPlus(s))
			answers = append(answers, n.Do(t, post))
		}
		return answers
	}
}

// rotation retries posts with the other secret during the overlap, in both directions. After the overlap,
// the old secret is not valid.
func rotation(t *testing.T, n *node.Node) []node.Answer {
	old := n.NewPartner(t, "rotating", models.SigningRequired)
	const overlap = time.Minute
	made, err := n.Partners.RotateSecret(t.Context(), scope.System, old.Partner, "", overlap, false)
	if err != nil {
		t.Fatal(err)
	}
	renewed := old
	renewed.Secret = made.Plain
	n.AwaitPartner(t, renewed)
	a, b, c := n.FreshPost(t, old), n.FreshPost(t, old), n.FreshPost(t, old)
	answers := []node.Answer{n.Post(t, old, a), n.Post(t, renewed, a), n.Post(t, renewed, b), n.Post(t, old, b)}
	n.Manual.Advance(overlap)
	return append(answers, n.Post(t, old, c), n.Post(t, renewed, c))
}

// cappedPartner requests 9 quotes, and then delivers 5 leads, which is the partner's cap. The partner can
// still use the other quotes, but gets no new ones.
func cappedPartner(t *testing.T, n *node.Node) (answers []node.Answer) {
	p := n.NewPartner(t, "capped", models.SigningRequired)
	agreePrice(t, n, p, 0, partners.PriceForm{Adjustment: "+5", DailyLeadCap: "5", Exclusions: "industry roofer"})
	var bodies []string
	for range 9 {
		bodies = append(bodies, n.FreshPost(t, p))
	}
	for _, body := range bodies[:5] {
		answers = append(answers, n.Post(t, p, body))
	}
	testkit.Eventually(t, node.Patience, "the cap is reached",
		func() bool { return n.Ping(t, p.Base(), node.MinimalPing).Reason == "capped" })
	answers = append(answers, ping(t, n, p, node.MinimalPing), ping(t, n, p, `{"industry":"roofer","postcode":"1"}`))
	for _, body := range bodies[5:] {
		answers = append(answers, n.Post(t, p, body))
	}
	return answers
}

func suspendedPartner(t *testing.T, n *node.Node) []node.Answer {
	p := n.NewPartner(t, "suspended", models.SigningRequired)
	sold, unsold := n.FreshPost(t, p), n.FreshPost(t, p)
	first := n.Post(t, p, sold)
	if err := n.Partners.SetStatus(t.Context(), scope.System, p.ID, models.PartnerSuspended); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, node.Patience, "the node knows the suspension",
		func() bool { return n.Ping(t, p.Base(), node.MinimalPing).Reason == "paused" })
	return append(whileInactive(t, n, p, sold, unsold), first, ping(t, n, p, node.MinimalPing))
}

func suspendedAccount(t *testing.T, n *node.Node) []node.Answer {
	p := n.NewPartner(t, "half-suspended", models.SigningRequired)
	accounts, err := n.Partners.Accounts(t.Context(), p.Partner)
	if err != nil {
		t.Fatal(err)
	}
	second := accounts[slices.IndexFunc(accounts, func(a models.Account) bool { return a.Identifier == p.Accounts[1] })]
	named := func() string {
		return strings.Replace(n.FreshPost(t, p), "{", `{"partnerId":"`+second.Identifier+`",`, 1)
	}
	sold, unsold := named(), named()
	first := n.Post(t, p, sold)
	change := partners.AccountChange{Name: second.Name, Status: models.AccountSuspended, Signing: second.SigningMode}
	if err := n.Partners.SetAccount(t.Context(), scope.System, second.ID, second.RowVersion, change); err != nil {
		t.Fatal(err)
	}
	return append(whileInactive(t, n, p, sold, unsold), first)
}

// whileInactive sends posts for a lead that was delivered before the suspension and for a quote from
// before the suspension. It sends them again after both quotes have expired.
func whileInactive(t *testing.T, n *node.Node, p node.Partner, sold, unsold string) []node.Answer {
	answers := []node.Answer{n.Post(t, p, sold), n.Post(t, p, sold+" "), n.Post(t, p, unsold)}
	n.Manual.Advance(quote.Validity + time.Millisecond)
	return append(answers, n.Post(t, p, sold), n.Post(t, p, unsold))
}

func sandboxOnly(t *testing.T, n *node.Node) []node.Answer {
	p := n.NewPartner(t, "only-sandbox", models.SigningRequired,
		partners.NewAccount{Identifier: "only-sandbox-trial", Sandbox: true})
	body := n.FreshPost(t, p)
	return []node.Answer{n.Post(t, p, body), n.Post(t, p, body), n.Post(t, n.Required, n.FreshPost(t, p))}
}
