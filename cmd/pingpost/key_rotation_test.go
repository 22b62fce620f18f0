package main

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// rotationStep is a numbered step of a procedure in docs/how-to/rotate-keys.md.
type rotationStep struct{ procedure, text string }

// rotationSteps reads the steps of the page, in order.
func rotationSteps(t *testing.T) (steps []rotationStep) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "rotate-keys.md"))
	if err != nil {
		t.Fatal(err)
	}
	procedure := ""
	for _, line := range regexp.MustCompile(`(?m)^(?:## (.+)|\d\. (.+))`).FindAllStringSubmatch(string(page), -1) {
		if line[1] != "" {
			procedure = line[1]
		}
		if line[2] != "" {
			steps = append(steps, rotationStep{procedure, line[2]})
		}
	}
	return steps
}

// fleet contains two nodes with the same database and settings.
type fleet struct {
	settings map[string]string
	vault    *testkit.Vault
	nodes    [2]*process

	mu      sync.RWMutex // read-locked during a ping and post, write-locked to change origins
	origins [2]string
}

func (f *fleet) environment() (env []string) {
	for name, value := range f.settings {
		env = append(env, name+"="+value)
	}
	return env
}

// everywhere changes settings on both nodes, one node at a time. It stops each old process only
// after the new one is ready.
func (f *fleet) everywhere(t *testing.T, change map[string]string) {
	t.Helper()
	maps.Copy(f.settings, change)
	for i, old := range f.nodes {
		node, api, ops := serve(t, f.environment())
		node.until(t, "the node is ready", ready200(ops))
		f.mu.Lock()
		f.nodes[i], f.origins[i] = node, api
		f.mu.Unlock()
		if old == nil {
			continue
		}
		if code := old.stop(t, syscall.SIGTERM); code != 0 {
			t.Errorf("a node exited with %d: %s", code, old.stderr.String())
		}
	}
}

// ready200 returns a function that reports whether a node is ready.
func ready200(ops string) func() bool {
	return func() bool {
		resp, err := http.Get(ops + "/readyz")
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	}
}

// run runs a command with the Vault identity for the given role. The step must name the command
// and, unless it is the node's own, the role.
func (f *fleet) run(t *testing.T, step rotationStep, command, role string) string {
	t.Helper()
	if !strings.Contains(step.text, "`pingpost "+command+"`") {
		t.Fatalf("the step does not run %q: %s", command, step.text)
	}
	env := f.environment()
	if role != devvault.Serve {
		if !strings.Contains(step.text, "`"+role+"`") {
			t.Fatalf("the step does not run %q as %s: %s", command, role, step.text)
		}
		env = append(env, "PINGPOST_VAULT_ROLE_ID="+f.vault.Roles[role].RoleID,
			"PINGPOST_VAULT_SECRET_ID="+f.vault.Roles[role].SecretID)
	}
	return call(t, "", env, strings.Fields(command)...).ok(t)
}

// status runs `keys status`.
func (f *fleet) status(t *testing.T) statusView {
	t.Helper()
	return printed[statusView](t, call(t, "", f.environment(), "keys", "status", "--json"))
}

// trade is a partner that continuously delivers leads. It sends pings to one node and posts
// to the other, and repeats earlier posts.
type trade struct {
	fleet  *fleet
	client client
	stop   chan struct{}
	ended  sync.WaitGroup

	mu    sync.Mutex
	since int // index of the first delivery whose quote can still be opened
	all   []lead
}

func (tr *trade) deliver(t *testing.T, turn int) {
	tr.fleet.mu.RLock()
	defer tr.fleet.mu.RUnlock()
	one, other := tr.client, tr.client
	one.origin, other.origin = tr.fleet.origins[turn%2], tr.fleet.origins[1-turn%2]
	body := one.prepare(t)
	status, _, answer := other.send(t, "post", body, true)
	l := lead{body, member(t, answer, "leadId")}
	if status != http.StatusOK || l.id == "" {
		t.Errorf("post: got %d %s", status, answer)
		return
	}
	tr.mu.Lock()
	earlier := l
	if n := len(tr.all); n > tr.since {
		earlier = tr.all[tr.since+turn%(n-tr.since)]
	}
	tr.all = append(tr.all, l)
	tr.mu.Unlock()
	status, header, answer := one.send(t, "post", earlier.body, true)
	if status != http.StatusOK || header.Get("Idempotent-Replayed") != "true" || member(t, answer, "leadId") != earlier.id {
		t.Errorf("retry: got %d %s", status, answer)
	}
}

