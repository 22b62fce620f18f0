package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/protocol/signing"
)

// process is a running pingpost.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr testkit.Log
	ended          chan struct{}
	code           int
}

// start starts a command that runs until it is stopped.
func start(t *testing.T, settings []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(binary, args...), ended: make(chan struct{})}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = environ(settings...), &p.stdout, &p.stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait()
		p.code = p.cmd.ProcessState.ExitCode()
		close(p.ended)
	}()
	t.Cleanup(func() { p.stop(t, syscall.SIGTERM) })
	return p
}

// until waits until yes returns true. It fails the test if the process ends first.
func (p *process) until(t *testing.T, what string, yes func() bool) {
	t.Helper()
	testkit.Eventually(t, patience, what, func() bool {
		select {
		case <-p.ended:
			t.Fatalf("waiting until %s: the process ended with %d: %s", what, p.code, p.stderr.String())
		default:
		}
		return yes()
	})
}

// stop sends a signal to the process, waits for it to end, and returns the exit code.
func (p *process) stop(t *testing.T, signal syscall.Signal) int {
	t.Helper()
	return p.wait(t, p.cmd.Process.Pid, signal)
}

// interrupt sends SIGINT to the process group, like Ctrl-C in a terminal.
func (p *process) interrupt(t *testing.T) int {
	t.Helper()
	return p.wait(t, -p.cmd.Process.Pid, syscall.SIGINT)
}

func (p *process) wait(t *testing.T, pid int, signal syscall.Signal) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.code
	default:
	}
	if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
		t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(patience):
		_ = p.cmd.Process.Kill()
		t.Fatalf("the process does not stop: %s", p.stderr.String())
	}
	return p.code
}

// development is a running `pingpost dev`.
type development struct {
	*process
	ready
	readyFile string
}

// startDev starts `pingpost dev` on free ports and waits for its ready file.
func startDev(t *testing.T, settings []string, args ...string) *development {
	t.Helper()
	d := &development{readyFile: filepath.Join(folder(t), "ready.json")}
	d.process = start(t, settings, append([]string{
		"dev", "--api-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0", "--ops-addr", "127.0.0.1:0", "--ready-file", d.readyFile,
	}, args...)...)
	d.until(t, "the ready file is written", func() bool {
		_, err := os.Stat(d.readyFile)
		return err == nil
	})
	text, err := os.ReadFile(d.readyFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &d.ready); err != nil {
		t.Fatal(err)
	}
	return d
}

// gone fails the test if a data folder, or a process that uses it, still exists.
func gone(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s still exists: %v", dir, err)
	}
	nothingRunsOn(t, dir)
}

func nothingRunsOn(t *testing.T, dir string) {
	t.Helper()
	for _, command := range processes(t) {
		if strings.Contains(command, dir) {
			t.Errorf("still running: %s", command)
		}
	}
}

// processes returns the command lines of all processes.
func processes(t *testing.T) (commands []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, _ := os.ReadFile(file) // fails if the process has ended
		commands = append(commands, strings.ReplaceAll(string(text), "\x00", " "))
	}
	if files == nil { // not Linux
		list, err := exec.Command("ps", "-axww", "-o", "args=").Output()
		if err != nil {
			t.Fatal(err)
		}
		commands = strings.Split(string(list), "\n")
	}
	return commands
}

// client is a partner that sends pings and posts.
type client struct {
	origin, slug, secret string
}

func (d *development) partner(i int) client {
	p := d.Partners[i]
	return client{d.APIURL, p.Slug, p.Secret}
}

// send sends a body and returns the status, the headers and the body of the response.
func (c client) send(t *testing.T, endpoint, body string, signed bool) (int, http.Header, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.origin+"/p/"+c.slug+"/api/lead/"+endpoint,
		strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if signed {
		ts := strconv.FormatInt(clock.System{}.Now().Unix(), 10)
		req.Header.Set("X-Timestamp", ts)
		req.Header.Set("X-Signature-SHA256", signing.Sign([]byte(c.secret), ts, []byte(body)))
	}
	resp, err := (&http.Client{Timeout: patience}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// lead is a delivered lead: the body that was posted, and the leadId in the response.
type lead struct{ body, id string }

const personal = "ottilie@quillfeather.example"

// prepare sends a ping and returns the body for the post.
func (c client) prepare(t *testing.T) string {
	t.Helper()
	status, _, answer := c.send(t, "ping", `{"industry":"plumber","postcode":"SW1A 1AA"}`, false)
	tx := member(t, answer, "transactionId")
	if status != http.StatusOK || tx == "" {
		t.Fatalf("ping: got %d %s", status, answer)
	}
	return `{"transactionId":"` + tx + `","email":"` + personal + `","notes":"quillfeather","consent":{"acknowledged":true}}`
}

// deliver sends a ping and a post, which must both succeed.
func (c client) deliver(t *testing.T) lead {
	t.Helper()
	body := c.prepare(t)
	status, _, answer := c.send(t, "post", body, true)
	l := lead{body, member(t, answer, "leadId")}
	if status != http.StatusOK || !strings.HasPrefix(l.id, "ld_") {
		t.Fatalf("post: got %d %s", status, answer)
	}
	return l
}

// member returns a string in a JSON object, or "" if it is missing.
func member(t *testing.T, object, name string) string {
	t.Helper()
	var members map[string]any
	if err := json.Unmarshal([]byte(object), &members); err != nil {
		t.Fatalf("not a JSON object: %s", object)
	}
	text, _ := members[name].(string)
	return text
}
