package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// personCommands finds, exports and erases the leads of a person.
func personCommands(t *testing.T, p *platform) {
	first, second := p.partner(0).deliver(t), p.partner(1).deliver(t)
	person := func(stdin string, args ...string) outcome {
		return call(t, stdin, nil, append(append([]string{"person"}, args...), "--data-dir", p.dir)...)
	}
	found := printed[[]personLeadView](t, person(strings.ToUpper(personal)+"\n", "find", "--json"))
	ids := map[string]bool{}
	for _, l := range found {
		ids[l.LeadID] = strings.HasPrefix(l.Partner, "pt_")
	}
	if !ids[first.id] || !ids[second.id] {
		t.Errorf("got %v, want %s and %s", found, first.id, second.id)
	}
	if out := person("no-one@example.com", "find").ok(t); strings.Contains(out, "ld_") {
		t.Errorf("got %s", out)
	}
	person("", "find").rejected(t, "invalid/email address")
	person("nonsense", "find").rejected(t, "invalid/email")
	person("0171", "find", "--by", "phone").rejected(t, "invalid/country")
	person(personal, "find", "--by", "name").fails(t, 2, "--by")

	file := filepath.Join(folder(t), "data.zip")
	export := []string{"export", "--identity", "reply", "--output", file}
	person(personal, "export", "--output", file).fails(t, 2, "--identity")
	person(personal, "export", "--identity", "telepathy", "--output", file).rejected(t, "invalid/identity")
	person(personal, append(export, "--received", "yesterday")...).fails(t, 2, "--received")
	person(personal, append(export, "--law", "lgpd")...).rejected(t, "invalid/law")
	if _, err := os.Stat(file); err == nil {
		t.Error("a rejected export leaves a file")
	}
	exported := printed[requestView](t, person(personal, append(export, "--reference", "case 7", "--json")...))
	if !strings.HasPrefix(exported.Request, "pr_") || exported.Leads != len(found) {
		t.Errorf("got %+v", exported)
	}
	text, err := exec.CommandContext(t.Context(), "bsdtar", "-xO", "--passphrase", exported.Passphrase, "-f", file, "data.json").Output()
	if err != nil || !strings.Contains(string(text), personal) || !strings.Contains(string(text), first.id) {
		t.Errorf("got %v: %s", err, text)
	}
	person(personal, export...).fails(t, 2, "--output") // the file exists
	empty := filepath.Join(folder(t), "empty.zip")
	if out := person("no-one@example.com", "export", "--identity", "call", "--output", empty, "--json").ok(t); strings.Contains(out, "passphrase") {
		t.Errorf("got %s", out)
	}
	if _, err := os.Stat(empty); err == nil {
		t.Error("an export of nothing leaves a file")
	}

	household := func(email string) {
		_, _, answer := p.partner(0).send(t, "ping", `{"industry":"plumber","postcode":"SW1A 1AA"}`, false)
		body := fmt.Sprintf(`{"transactionId":%q,"contact":{"email":%q,"phone":"020 7946 0555"},"consent":{"acknowledged":true}}`, member(t, answer, "transactionId"), email)
		if status, _, answer := p.partner(0).send(t, "post", body, true); status != http.StatusOK {
			t.Fatalf("post: got %d %s", status, answer)
		}
	}
	household("one@example.com")
	household("two@example.com")
	national := person("020 7946 0555", "find", "--by", "phone", "--country", "uk", "--json")
	if both := printed[[]personLeadView](t, national); len(both) != 2 {
		t.Errorf("national number in the UK: got %+v", both)
	}
	shared := []string{"export", "--by", "phone", "--identity", "call", "--output", filepath.Join(folder(t), "shared.zip")}
	person("+442079460555", shared...).fails(t, 1, "--include-differing")
	if both := printed[requestView](t, person("+442079460555", append(shared, "--include-differing", "--json")...)); both.Leads != 2 {
		t.Errorf("got %+v", both)
	}

	unconfirmed := person(personal, "erase", "--identity", "document")
	unconfirmed.unconfirmed(t, first.id, second.id)
	if left := printed[[]personLeadView](t, person(personal, "find", "--json")); len(left) != len(found) || strings.Contains(unconfirmed.stderr, "pr_") {
		t.Errorf("an unconfirmed erasure left %v, and printed %s", left, unconfirmed.stderr)
	}
	erased := printed[requestView](t, person(personal, "erase", "--identity", "document", "--received", time.Now().UTC().Format(time.DateOnly), "--yes", "--json"))
	if erased.Leads != len(found) || len(erased.Receipts) != len(found) || erased.Receipts[0].ErasedAt == nil || len(erased.Receipts[0].Receipt) != 64 {
		t.Errorf("got %+v", erased)
	}
	toNotify := map[string]int{}
	for _, n := range erased.ToNotify {
		toNotify[n.Partner] = n.Leads
	}
	for _, l := range found {
		toNotify[l.Partner]--
	}
	for partner, n := range toNotify {
		if n != 0 {
			t.Errorf("the partners to notify differ from those of the leads at %s", partner)
		}
	}
	if left := printed[[]personLeadView](t, person(personal, "find", "--json")); len(left) != 0 {
		t.Errorf("got %v, want no leads", left)
	}
	if again := printed[requestView](t, person(personal, "erase", "--identity", "reply", "--json")); again.Leads != 0 {
		t.Errorf("got %+v", again)
	}
	p.on(t, "lead", "reveal", first.id, "--field", "email", "--reason", "legal").rejected(t, "conflict/erased")
	p.on(t, "erasures", "verify").ok(t)
}