func (tr *trade) begin(t *testing.T) {
	tr.stop = make(chan struct{})
	tr.ended.Go(func() {
		for turn := 0; ; turn++ {
			select {
			case <-tr.stop:
				return
			default:
				tr.deliver(t, turn)
			}
		}
	})
	t.Cleanup(tr.end)
}

// end stops the deliveries. It can be called more than once.
func (tr *trade) end() {
	select {
	case <-tr.stop:
	default:
		close(tr.stop)
	}
	tr.ended.Wait()
}

func (tr *trade) delivered() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.all)
}

// waitForMore waits until the partner has delivered more leads.
func (tr *trade) waitForMore(t *testing.T) {
	t.Helper()
	want := tr.delivered() + 10
	testkit.Eventually(t, patience, "deliveries continue", func() bool { return tr.delivered() >= want })
}

// forgetQuotes stops repeating earlier posts, as if their quotes had expired.
func (tr *trade) forgetQuotes() {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.since = len(tr.all)
}

const (
	oldKey   = "b2xkLW9sZC1vbGQtb2xkLW9sZC1vbGQtb2xkLW9sZCE="
	newKey   = "bmV3LW5ldy1uZXctbmV3LW5ldy1uZXctbmV3LW5ldyE="
	thirdKey = "dGhyZWUtdGhyZWUtdGhyZWUtdGhyZWUtdGhyZWUtISE="
	aKEK     = "a2VrLWtlay1rZWsta2VrLWtlay1rZWsta2VrLWtlayE="
	nextKEK  = "bmV4dC1uZXh0LW5leHQtbmV4dC1uZXh0LW5leHQtISE="
)

