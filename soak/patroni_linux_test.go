package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pingpost/pingpost/internal/dev/devpg"
	"github.com/pingpost/pingpost/internal/dev/testkit"
)

// member is a machine with a database server and Patroni: a network namespace.
type member struct {
	name, address, folder string
	cluster               *cluster
	log                   testkit.Log
}

// cluster has three database servers with the files in deploy/patroni.
type cluster struct {
	bridge, network string // the network's address is network + ".1"
	bin             string // Postgres's programs
	members         [3]*member
}

// TestPatroni loses the primary in several ways. No acknowledged lead may be lost, and posts must be acknowledged again
// soon. One node finds the primary itself, and the other one reaches it through HAProxy.
func TestPatroni(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("-seed %d", *seed)
	random := rand.New(rand.NewPCG(*seed, 1))
	p, k := startCluster(t)
	c := p.clients(t, random)
	losses := []struct {
		name  string
		cause func(primary *member) (repair func())
	}{
		{"is killed", func(m *member) func() {
			m.signal(t, syscall.SIGKILL)
			return func() { m.start(t) }
		}},
		{"is frozen", func(m *member) func() {
			m.signal(t, syscall.SIGSTOP)
			return func() { m.signal(t, syscall.SIGCONT) }
		}},
		{"is cut off", func(m *member) func() {
			m.link(t, "down")
			return func() { m.link(t, "up") }
		}},
		{"crashes", func(m *member) func() {
			m.killPostgres(t)
			return func() {}
		}},
		{"is restarted without Patroni", func(m *member) func() {
			m.signal(t, syscall.SIGKILL)
			k.awaitPrimary(t, m)
			stop := m.startUnfenced(t)
			c.awaitAcknowledged(t, 200)
			return func() {
				stop()
				m.start(t)
			}
		}},
	}
	for i := range *primaryLosses {
		f := losses[i%len(losses)]
		primary := k.awaitPrimary(t, nil)
		k.awaitStandbys(t)
		c.awaitAcknowledged(t, 200)
		outage := c.watchOutage()
		repair := f.cause(primary)
		next := k.awaitPrimary(t, primary)
		c.awaitAcknowledged(t, 200)
		longest := outage()
		t.Logf("the primary %s: %s takes over from %s, posts failed for %s", f.name, next.name, primary.name,
			longest.Round(10*time.Millisecond))
		if longest > *maxOutage {
			t.Errorf("the primary %s: posts failed for %s, want at most %s", f.name, longest, *maxOutage)
		}
		repair()
		k.awaitStandbys(t)
		if t.Failed() {
			t.FailNow()
		}
	}
	c.awaitAcknowledged(t, 200)
	c.end()
	c.check(t)
	t.Logf("%d posts acknowledged, %d replayed, %d unanswered or answered with 503; %d pings",
		c.acknowledged.Load(), c.replays.Load(), c.unanswered.Load(), c.pings.Load())
}

// watchOutage measures the longest time without an acknowledged post. The function that it returns ends the
// measurement.
func (c *clients) watchOutage() (longest func() time.Duration) {
	stop, ended := make(chan struct{}), make(chan time.Duration)
	go func() {
		var most time.Duration
		last, seen := time.Now(), c.acknowledged.Load()
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				ended <- most
				return
			case <-tick.C:
			}
			most = max(most, time.Since(last))
			if now := c.acknowledged.Load(); now != seen {
				last, seen = time.Now(), now
			}
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-ended
	}
}

