//go:build linux

package compose

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pingpost/pingpost/internal/dev/testkit"
)

const patience = time.Minute

// machine takes the place of Docker: it runs the services of a Compose file, each in its own file system and network.
// A thread with its own mount namespace makes all changes, so they end with the test.
type machine struct {
	project   project
	images    map[string]image // by name, without the version
	folder    string           // a file system in memory, which only the thread sees
	calls     chan func()
	host      int               // the network namespace with the bridge, which has the addresses of the host
	addresses map[string]string // of the services
	order     []string          // the services, each after those that it depends on
	running   map[string]*container
	created   int
}

// container is a service with its file system and network.
type container struct {
	*service
	image   image
	root    string
	network int
	process *exec.Cmd     // the service's command
	ended   chan struct{} // closed when the process has ended with err
	err     error
	log     *testkit.Log
}

// newMachine returns a machine without running services. It stops them when the test ends.
func newMachine(t *testing.T, p project) *machine {
	t.Helper()
	m := &machine{project: p, images: buildImages(t), folder: t.TempDir(), calls: make(chan func()),
		addresses: map[string]string{}, running: map[string]*container{}}
	m.sort(t)
	ready := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine, and with it its namespaces
		ready <- m.isolate()
		for call := range m.calls {
			call()
		}
	}()
	if err := <-ready; err != nil {
		t.Fatalf("creating namespaces: %v", err)
	}
	t.Cleanup(func() {
		for name, c := range m.running {
			if t.Failed() {
				t.Logf("%s: %s", name, c.log)
			}
			_ = c.process.Process.Kill()
			<-c.ended
		}
		close(m.calls)
	})
	return m
}

// sort puts the services in an order in which they can start, and gives each an address.
func (m *machine) sort(t *testing.T) {
	t.Helper()
	for len(m.order) < len(m.project.Services)-1 {
		before := len(m.order)
		for name, s := range m.project.Services {
			if name == "grafana" || slices.Contains(m.order, name) { // Debian has no package of Grafana
				continue
			}
			waits := false
			for other := range s.DependsOn {
				waits = waits || !slices.Contains(m.order, other)
			}
			if waits {
				continue
			}
			m.order = append(m.order, name)
			m.addresses[name] = s.Networks["default"].Address
			if m.addresses[name] == "" {
				m.addresses[name] = fmt.Sprintf("172.31.250.%d", 128+len(m.order))
			}
		}
		if len(m.order) == before {
			t.Fatalf("services depend on each other; only %v can start", m.order)
		}
	}
}

// isolate gives the thread its own mount namespace, and creates the host's network.
func (m *machine) isolate() error {
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		return err
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	if err := unix.Mount("tmpfs", m.folder, "tmpfs", 0, ""); err != nil {
		return err
	}
	hosts := "127.0.0.1 localhost\n"
	for name, address := range m.addresses {
		hosts += address + " " + name + "\n"
	}
	if err := os.WriteFile(filepath.Join(m.folder, "hosts"), []byte(hosts), 0o644); err != nil {
		return err
	}
	var err error
	if m.host, err = newNetwork(); err != nil {
		return err
	}
	return steps("ip link set lo up", "ip link add bridge type bridge", "ip address add 172.31.250.1/24 dev bridge",
		"ip link set bridge up")
}

// newNetwork moves the thread to a new network namespace and returns its file descriptor.
func newNetwork() (int, error) {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return 0, err
	}
	return unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
}

// steps runs commands.
func steps(commands ...string) error {
	for _, command := range commands {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w: %s", command, err, out)
		}
	}
	return nil
}

// in calls a function on the machine's thread, in a network.
func (m *machine) in(network int, f func() error) error {
	result := make(chan error, 1)
	m.calls <- func() {
		err := unix.Setns(network, unix.CLONE_NEWNET)
		if err == nil {
			err = f()
		}
		result <- err
	}
	return <-result
}