// The test follows docs/how-to/rotate-keys.md on two nodes while a partner delivers leads. No post
// may be rejected, and at the end every lead must be readable.
func TestKeysMoveAsThePageSays(t *testing.T) {
	t.Parallel()
	p := &platform{dir: filepath.Join(folder(t), "data")}
	p.development = startDev(t, nil, "--data-dir", p.dir)
	v := testkit.NewVault(t)
	owner, database := p.anotherDatabase(t, "moves")
	call(t, "", []string{owner}, "migrate", "up").ok(t)
	f := &fleet{vault: v, settings: map[string]string{
		"PINGPOST_PLATFORM_KEYS":    oldKey,
		"LEAD_VAULT_KEK":            aKEK,
		"PINGPOST_HTTP_API_ADDR":    "127.0.0.1:0",
		"PINGPOST_HTTP_ADMIN_ADDR":  "127.0.0.1:0",
		"PINGPOST_HTTP_OPS_ADDR":    "127.0.0.1:0",
		"PINGPOST_HTTP_PUBLIC_URL":  "https://leads.example.com",
		"PINGPOST_HTTP_ADMIN_URL":   "https://console.example.com",
		"PINGPOST_HTTP_DRAIN_DELAY": "0s",
	}}
	name, url, _ := strings.Cut(database, "=")
	f.settings[name] = url
	env := f.environment()
	call(t, "", env, "partner", "create", "moving-leads", "--signing", "required").ok(t)
	call(t, "", env, "account", "create", "moving-leads", "moving-leads").ok(t)
	secret := printed[secretView](t, call(t, "", env, "secret", "create", "moving-leads", "--json"))
	call(t, "", env, "partner", "approve", "moving-leads").ok(t)
	f.everywhere(t, nil)
	tr := &trade{fleet: f, client: client{slug: "moving-leads", secret: secret.Secret}}
	tr.begin(t)
	tr.waitForMore(t)

	// under counts the leads that use a version of a wrapper's key, or any version if version is
	// "".
	under := func(wrapper, version string) (leads int64) {
		for _, key := range f.status(t).LeadKeys {
			if key.Wrapper == wrapper && (version == "" || key.Version == version) {
				leads += key.Leads
			}
		}
		return leads
	}
	toVault := map[string]string{
		"PINGPOST_VAULT_ADDRESS":   v.Address,
		"PINGPOST_VAULT_ROLE_ID":   v.Roles[devvault.Serve].RoleID,
		"PINGPOST_VAULT_SECRET_ID": v.Roles[devvault.Serve].SecretID,
		"PINGPOST_KEYS_WRITE_WITH": "local",
	}
	var oldLocal string // the version of the first local key
	carriedOut := []struct {
		procedure, begins string
		do                func(t *testing.T, step rotationStep)
	}{
		{"Replace the platform key", "On every node, add the new key as the second entry", func(t *testing.T, _ rotationStep) {
			f.everywhere(t, map[string]string{"PINGPOST_PLATFORM_KEYS": oldKey + "," + newKey})
		}},
		{"Replace the platform key", "On every node, make the new key the first entry", func(t *testing.T, _ rotationStep) {
			f.everywhere(t, map[string]string{"PINGPOST_PLATFORM_KEYS": newKey + "," + oldKey})
		}},
		{"Replace the platform key", "Run `pingpost keys reseal`. It moves", func(t *testing.T, step rotationStep) {
			if out := f.run(t, step, "keys reseal", devvault.Serve); !strings.HasPrefix(out, "1 signing secret moved") {
				t.Errorf("reseal: %s", out)
			}
		}},
		{"Replace the platform key", "After a week, remove the old key", func(t *testing.T, _ rotationStep) {
			for i, key := range f.status(t).Platform {
				if i > 0 && key.Secrets+key.Digests > 0 {
					t.Errorf("the old key is still used: %+v", key)
				}
			}
			// After a week, all quotes that were sealed with the old key have expired.
			tr.forgetQuotes()
			f.everywhere(t, map[string]string{"PINGPOST_PLATFORM_KEYS": newKey})
		}},
		{"Replace the local key", "On every node, add the new key as the second entry of `LEAD_VAULT_KEK`", func(t *testing.T, _ rotationStep) {
			oldLocal = f.status(t).LeadKeys[0].Version
			f.everywhere(t, map[string]string{"LEAD_VAULT_KEK": aKEK + "," + nextKEK})
		}},
		{"Replace the local key", "Run `pingpost keys introduce`", func(t *testing.T, step rotationStep) {
			if key := f.status(t).LeadKeys[1]; key.Registered || key.Leads > 0 || key.Version == oldLocal {
				t.Errorf("before the introduction: %+v", key)
			}
			f.run(t, step, "keys introduce", devvault.Serve)
			if key := f.status(t).LeadKeys[1]; !key.Registered {
				t.Errorf("after the introduction: %+v", key)
			}
		}},
		{"Replace the local key", "On every node, make the new key the first entry", func(t *testing.T, _ rotationStep) {
			f.everywhere(t, map[string]string{"LEAD_VAULT_KEK": nextKEK + "," + aKEK})
		}},
		{"Replace the local key", "Run `pingpost keys rewrap`", func(t *testing.T, step rotationStep) {
			old := under("local", oldLocal)
			if out := f.run(t, step, "keys rewrap", devvault.Serve); old == 0 || !strings.HasPrefix(out, counted(old, "lead")+" moved to local ") {
				t.Errorf("rewrap with %d leads under the old key: %s", old, out)
			}
		}},
		{"Replace the local key", "When `keys status` shows no leads under the old key", func(t *testing.T, _ rotationStep) {
			if old := under("local", oldLocal); old > 0 {
				t.Errorf("%d leads use the old key", old)
			}
			f.everywhere(t, map[string]string{"LEAD_VAULT_KEK": nextKEK})
		}},
		{"Move from the local key to Vault", "Configure Vault on every node, but set `keys.write_with: local`", func(t *testing.T, _ rotationStep) {
			f.everywhere(t, toVault)
		}},
		{"Move from the local key to Vault", "Run `pingpost keys introduce`", func(t *testing.T, step rotationStep) {
			if out := f.run(t, step, "keys introduce", devvault.Serve); !strings.Contains(out, "Registered vault "+devvault.Mount+"/"+devvault.Key+"\n") {
				t.Errorf("introduce: %s", out)
			}
		}},
		{"Move from the local key to Vault", "Set `keys.write_with: vault` on every node", func(t *testing.T, _ rotationStep) {
			f.everywhere(t, map[string]string{"PINGPOST_KEYS_WRITE_WITH": "vault"})
		}},
		{"Move from the local key to Vault", "Run `pingpost keys rewrap`", func(t *testing.T, step rotationStep) {
			local := under("local", "")
			if out := f.run(t, step, "keys rewrap", devvault.Rewrap); local == 0 ||
				out != counted(local, "lead")+" moved to vault v1\n" {
				t.Errorf("rewrap with %d local leads: %s", local, out)
			}
		}},
		{"Move from the local key to Vault", "When `keys status` shows no leads under `local`, remove `LEAD_VAULT_KEK`", func(t *testing.T, _ rotationStep) {
			if local := under("local", ""); local > 0 {
				t.Errorf("%d leads use the local key", local)
			}
			f.everywhere(t, map[string]string{"LEAD_VAULT_KEK": ""})
		}},
		{"Rotate the key in Vault", "Run `pingpost keys rotate`", func(t *testing.T, step rotationStep) {
			f.run(t, step, "keys rotate", devvault.Rotate)
			testkit.Eventually(t, patience, "the nodes write with the new version", func() bool {
				before := under("vault", "v1")
				tr.waitForMore(t)
				return under("vault", "v1") == before
			})
		}},
		{"Rotate the key in Vault", "A minute later, run `pingpost keys rewrap`", func(t *testing.T, step rotationStep) {
			f.run(t, step, "keys rewrap", devvault.Rewrap)
		}},
		{"Let old backups expire", "Every month,", func(t *testing.T, step rotationStep) {
			v.AgeKey(t, 40*24*time.Hour)
			f.run(t, step, "keys rotate", devvault.Rotate)
			testkit.Eventually(t, 2*patience, "the nodes write with the new version", func() bool {
				before := under("vault", "v2")
				tr.waitForMore(t)
				return under("vault", "v2") == before
			})
			f.run(t, step, "keys rewrap", devvault.Rewrap)
			v.AgeKey(t, 35*24*time.Hour)
		}},
		{"Let old backups expire", "Every day, run `pingpost keys expire", func(t *testing.T, step rotationStep) {
			if old := under("vault", "v1") + under("vault", "v2"); old > 0 {
				t.Errorf("%d leads use an old version", old)
			}
			if out := f.run(t, step, "keys expire --keep-days 35 --yes", devvault.Expire); !strings.HasPrefix(out, "Deleted all key versions before v3.") {
				t.Errorf("expire: %s", out)
			}
		}},
		{"Let old backups expire", "Delete Vault's own snapshots", func(*testing.T, rotationStep) {}},
	}
	steps := rotationSteps(t)
	if len(steps) != len(carriedOut) {
		t.Fatalf("the page has %d steps, the test has %d", len(steps), len(carriedOut))
	}
	for i, step := range steps {
		does := carriedOut[i]
		if step.procedure != does.procedure || !strings.HasPrefix(step.text, does.begins) {
			t.Fatalf("the page has %q: %s\nthe test has %q: %s", step.procedure, step.text, does.procedure, does.begins)
		}
		does.do(t, step)
		tr.waitForMore(t)
		if t.Failed() {
			t.Fatalf("failed after the step: %s", step.text)
		}
	}
	tr.end()

	// Resealing decrypts each lead, so it fails if any lead cannot be read.
	stored := tr.delivered()
	f.settings["PINGPOST_PLATFORM_KEYS"] = thirdKey + "," + newKey
	for _, command := range []string{"reseal", "rewrap"} {
		call(t, "", f.environment(), "keys", command).fails(t, 1, "pingpost-rewrap")
	}
	f.settings["PINGPOST_VAULT_ROLE_ID"], f.settings["PINGPOST_VAULT_SECRET_ID"] = v.Roles[devvault.Rewrap].RoleID, v.Roles[devvault.Rewrap].SecretID
	if out := call(t, "", f.environment(), "keys", "reseal").ok(t); !strings.Contains(out, fmt.Sprintf(" %d leads ", stored)) {
		t.Errorf("reseal with %d acknowledged leads: %s", stored, out)
	}
	if all := under("vault", "v3"); all != int64(stored) {
		t.Errorf("got %d stored leads, want the %d acknowledged ones", all, stored)
	}
}