// startCluster starts etcd, three database servers, HAProxy and two nodes.
func startCluster(t *testing.T) (*platform, *cluster) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("this test needs root: it creates networks")
	}
	number := os.Getpid()%200 + 20
	k := &cluster{bridge: fmt.Sprintf("pp%d", number), network: fmt.Sprintf("10.203.%d", number)}
	bin, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil || len(bin) == 0 {
		t.Fatalf("no Postgres: %v", err)
	}
	k.bin = bin[len(bin)-1]
	ip(t, "link", "add", k.bridge, "type", "bridge")
	t.Cleanup(func() { ip(t, "link", "del", k.bridge) })
	ip(t, "addr", "add", k.network+".1/24", "dev", k.bridge)
	ip(t, "link", "set", k.bridge, "up")

	folder := temporaryFolder(t)
	k.startEtcd(t, folder)
	authority := testkit.NewAuthority(t)
	for i := range k.members {
		k.members[i] = k.newMember(t, folder, i, authority)
	}
	for _, m := range k.members {
		m.start(t)
	}
	k.awaitPrimary(t, nil)
	k.awaitStandbys(t)
	k.startHAProxy(t, folder)

	hosts := make([]string, len(k.members))
	for i, m := range k.members {
		hosts[i] = m.address
	}
	url := func(hosts string) func(user, password, database string) string {
		return func(user, password, database string) string {
			return fmt.Sprintf("postgres://%s:%s@%s/%s?target_session_attrs=read-write&sslmode=verify-ca&"+
				"sslrootcert=%s", user, password, hosts, database, authority.File)
		}
	}
	direct := url(strings.Join(hosts, ","))
	p := &platform{
		url: direct, databaseURL: direct(devpg.AppRole, passwords.App, database),
		superuserURL: func(database string) string { return direct("postgres", superuserPassword, database) },
	}
	if err := devpg.Provision(t.Context(), p.superuserURL("postgres"), database, passwords); err != nil {
		t.Fatal(err)
	}
	for _, m := range k.members { // a connection fails if the first server does not know the database yet
		testkit.Eventually(t, recovery, m.name+" knows the database", func() bool {
			standby := strings.Replace(url(m.address)("postgres", superuserPassword, database), "read-write", "any", 1)
			conn, err := pgx.Connect(t.Context(), standby)
			return err == nil && conn.Close(t.Context()) == nil
		})
	}
	p.createDatabase(t)
	p.createPartner(t)
	through := url(k.network+".1:5000")(devpg.AppRole, passwords.App, database)
	p.nodes[0], p.nodes[1] = p.newNode(t, "direct"), p.newNode(t, "through HAProxy", "PINGPOST_DATABASE_URL="+through)
	for _, n := range p.nodes {
		n.start(t)
	}
	return p, k
}

const superuserPassword = "superuser-of-soak"

// temporaryFolder returns a folder that the user of Postgres can enter.
func temporaryFolder(t *testing.T) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "pingpost-soak-patroni-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}

