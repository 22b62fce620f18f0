package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"github.com/pingpost/pingpost/internal/dev/devstack"
	"github.com/pingpost/pingpost/models"
)

// welcome is the text that `pingpost dev` prints when it is ready. A test runs the printed
// commands.
const welcome = `
pingpost is running (development).

  partner API  {{.APIURL}}      documentation {{.APIURL}}/docs
  console      {{.AdminURL}}
  operations   {{.OpsURL}}      /healthz /readyz /metrics
  database     psql '{{.DatabaseURL}}'
  data folder  {{.DataDir}}
  commands     {{.Program}} partner list --data-dir {{.Folder}}

Demo users (email and password for the console)
{{range .Staff}}
  {{printf "%-28s" .Email}} {{.Password}}{{end}}

Demo partners
{{range .Partners}}
  {{.Slug}}   signing {{.Signing}}{{if ne .Status "approved"}}   {{.Status}}; to approve it: {{$.Program}} partner approve {{.Slug}} --data-dir {{$.Folder}}{{end}}
    base URL   {{$.PublicURL}}/p/{{.Slug}}
    secret     {{.Secret}}
    partnerId  {{range $i, $a := .Accounts}}{{if $i}}, {{end}}{{$a.PartnerID}}{{if $a.Default}} (default){{end}}{{end}}
{{end}}
Try it: paste this into another shell. It requests a price, then delivers a lead at that price.

{{.Ping}}

{{.Post}}

Or let pingpost sign the post:

{{.Ping}}

{{.Sign}}

Ctrl-C stops everything.
`

const pingCommand = `TX=$(curl -sS {{.PublicURL}}/p/{{.Slug}}/api/lead/ping \
  -H 'Content-Type: application/json' \
  -d '{"industry":"plumber","postcode":"SW1A 1AA","country":"GB","urgency":"emergency"}' \
  | tee /dev/stderr | sed -n 's/.*"transactionId":"\([^"]*\)".*/\1/p')`

const bodyCommand = `BODY='{"transactionId":"'$TX'","contact":{"email":"alex@example.com","name":"Alex Example","phone":"020 7946 0000"},"consent":{"acknowledged":true}}'`

const postCommand = bodyCommand + `
TS={{.Now}}
SIG=$(printf '%s.%s' "$TS" "$BODY" | openssl dgst -sha256 -hmac '{{.Secret}}' | sed 's/.*= *//')
curl -sS {{.PublicURL}}/p/{{.Slug}}/api/lead/post \
  -H 'Content-Type: application/json' \
  -H "X-Timestamp: $TS" -H "X-Signature-SHA256: $SIG" \
  -d "$BODY"`

const signCommandText = bodyCommand + `
printf '%s' "$BODY" | PINGPOST_SECRET='{{.Secret}}' {{.Program}} sign --url {{.PublicURL}}/p/{{.Slug}}/api/lead/post{{.AheadFlag}}`

// printWelcome prints the welcome message. The partners' base URLs start with publicURL, which is the
// URL of the partner API unless another one is configured.
func printWelcome(w io.Writer, r ready, publicURL string, f devFlags) error {
	first := r.Partners[max(0,
		slices.IndexFunc(r.Partners, func(p devstack.Partner) bool { return p.Status == models.PartnerApproved }))]
	view := struct {
		ready
		PublicURL, DataDir, Folder, Program string
		Slug, Secret, Now, AheadFlag        string
		Ping, Post, Sign                    string
	}{
		ready: r, PublicURL: publicURL, DataDir: f.dataDir, Folder: shellQuote(f.dataDir), Program: program(),
		Slug: first.Slug, Secret: first.Secret, Now: "$(date +%s)",
	}
	if f.ahead != 0 {
		// Sign with the service's time, which is ahead of the machine's. The printed command adds
		// the offset with shell arithmetic, because some date commands cannot add an offset.
		view.Now = fmt.Sprintf("$(($(date +%%s) + %d))", int64(f.ahead.Seconds()))
		view.AheadFlag = " --clock-offset " + f.ahead.String()
	}
	for _, c := range []struct {
		text string
		into *string
	}{{pingCommand, &view.Ping}, {postCommand, &view.Post}, {signCommandText, &view.Sign}} {
		var b strings.Builder
		if err := template.Must(template.New("").Parse(c.text)).Execute(&b, view); err != nil {
			return err
		}
		*c.into = b.String()
	}
	return template.Must(template.New("welcome").Parse(welcome)).Execute(w, view)
}

// program returns the quoted path of this program, for use in another shell.
func program() string {
	path, err := os.Executable()
	if err != nil {
		path = filepath.Base(os.Args[0])
	}
	return shellQuote(path)
}

// shellQuote quotes a path if it contains characters that are special to a shell.
func shellQuote(path string) string {
	if !strings.ContainsAny(path, " \t'\"\\$`&;|<>()*?[]{}#!~") {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