// create creates the container of a service.
func (m *machine) create(name string) (*container, error) {
	m.created++
	s := m.project.Services[name]
	imageName, _, _ := strings.Cut(s.Image, ":")
	c := &container{service: s, image: m.images[imageName], log: &testkit.Log{}, ended: make(chan struct{}),
		root: filepath.Join(m.folder, "containers", strconv.Itoa(m.created))}
	return c, m.in(m.host, func() error {
		if err := m.mount(c); err != nil {
			return fmt.Errorf("mounting the files of %s: %w", name, err)
		}
		var err error
		if c.network, err = newNetwork(); err != nil {
			return err
		}
		if err := steps("ip link set lo up"); err != nil || s.NetworkMode == "none" {
			return err
		}
		if err := unix.Setns(m.host, unix.CLONE_NEWNET); err != nil {
			return err
		}
		link := fmt.Sprintf("veth%d", m.created)
		err = steps(
			fmt.Sprintf("ip link add %s type veth peer name eth0 netns /proc/%d/fd/%d", link, os.Getpid(), c.network),
			"ip link set "+link+" master bridge up")
		if err == nil {
			err = unix.Setns(c.network, unix.CLONE_NEWNET)
		}
		if err != nil {
			return err
		}
		// A service that is started again has the same MAC address, because the other services remember it.
		ip := net.ParseIP(m.addresses[name]).To4()
		return steps(fmt.Sprintf("ip link set eth0 address 02:42:%02x:%02x:%02x:%02x", ip[0], ip[1], ip[2], ip[3]),
			"ip address add "+ip.String()+"/24 dev eth0", "ip link set eth0 up")
	})
}

// mount mounts the image, the volumes and the files of a container.
func (m *machine) mount(c *container) error {
	layers := map[string]string{}
	for _, layer := range []string{"upper", "work", "root"} {
		layers[layer] = filepath.Join(c.root, layer)
		if err := os.MkdirAll(layers[layer], 0o755); err != nil {
			return err
		}
	}
	c.root = layers["root"]
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", c.image.files, layers["upper"], layers["work"])
	if err := unix.Mount("overlay", c.root, "overlay", 0, options); err != nil {
		return err
	}
	if c.image.passwd != "" {
		if err := os.WriteFile(filepath.Join(c.root, "etc/passwd"), []byte(c.image.passwd), 0o644); err != nil {
			return err
		}
	}
	mounts := append([]mount{
		{Source: "/proc", Target: "/proc"}, {Source: "/dev", Target: "/dev"},
		{Source: filepath.Join(m.folder, "hosts"), Target: "/etc/hosts", ReadOnly: true},
	}, c.image.mounts...)
	for _, v := range c.Volumes {
		if v.Type == "volume" {
			var err error
			if v.Source, err = m.volume(v.Source, v.Target, c.image); err != nil {
				return err
			}
		}
		mounts = append(mounts, v)
	}
	for _, v := range mounts {
		if err := makeTarget(v.Source, filepath.Join(c.root, v.Target)); err != nil {
			return err
		}
	}
	if c.ReadOnly {
		if err := unix.Mount("", c.root, "", unix.MS_REMOUNT|unix.MS_RDONLY, options); err != nil {
			return err
		}
	}
	for _, v := range mounts {
		target := filepath.Join(c.root, v.Target)
		if err := unix.Mount(v.Source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("%s: %w", v.Target, err)
		}
		if v.ReadOnly {
			if err := unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
				return fmt.Errorf("%s: %w", v.Target, err)
			}
		}
	}
	return nil
}

// makeTarget creates the file or folder on which source is mounted.
func makeTarget(source, target string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(target, os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	return file.Close()
}

// volume returns the folder of a volume. If the volume is new, it has the owner and the mode of the image's folder.
func (m *machine) volume(name, target string, i image) (string, error) {
	folder := filepath.Join(m.folder, "volumes", name)
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return "", err
	}
	if owner, inImage := i.owners[target]; inImage {
		return folder, errors.Join(os.Chown(folder, int(owner), int(owner)), os.Chmod(folder, 0o700))
	}
	return folder, nil
}

