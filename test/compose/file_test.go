//go:build linux

// Package compose tests deploy/compose.yaml. It runs the services with the programs of this machine, in namespaces that
// have the networks, files and users of the containers. It needs no container runtime.
package compose

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	root   = "../.."
	deploy = root + "/deploy"
)

// project is a Compose file, as compose-go normalizes it. It has the fields that the tests use.
type project struct {
	Services map[string]*service
	Networks map[string]struct {
		IPAM struct{ Config []struct{ Subnet string } }
	}
	Volumes map[string]any
}

type service struct {
	Image, User         string
	Build               struct{ Context, Dockerfile string }
	Entrypoint, Command []string
	Environment         map[string]string
	ReadOnly            bool     `json:"read_only"`
	CapDrop             []string `json:"cap_drop"`
	SecurityOpt         []string `json:"security_opt"`
	NetworkMode         string   `json:"network_mode"`
	Networks            map[string]struct {
		Address string `json:"ipv4_address"`
	}
	DependsOn map[string]struct {
		Condition string
		Required  bool
	} `json:"depends_on"`
	Healthcheck struct{ Test []string }
	Ports       []struct {
		HostIP    string `json:"host_ip"`
		Target    int
		Published string
	}
	Volumes []mount
	Restart string
}

type mount struct {
	Type, Source, Target string
	ReadOnly             bool `json:"read_only"`
}

// load validates the Compose file with compose-go and reads it.
func load(t *testing.T) project {
	t.Helper()
	tool := exec.CommandContext(t.Context(), "go", "tool", "-modfile=../tools/compose/go.mod", "cmd", "--format=json",
		"compose.yaml")
	tool.Dir = deploy
	var stderr strings.Builder
	tool.Stderr = &stderr
	out, err := tool.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("compose-go: %v\n%s", err, stderr.String())
	}
	var p project
	if err := json.Unmarshal(out, &p); err != nil {
		t.Fatal(err)
	}
	return p
}

const ownImage = "pingpost:local"

var (
	pinned     = regexp.MustCompile(`^[a-z/]+:v?\d+(\.\d+)*$`)
	secretName = regexp.MustCompile(`PASSWORD|SECRET|TOKEN|KEY|DATABASE_URL|PGPASS`)
)

// TestFile checks that the file is safe to start: versions are fixed, secrets are in volumes, only this machine can
// reach the ports, and services of pingpost have no more rights than they need.
func TestFile(t *testing.T) {
	t.Parallel()
	p := load(t)
	for name, s := range p.Services {
		if s.Image == ownImage {
			if s.Build.Context != absolute(t, root) || s.Build.Dockerfile != "deploy/Dockerfile" {
				t.Errorf("%s is built from %+v", name, s.Build)
			}
			if !s.ReadOnly || s.User != "65532:65532" || strings.Join(s.CapDrop, " ") != "ALL" ||
				strings.Join(s.SecurityOpt, " ") != "no-new-privileges:true" {
				t.Errorf("%s has the user %q, a read-only root: %t, and the rights %v %v", name, s.User, s.ReadOnly, s.CapDrop,
					s.SecurityOpt)
			}
		} else if !pinned.MatchString(s.Image) {
			t.Errorf("%s: the version of the image %s is not fixed", name, s.Image)
		}
		for variable, value := range s.Environment {
			if secretName.MatchString(variable) && !strings.HasPrefix(value, "/secrets/") {
				t.Errorf("%s: %s is not a file in /secrets", name, variable)
			}
		}
		for _, m := range s.Volumes {
			switch m.Type {
			case "bind":
				if _, err := os.Stat(m.Source); err != nil || !m.ReadOnly {
					t.Errorf("%s mounts %s, read-only: %t, %v", name, m.Source, m.ReadOnly, err)
				}
			case "volume":
				if _, found := p.Volumes[m.Source]; !found {
					t.Errorf("%s mounts the volume %s, which does not exist", name, m.Source)
				}
			default:
				t.Errorf("%s mounts a %s", name, m.Type)
			}
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s: the port %s is open on %s", name, port.Published, port.HostIP)
			}
		}
	}
	for name, node := range map[string]string{"doctor-api": "api", "doctor-console": "console"} {
		checked, started := p.Services[name].Environment, p.Services[node].Environment
		if !maps.Equal(checked, started) {
			t.Errorf("%s checks %v, but %s has %v", name, checked, node, started)
		}
		if test := p.Services[node].Healthcheck.Test; strings.Join(test, " ") != "CMD /pingpost health" {
			t.Errorf("the health check of %s is %q", node, test)
		}
	}
	const done, healthy = "service_completed_successfully", "service_healthy"
	for _, order := range [][3]string{
		{"postgres", "secrets", done}, {"vault", "secrets", done}, {"roles", "postgres", healthy},
		{"migrate", "roles", done}, {"vault-setup", "vault-unseal", healthy},
		{"doctor-api", "migrate", done}, {"doctor-api", "vault-setup", done},
		{"doctor-console", "migrate", done}, {"doctor-console", "vault-setup", done},
		{"api", "doctor-api", done}, {"console", "doctor-console", done}, {"haproxy", "api", healthy},
	} {
		if d := p.Services[order[0]].DependsOn[order[1]]; d.Condition != order[2] || !d.Required {
			t.Errorf("%s depends on %s with the condition %q, want %q", order[0], order[1], d.Condition, order[2])
		}
	}
}

// TestSecretsAreSeparate checks that a service cannot read the secrets of others, and in particular that the node for
// partners cannot read what decrypts leads.
func TestSecretsAreSeparate(t *testing.T) {
	t.Parallel()
	readers := map[string]string{}
	for name, s := range load(t).Services {
		for _, m := range s.Volumes {
			if strings.HasSuffix(m.Source, "-secrets") && m.Target == "/secrets" {
				if s.Restart == "unless-stopped" && readers[m.Source] != "" {
					t.Errorf("%s and %s both mount %s", name, readers[m.Source], m.Source)
				}
				if s.Restart == "unless-stopped" {
					readers[m.Source] = name
				}
				if !m.ReadOnly && name != "vault-unseal" {
					t.Errorf("%s can write to %s", name, m.Source)
				}
			}
		}
	}
	want := map[string]string{
		"operator-secrets": "vault-unseal", "postgres-secrets": "postgres", "vault-secrets": "vault",
		"api-secrets": "api", "console-secrets": "console", "haproxy-secrets": "haproxy", "grafana-secrets": "grafana",
	}
	if !maps.Equal(readers, want) {
		t.Errorf("got %v, want %v", readers, want)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