func ip(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("ip %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// configuration writes a file of deploy/patroni to the folder, with replacements.
func configuration(t *testing.T, folder, name string, replacements ...string) string {
	t.Helper()
	text, err := os.ReadFile("../deploy/patroni/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(replacements); i += 2 {
		if !strings.Contains(string(text), replacements[i]) {
			t.Errorf("%s does not contain %q", name, replacements[i])
		}
	}
	file := filepath.Join(folder, name)
	text = []byte(strings.NewReplacer(replacements...).Replace(string(text)))
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// run starts a program in the background until the test ends.
func run(t *testing.T, log *testkit.Log, cmd *exec.Cmd) {
	t.Helper()
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

// startEtcd starts a single etcd. The members need three only if one may fail.
func (k *cluster) startEtcd(t *testing.T, folder string) {
	t.Helper()
	own := k.network + ".1"
	file := configuration(t, folder, "etcd.yml", "/var/lib/etcd/pingpost", filepath.Join(folder, "etcd"),
		"0.0.0.0", own, "etcd1.example.com", own,
		",etcd2=http://etcd2.example.com:2380,etcd3=http://etcd3.example.com:2380", "")
	log := &testkit.Log{}
	run(t, log, exec.Command("etcd", "--config-file", file))
	testkit.Eventually(t, recovery, "etcd is healthy", func() bool {
		response, err := http.Get("http://" + own + ":2379/health")
		if err != nil {
			return false
		}
		defer response.Body.Close()
		return response.StatusCode == http.StatusOK
	})
}

func (k *cluster) startHAProxy(t *testing.T, folder string) {
	t.Helper()
	replacements := []string{
		"bind :5000", "bind " + k.network + ".1:5000", "bind :5001", "bind " + k.network + ".1:5001",
	}
	for _, m := range k.members {
		replacements = append(replacements, m.name+".example.com", m.address)
	}
	file := configuration(t, folder, "haproxy.cfg", replacements...)
	run(t, &testkit.Log{}, exec.Command("haproxy", "-db", "-f", file))
}

func (k *cluster) newMember(t *testing.T, folder string, i int, authority *testkit.Authority) *member {
	t.Helper()
	m := &member{name: fmt.Sprintf("db%d", i+1), address: fmt.Sprintf("%s.%d", k.network, i+11), cluster: k}
	m.folder = filepath.Join(folder, m.name)
	certificate, key := authority.Issue(t, m.address, time.Now().Add(24*time.Hour))
	ca, err := os.ReadFile(authority.File)
	err = errors.Join(err, os.Mkdir(m.folder, 0o700))
	for name, text := range map[string][]byte{m.name + ".crt": certificate, m.name + ".key": key, "ca.crt": ca} {
		err = errors.Join(err, os.WriteFile(filepath.Join(m.folder, name), text, 0o600))
	}
	if err != nil {
		t.Fatal(err)
	}
	configuration(t, m.folder, "patroni.yml",
		"etcd1.example.com:2379,etcd2.example.com:2379,etcd3.example.com:2379", k.network+".1:2379",
		"name: db1\n", "name: "+m.name+"\n", "db1.example.com", m.address,
		"/etc/patroni/db1", filepath.Join(m.folder, m.name),
		"/etc/patroni/ca.crt", filepath.Join(m.folder, "ca.crt"),
		"/var/lib/postgresql/15/pingpost", filepath.Join(m.folder, "data"), "/usr/lib/postgresql/15/bin", k.bin,
		`    ssl: "on"`, "    ssl: \"on\"\n    unix_socket_directories: "+m.folder,
		"mode: automatic", "mode: off") // the machine must not restart
	user, err := devpg.Credential()
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(m.folder, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chown(path, int(user.Uid), int(user.Gid)))
	})
	if err != nil {
		t.Fatal(err)
	}
	ip(t, "netns", "add", m.namespace())
	t.Cleanup(func() {
		m.signal(t, syscall.SIGKILL)
		ip(t, "netns", "del", m.namespace())
		if t.Failed() {
			t.Logf("%s:\n%s", m.name, lastLines(m.log.String(), 50))
		}
	})
	ip(t, "link", "add", m.namespace(), "type", "veth", "peer", "name", "eth0", "netns", m.namespace())
	ip(t, "link", "set", m.namespace(), "master", k.bridge, "up")
	for _, args := range [][]string{
		{"addr", "add", m.address + "/24", "dev", "eth0"}, {"link", "set", "eth0", "up"}, {"link", "set", "lo", "up"},
		{"route", "add", "default", "via", k.network + ".1"},
	} {
		ip(t, append([]string{"-n", m.namespace()}, args...)...)
	}
	return m
}

func lastLines(text string, n int) string {
	lines := strings.Split(text, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (m *member) namespace() string { return m.cluster.bridge + m.name }

// command returns a command that runs on the machine as the user of Postgres.
func (m *member) command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	user, err := devpg.Credential()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("ip", append([]string{
		"netns", "exec", m.namespace(), "setpriv", "--reuid", strconv.Itoa(int(user.Uid)), "--regid",
		strconv.Itoa(int(user.Gid)), "--clear-groups", name,
	}, args...)...)
	cmd.Dir = m.folder
	cmd.Env = append(os.Environ(), "HOME="+m.folder, "PATRONI_SUPERUSER_PASSWORD="+superuserPassword,
		"PATRONI_REPLICATION_PASSWORD=replicator-of-soak")
	return cmd
}

// start starts Patroni, which starts Postgres.
func (m *member) start(t *testing.T) {
	t.Helper()
	cmd := m.command(t, "patroni", filepath.Join(m.folder, "patroni.yml"))
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go cmd.Wait()
}

// processes returns the IDs of the processes on the machine.
func (m *member) processes(t *testing.T) (all []int) {
	t.Helper()
	for _, field := range strings.Fields(ip(t, "netns", "pids", m.namespace())) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// signal sends a signal to all processes on the machine. After SIGKILL, it waits until they have ended.
func (m *member) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	send := func() bool {
		all := m.processes(t)
		for _, pid := range all {
			if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
				t.Fatal(err)
			}
		}
		return len(all) == 0
	}
	send()
	if s == syscall.SIGKILL {
		testkit.Eventually(t, recovery, m.name+" is off", send)
	}
}

func (m *member) link(t *testing.T, state string) {
	t.Helper()
	ip(t, "link", "set", m.namespace(), state)
}

// killPostgres kills the first process of Postgres, but not Patroni.
func (m *member) killPostgres(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.folder, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(first)
	if err == nil {
		err = syscall.Kill(pid, syscall.SIGKILL)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startUnfenced starts Postgres without Patroni, as an operator's mistake. It accepts writes without a standby.
func (m *member) startUnfenced(t *testing.T) (stop func()) {
	t.Helper()
	cmd := m.command(t, filepath.Join(m.cluster.bin, "postgres"), "-D", filepath.Join(m.folder, "data"),
		"-c", "synchronous_standby_names=", "-c", "listen_addresses=0.0.0.0")
	cmd.Stdout, cmd.Stderr = &m.log, &m.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, recovery, m.name+" accepts writes", func() bool {
		out, err := m.command(t, filepath.Join(m.cluster.bin, "psql"), "--host", m.folder, "--username", "postgres",
			"--dbname", "postgres", "--no-align", "--tuples-only", "--command", "SELECT pg_is_in_recovery()").Output()
		return err == nil && strings.TrimSpace(string(out)) == "f"
	})
	return func() {
		m.signal(t, syscall.SIGKILL)
		_ = cmd.Wait()
	}
}

// view is a member as Patroni describes it.
type view struct{ Name, Role, State string }

// view asks all members, and returns the answer of the first one.
func (k *cluster) view() (members []view) {
	client := http.Client{Timeout: time.Second}
	for _, m := range k.members {
		response, err := client.Get("http://" + m.address + ":8008/cluster")
		if err != nil {
			continue
		}
		var answer struct{ Members []view }
		err = json.NewDecoder(response.Body).Decode(&answer)
		response.Body.Close()
		if err == nil {
			return answer.Members
		}
	}
	return nil
}

// awaitPrimary waits until there is a primary other than the given member.
func (k *cluster) awaitPrimary(t *testing.T, other *member) (primary *member) {
	t.Helper()
	testkit.Eventually(t, 2*recovery, "there is a primary", func() bool {
		for _, v := range k.view() {
			for _, m := range k.members {
				if v.Role == "leader" && v.State == "running" && v.Name == m.name && m != other {
					primary = m
				}
			}
		}
		return primary != nil
	})
	return primary
}

// awaitStandbys waits until both standbys are synchronous.
func (k *cluster) awaitStandbys(t *testing.T) {
	t.Helper()
	testkit.Eventually(t, 2*recovery, "both standbys are synchronous", func() bool {
		synchronous := 0
		for _, v := range k.view() {
			if v.Role == "sync_standby" && v.State != "stopped" {
				synchronous++
			}
		}
		return synchronous == len(k.members)-1
	})
}