// begin starts a program in a container, as a user.
func (m *machine) begin(c *container, user uint32, log *testkit.Log, args ...string) (*exec.Cmd, error) {
	if user == 0 && len(c.CapDrop) > 0 {
		args = append([]string{"setpriv", "--bounding-set=-all", "--inh-caps=-all"}, args...)
	}
	cmd := &exec.Cmd{Args: args, Dir: "/", Stdout: log, Stderr: log, Env: []string{"PATH=" + searched, "HOME=/tmp"},
		SysProcAttr: &syscall.SysProcAttr{
			Chroot: c.root, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL, Setpgid: true,
		}}
	for name, value := range c.Environment {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd, m.in(c.network, func() error {
		cmd.Path = args[0]
		for _, folder := range filepath.SplitList(searched) {
			if _, err := os.Stat(filepath.Join(c.root, folder, args[0])); err == nil && !filepath.IsAbs(args[0]) {
				cmd.Path = filepath.Join(folder, args[0])
				break
			}
		}
		return cmd.Start()
	})
}

// exec runs a program in the container of a running service, as `docker compose exec` does, and returns its output.
func (m *machine) exec(service string, args ...string) (string, error) {
	c := m.running[service]
	log := &testkit.Log{}
	cmd, err := m.begin(c, c.user(), log, args...)
	if err == nil {
		err = cmd.Wait()
	}
	return strings.TrimSpace(log.String()), err
}

func (c *container) user() uint32 {
	if c.User == "" {
		return c.image.user
	}
	uid, _, _ := strings.Cut(c.User, ":")
	number, err := strconv.ParseUint(uid, 10, 32)
	if err != nil {
		panic(err)
	}
	return uint32(number)
}

// start starts the container of a service.
func (m *machine) start(t *testing.T, name string) *container {
	t.Helper()
	c, err := m.create(name)
	args := slices.Concat(c.image.command, c.Command)
	if c.Entrypoint != nil {
		args = slices.Concat(c.Entrypoint, c.Command)
	}
	if err == nil {
		c.process, err = m.begin(c, c.user(), c.log, args...)
	}
	if err != nil {
		t.Fatalf("%s does not start: %v\n%s", name, err, c.log)
	}
	go func() {
		c.err = c.process.Wait()
		close(c.ended)
	}()
	return c
}

// run runs a service until it has ended without an error, and returns its output.
func (m *machine) run(t *testing.T, name string) string {
	t.Helper()
	c := m.start(t, name)
	if <-c.ended; c.err != nil {
		t.Fatalf("%s: %v\n%s", name, c.err, c.log)
	}
	m.remove(t, c)
	return c.log.String()
}

// up starts all services, each when the conditions of its dependencies are met. It returns the output of those that
// have ended.
func (m *machine) up(t *testing.T) map[string]string {
	t.Helper()
	output := map[string]string{}
	for _, name := range m.order {
		for other, d := range m.project.Services[name].DependsOn {
			if d.Condition == "service_healthy" {
				m.awaitHealthy(t, other)
			}
		}
		if m.project.Services[name].Restart == "" {
			output[name] = m.run(t, name)
		} else {
			m.running[name] = m.start(t, name)
		}
	}
	return output
}

// awaitHealthy waits until the health check of a service passes.
func (m *machine) awaitHealthy(t *testing.T, name string) {
	t.Helper()
	c := m.running[name]
	testkit.Eventually(t, patience, name+" is healthy", func() bool {
		select {
		case <-c.ended:
			t.Fatalf("%s has ended: %v\n%s", name, c.err, c.log)
		default:
		}
		_, err := m.exec(name, c.Healthcheck.Test[1:]...)
		return err == nil
	})
}

// down stops all services, those first that depend on others, and removes their containers, but not the volumes.
func (m *machine) down(t *testing.T) {
	t.Helper()
	for _, name := range slices.Backward(m.order) {
		if m.running[name] != nil {
			m.stop(t, name)
		}
	}
}

// stop stops a service and removes its container.
func (m *machine) stop(t *testing.T, name string) {
	t.Helper()
	c := m.running[name]
	signal := c.image.signal
	if signal == 0 {
		signal = syscall.SIGTERM
	}
	if err := c.process.Process.Signal(signal); err != nil {
		t.Error(err)
	}
	select {
	case <-c.ended:
		if c.err != nil && c.Image == ownImage {
			t.Errorf("%s stops with %v\n%s", name, c.err, c.log)
		}
	case <-time.After(patience):
		t.Fatalf("%s does not stop\n%s", name, c.log)
	}
	delete(m.running, name)
	m.remove(t, c)
}

// remove removes the file system and the network of a container.
func (m *machine) remove(t *testing.T, c *container) {
	t.Helper()
	err := m.in(m.host, func() error { return unix.Unmount(c.root, unix.MNT_DETACH) })
	if err := errors.Join(err, unix.Close(c.network)); err != nil {
		t.Error(err)
	}
}

// client returns a client on the host. It can connect to the ports that the Compose file publishes on localhost.
func (m *machine) client() *http.Client {
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, address string) (conn net.Conn, err error) {
			_, port, err := net.SplitHostPort(address)
			if err != nil {
				return nil, err
			}
			for name, s := range m.project.Services {
				for _, published := range s.Ports {
					if published.Published == port {
						address = net.JoinHostPort(m.addresses[name], strconv.Itoa(published.Target))
					}
				}
			}
			dialErr := m.in(m.host, func() error {
				conn, err = (&net.Dialer{}).DialContext(ctx, "tcp", address)
				return err
			})
			return conn, dialErr
		},
	}}
}
