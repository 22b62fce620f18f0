// Package helm tests the chart for Kubernetes. It renders the chart and needs no cluster.
package helm

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/config"
)

const (
	root     = "../.."
	chart    = "../../deploy/helm/pingpost"
	examples = chart + "/examples/"
	secrets  = "/run/secrets/pingpost"
)

// tools builds helm and kubeconform, and returns the paths of their programs.
var tools = sync.OnceValues(func() (map[string]string, error) {
	paths := map[string]string{}
	for _, tool := range []string{"helm", "kubeconform"} {
		build := exec.Command("go", "tool", "-modfile=tools/helm/go.mod", "-n", tool)
		build.Dir = root
		out, err := build.Output()
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", tool, err)
		}
		paths[tool] = strings.TrimSpace(string(out))
	}
	return paths, nil
})

// run runs a tool, and returns what it prints to standard output and to standard error.
func run(t *testing.T, tool string, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	paths, err := tools()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), paths[tool], arguments...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	err = command.Run()
	return out.String(), errs.String(), err
}

// template renders the chart in a folder or an archive. The release has the name r.
func template(t *testing.T, from string, arguments ...string) (stdout, stderr string, err error) {
	t.Helper()
	return run(t, "helm", append([]string{"template", "r", from, "--kube-version=1.37.0"}, arguments...)...)
}

// object is a Kubernetes object with the fields that the tests use.
type object struct {
	Kind      string
	Metadata  metadata
	Data      map[string]string
	Immutable bool
	Spec      struct {
		pod      `yaml:",inline"`
		Template struct {
			Metadata metadata
			Spec     pod
		}
		Ports       []port
		Selector    any
		PodSelector struct {
			MatchLabels      map[string]string           `yaml:"matchLabels"`
			MatchExpressions []struct{ Values []string } `yaml:"matchExpressions"`
		} `yaml:"podSelector"`
		Ingress, Egress []struct {
			Ports    []port
			From, To []any
		}
		Metrics []struct {
			Pods struct {
				Metric struct{ Name string }
				Target struct {
					AverageValue string `yaml:"averageValue"`
				}
			}
		}
		Groups []any
	}
}

type metadata struct {
	Name                string
	Labels, Annotations map[string]string
}

type port struct {
	Name          string
	Port          any
	TargetPort    string `yaml:"targetPort"`
	ContainerPort int    `yaml:"containerPort"`
}

type pod struct {
	ServiceAccountName            string         `yaml:"serviceAccountName"`
	AutomountServiceAccountToken  *bool          `yaml:"automountServiceAccountToken"`
	TerminationGracePeriodSeconds int            `yaml:"terminationGracePeriodSeconds"`
	SecurityContext               map[string]any `yaml:"securityContext"`
	Containers                    []struct {
		Args            []string
		Ports           []port
		SecurityContext map[string]any `yaml:"securityContext"`
		Resources       struct{ Limits map[string]string }
		Env             []struct{ Name, Value string }
		StartupProbe    probe `yaml:"startupProbe"`
		ReadinessProbe  probe `yaml:"readinessProbe"`
		LivenessProbe   probe `yaml:"livenessProbe"`
	}
	Volumes []struct {
		ConfigMap struct{ Name string } `yaml:"configMap"`
		Projected struct {
			Sources []struct {
				Secret struct {
					Name  string
					Items []struct{ Path string }
				}
				ServiceAccountToken struct{ Path string } `yaml:"serviceAccountToken"`
			}
		}
	}
}

type probe struct {
	HTTPGet struct{ Path, Port, Scheme string } `yaml:"httpGet"`
}

// objects decodes the objects in a rendered chart.
func objects(t *testing.T, rendered string) (all []object) {
	t.Helper()
	for d := yaml.NewDecoder(strings.NewReader(rendered)); ; {
		var o object
		if err := d.Decode(&o); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
}

// component returns the name of the part of the platform that an object belongs to: api, console or migration.
func (o object) component() string {
	name := strings.TrimSuffix(o.Metadata.Name, "-test")
	return name[strings.LastIndex(name, "-")+1:]
}

// pod returns the pod that an object creates, and its labels.
func (o object) pod() (p pod, labels map[string]string) {
	switch o.Kind {
	case "Deployment", "Job":
		return o.Spec.Template.Spec, o.Spec.Template.Metadata.Labels
	case "Pod":
		return o.Spec.pod, o.Metadata.Labels
	}
	return pod{}, nil
}

// files returns the files with secrets of a pod, with the names of their Secrets.
func (p pod) files() map[string]string {
	files := map[string]string{}
	for _, volume := range p.Volumes {
		for _, source := range volume.Projected.Sources {
			for _, item := range source.Secret.Items {
				files[item.Path] = source.Secret.Name
			}
			if token := source.ServiceAccountToken.Path; token != "" {
				files[token] = ""
			}
		}
	}
	return files
}

func TestChart(t *testing.T) {
	if stdout, stderr, err := run(t, "helm", "lint", "--strict", chart); err != nil {
		t.Errorf("lint: %v\n%s%s", err, stdout, stderr)
	}
	packages := t.TempDir()
	if _, stderr, err := run(t, "helm", "package", chart, "--destination", packages); err != nil {
		t.Fatalf("package: %v\n%s", err, stderr)
	}
	packaged, err := filepath.Glob(packages + "/pingpost-*.tgz")
	if err != nil || len(packaged) != 1 {
		t.Fatalf("got the packages %q (%v)", packaged, err)
	}
	_, readme, _ := strings.Cut(readText(t, chart+"/README.md"), "```yaml\n")
	readme, _, _ = strings.Cut(readme, "```\n")
	example := filepath.Join(packages, "example.yaml")
	if err := os.WriteFile(example, []byte(readme), 0o644); err != nil {
		t.Fatal(err)
	}
	kinds := map[string]bool{}
	var files []string
	for name, c := range map[string]struct {
		chart   string
		values  []string
		decrypt bool // whether the console has credentials to decrypt leads
	}{
		"minimal":         {chart, []string{"testdata/minimal.yaml"}, false},
		"everything":      {packaged[0], []string{"testdata/everything.yaml"}, true},
		"kubernetes auth": {chart, []string{"testdata/kubernetes-auth.yaml"}, true},
		"README":          {chart, []string{example}, true},
		"CloudNativePG":   {chart, []string{"testdata/minimal.yaml", examples + "values-cloudnativepg.yaml"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			rendered, stderr, err := template(t, c.chart, "--values", strings.Join(c.values, ","))
			if err != nil {
				t.Fatalf("%v\n%s", err, stderr)
			}
			all := objects(t, rendered)
			file := filepath.Join(packages, strings.ReplaceAll(name, " ", "-")+".yaml")
			if err := os.WriteFile(file, []byte(rendered), 0o644); err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
			for _, o := range all {
				kinds[o.Kind] = true
				checkPod(t, o)
			}
			for _, component := range []string{"api", "console"} {
				checkNode(t, all, component, component == "console" && c.decrypt)
			}
			checkPolicies(t, all)
			checkMonitoring(t, all)
		})
	}
	for _, kind := range []string{
		"ConfigMap", "Deployment", "HorizontalPodAutoscaler", "Ingress", "Job", "NetworkPolicy", "Pod", "PodDisruptionBudget",
		"PrometheusRule", "Service", "ServiceAccount", "ServiceMonitor",
	} {
		if !kinds[kind] {
			t.Errorf("the chart has no %s", kind)
		}
	}
	if kinds["Secret"] {
		t.Error("the chart has a Secret")
	}
	validate := append([]string{"-strict", "-schema-location", writeSchemas(t, kinds) + "/" + schemaTemplate}, files...)
	if stdout, stderr, err := run(t, "kubeconform", validate...); err != nil {
		t.Errorf("kubeconform: %v\n%s%s", err, stdout, stderr)
	}
}

// checkPod checks that a pod meets the Pod Security Standard restricted, runs a command of the program, and has only the
// secrets of its component.
func checkPod(t *testing.T, o object) {
	t.Helper()
	p, _ := o.pod()
	if len(p.Containers) == 0 {
		return
	}
	c := p.Containers[0]
	wantPod := map[string]any{
		"runAsNonRoot": true, "runAsUser": 65532, "runAsGroup": 65532, "fsGroup": 65532,
		"fsGroupChangePolicy": "OnRootMismatch", "seccompProfile": map[string]any{"type": "RuntimeDefault"},
	}
	wantContainer := map[string]any{
		"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": true,
		"capabilities": map[string]any{"drop": []any{"ALL"}},
	}
	if !reflect.DeepEqual(p.SecurityContext, wantPod) || !reflect.DeepEqual(c.SecurityContext, wantContainer) {
		t.Errorf("%s %s has the security contexts %v and %v", o.Kind, o.Metadata.Name, p.SecurityContext, c.SecurityContext)
	}
	if p.AutomountServiceAccountToken == nil || *p.AutomountServiceAccountToken {
		t.Errorf("%s %s gets a token for the API server", o.Kind, o.Metadata.Name)
	}
	commands := readText(t, root+"/docs/reference/cli.md")
	if !strings.Contains(commands, "\n## pingpost "+strings.Join(c.Args, " ")+"\n") {
		t.Errorf("there is no command %q", c.Args)
	}
	for _, variable := range c.Env {
		if variable.Name == "GOMEMLIMIT" {
			limit, most := mebibytes(t, variable.Value), mebibytes(t, c.Resources.Limits["memory"])
			if limit*10 > most*9 || limit*10 < most*8 {
				t.Errorf("%s: the memory limit of Go is %d of %d MiB", o.Metadata.Name, limit, most)
			}
		}
	}
	component := o.component()
	hook := map[string]string{"Job": "pre-install,pre-upgrade", "Pod": "test"}[o.Kind]
	if got := o.Metadata.Annotations["helm.sh/hook"]; got != hook {
		t.Errorf("%s %s is the hook %q, want %q", o.Kind, o.Metadata.Name, got, hook)
	}
	for file, secret := range p.files() {
		allowed := component != "migration"
		switch file {
		case "owner-url":
			allowed = component == "migration"
		case "database-ca.crt":
			allowed = true
		case "vault-read-secret-id":
			allowed = component == "console"
		case "vault-secret-id":
			allowed = strings.Contains(secret, component)
		}
		if !allowed {
			t.Errorf("%s %s has the file %s from the Secret %s", o.Kind, o.Metadata.Name, file, secret)
		}
	}
}

// checkNode checks a component's configuration, and that the ports and probes of its objects agree with it.
func checkNode(t *testing.T, all []object, component string, decrypts bool) {
	t.Helper()
	one := func(kind string) object {
		i := slices.IndexFunc(all, func(o object) bool {
			return o.Kind == kind && strings.HasSuffix(o.Metadata.Name, "-"+component)
		})
		if i < 0 {
			t.Fatalf("there is no %s of %s", kind, component)
		}
		return all[i]
	}
	deployment, _ := one("Deployment").pod()
	settings := settingsOf(t, all, deployment)
	if !settings.Immutable || settings.Metadata.Annotations["helm.sh/resource-policy"] != "keep" {
		t.Errorf("a rollout changes or deletes the settings of %s that still run", component)
	}
	cfg := load(t, settings.Data["pingpost.yaml"], deployment.files())
	if cfg.Vault.Reads() != decrypts {
		t.Errorf("%s has the credentials to decrypt: %v", component, cfg.Vault.Reads())
	}
	if deployment.ServiceAccountName != one("ServiceAccount").Metadata.Name {
		t.Errorf("%s runs as %s", component, deployment.ServiceAccountName)
	}
	grace := time.Duration(deployment.TerminationGracePeriodSeconds) * time.Second
	if want := cfg.HTTP.DrainDelay + cfg.HTTP.ShutdownGrace + 5*time.Second; grace != want {
		t.Errorf("%s is killed after %v, want %v", component, grace, want)
	}

	address := map[string]string{"api": cfg.HTTP.APIAddr, "console": cfg.HTTP.AdminAddr}
	if address["api"] != "" && address["console"] != "" || address[component] == "" {
		t.Errorf("%s has the listeners %v", component, address)
	}
	c := deployment.Containers[0]
	ports := map[string]string{}
	for _, p := range c.Ports {
		ports[p.Name] = fmt.Sprint(":", p.ContainerPort)
	}
	if want := map[string]string{component: address[component], "ops": cfg.HTTP.OpsAddr}; !maps.Equal(ports, want) {
		t.Errorf("%s has the ports %v, want %v", component, ports, want)
	}
	for _, o := range all {
		if o.Kind == "Service" && strings.Contains(o.Metadata.Name+"-", "-"+component+"-") {
			for _, p := range o.Spec.Ports {
				forNodes := strings.HasSuffix(o.Metadata.Name, "-nodes")
				if ports[p.TargetPort] != fmt.Sprint(":", p.Port) || p.TargetPort == "ops" && !forNodes {
					t.Errorf("the Service %s has the port %v", o.Metadata.Name, p)
				}
			}
		}
	}

	scheme := "HTTP"
	if cfg.HTTP.TLSCertFile != "" {
		scheme = "HTTPS"
	}
	paths := readText(t, root+"/internal/app/operations.go")
	for p, path := range map[probe]string{
		c.StartupProbe: "/readyz", c.ReadinessProbe: "/readyz/ping", c.LivenessProbe: "/healthz",
	} {
		want := probe{}
		want.HTTPGet.Path, want.HTTPGet.Port, want.HTTPGet.Scheme = path, "ops", scheme
		if p != want || !strings.Contains(paths, strconv.Quote(path)+",") {
			t.Errorf("%s has the probe %v, want %v", component, p, want)
		}
	}
}

// settingsOf returns the ConfigMap of a pod.
func settingsOf(t *testing.T, all []object, p pod) object {
	t.Helper()
	for _, volume := range p.Volumes {
		for _, o := range all {
			if o.Kind == "ConfigMap" && o.Metadata.Name == volume.ConfigMap.Name {
				return o
			}
		}
	}
	t.Fatal("the pod has no ConfigMap")
	return object{}
}

// TestSettingsAreReplaced checks that other settings are in another ConfigMap, so that pods with the previous settings
// keep theirs, and that equal settings are in the same one.
func TestSettingsAreReplaced(t *testing.T) {
	names := func(arguments ...string) map[string]string {
		arguments = append([]string{"--values", "testdata/minimal.yaml"}, arguments...)
		rendered, stderr, err := template(t, chart, arguments...)
		if err != nil {
			t.Fatalf("%v\n%s", err, stderr)
		}
		found := map[string]string{}
		all := objects(t, rendered)
		for _, o := range all {
			if p, _ := o.pod(); o.Kind == "Deployment" {
				found[o.component()] = settingsOf(t, all, p).Metadata.Name
			}
		}
		return found
	}
	first, same, other := names(), names(), names("--set", "console.config.log.level=debug")
	if !maps.Equal(first, same) || first["api"] != other["api"] || first["console"] == other["console"] {
		t.Errorf("got the ConfigMaps %v, %v and %v", first, same, other)
	}
}

// load reads a configuration and checks it like `pingpost config check`, with example secrets in the files.
func load(t *testing.T, text string, files map[string]string) *config.Config {
	t.Helper()
	folder := t.TempDir()
	certificate, key := testkit.NewAuthority(t).Issue(t, "example.com", clock.System{}.Now().Add(time.Hour))
	crt := string(certificate)
	for file := range files {
		content := map[string]string{
			"database-url":    "postgres://pingpost_app:word@db.example.com/pingpost?sslmode=verify-full",
			"platform-keys":   base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, 32)),
			"lead-vault-kek":  base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{2}, 32)),
			"database-ca.crt": crt, "vault-ca.crt": crt, "tls.crt": crt, "tls.key": string(key),
		}[file]
		if content == "" {
			content = "word"
		}
		if file == "tracing-header" {
			content = "Authorization: Bearer word"
		}
		if err := os.WriteFile(filepath.Join(folder, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(folder, "pingpost.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, secrets, folder)), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Load(config.Source{File: file, Defaults: config.Serve})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if failures, _ := app.CheckSettings(t.Context(), cfg); len(failures) > 0 {
		t.Error(failures)
	}
	return cfg
}

// checkPolicies checks that each pod has exactly one NetworkPolicy, and that the policies allow only the configured
// traffic to and from the right ports.
func checkPolicies(t *testing.T, all []object) {
	t.Helper()
	covered := map[string]int{}
	for _, policy := range all {
		if policy.Kind != "NetworkPolicy" {
			continue
		}
		component := policy.component()
		for _, o := range all {
			p, labels := o.pod()
			values := policy.Spec.PodSelector.MatchExpressions[0].Values
			if len(p.Containers) > 0 && slices.Contains(values, labels["app.kubernetes.io/component"]) {
				covered[o.Kind+" "+o.Metadata.Name]++
			}
		}
		for _, rule := range policy.Spec.Ingress {
			port := rule.Ports[0].Port
			if len(rule.Ports) != 1 || len(rule.From) == 0 || port != component && port != "ops" || component == "migration" {
				t.Errorf("the policy of %s allows connections from %v to %v", component, rule.From, rule.Ports)
			}
		}
		var ports []any
		for _, rule := range policy.Spec.Egress {
			ports = append(ports, rule.Ports[len(rule.Ports)-1].Port)
		}
		config := ""
		for _, o := range all {
			if o.Kind == "ConfigMap" && strings.Contains(o.Metadata.Name, "-"+component+"-") {
				config = o.Data["pingpost.yaml"]
			}
		}
		want := []any{53, 5432}
		if strings.Contains(config, "\nvault:\n") {
			want = append(want, 8200)
		}
		if strings.Contains(config, "s3://") {
			want = append(want, 443)
		}
		if strings.Contains(config, "\ntracing:\n") {
			want = append(want, 4318)
		}
		if !slices.Equal(ports, want) {
			t.Errorf("the policy of %s allows connections to the ports %v, want %v", component, ports, want)
		}
	}
	for _, o := range all {
		if p, _ := o.pod(); len(p.Containers) > 0 && covered[o.Kind+" "+o.Metadata.Name] != 1 {
			t.Errorf("%s %s has %d network policies", o.Kind, o.Metadata.Name, covered[o.Kind+" "+o.Metadata.Name])
		}
	}
}

// checkMonitoring checks that the metric of the autoscaler exists, is served by the example of an adapter, and that the
// rules are those in deploy/prometheus.
func checkMonitoring(t *testing.T, all []object) {
	t.Helper()
	for _, o := range all {
		switch o.Kind {
		case "HorizontalPodAutoscaler":
			pods := o.Spec.Metrics[0].Pods
			if !strings.Contains(readText(t, root+"/docs/reference/metrics.md"), "| `"+pods.Metric.Name+"` |") ||
				!strings.Contains(readText(t, examples+"values-prometheus-adapter.yaml"), "'"+pods.Metric.Name+"{") {
				t.Errorf("the autoscaler uses the metric %s", pods.Metric.Name)
			}
			if pods.Target.AverageValue != "100" { // 50% of 200
				t.Errorf("the autoscaler has the target %s", pods.Target.AverageValue)
			}
		case "PrometheusRule":
			var rules struct{ Groups []any }
			read(t, root+"/deploy/prometheus/rules.yaml", &rules)
			if len(rules.Groups) == 0 || !reflect.DeepEqual(o.Spec.Groups, rules.Groups) {
				t.Error("the rules differ from deploy/prometheus/rules.yaml")
			}
		}
	}
}

// TestValuesAreChecked checks that unknown and unsuitable values are rejected, and name the value.
func TestValuesAreChecked(t *testing.T) {
	cases := map[string]string{ // by the value to set: what the error contains
		"unknown=1":                        "'unknown'",
		"api.replica=1":                    "'replica'",
		"console.autoscaling.enabled=true": "'autoscaling'",
		"pod.nodeSelektor.a=b":             "'nodeSelektor'",
		"secrets.databaseURL.name=a":       "'databaseURL'",
		"secrets.platformKeys.value=a":     "'value'",
		"config.htp.public_url=a":          "'htp'",
		"networkPolicy.ingress.web[0].a=b": "'web'",
		"api.resources.limits.memory=500M": "/api/resources/limits/memory",
		"drain.graceSeconds=soon":          "/drain/graceSeconds",
		"image.digest=sha256:1":            "/image/digest",
		"config.http.public_url=":          "config.http.public_url is required",
		"config.http.admin_url=":           "config.http.admin_url is required",
		"config.http.ops_addr=:9":          "config.http.ops_addr cannot",
		"config.http.drain_delay=1s":       "drain.delaySeconds",
		"config.vault.read_role=a":         "must not be able to decrypt",
		"api.config.vault.read_role_id=a":  "must not be able to decrypt",
		"api.config.limits.post_concurrency=0,api.autoscaling.enabled=true": "config.limits.post_concurrency",
	}
	// No secret can be entered as a setting.
	section := ""
	secret := regexp.MustCompile("^\\| `(\\w+)` \\|.*\\| Secret\\. ")
	for line := range strings.Lines(readText(t, root+"/docs/reference/configuration.md")) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(heading)
		} else if found := secret.FindStringSubmatch(line); found != nil {
			path := section + "." + found[1]
			cases["config."+path+"=word-of-a-secret"] = "config." + path + " cannot be set here"
			cases["console.config."+path+"_file=word-of-a-secret"] = "config." + path + " cannot be set here"
		}
	}
	if len(cases) < 30 {
		t.Errorf("there are %d cases; some secrets were not found", len(cases))
	}
	for value, want := range cases {
		stdout, stderr, err := template(t, chart, "--values=testdata/minimal.yaml", "--set="+value)
		if err == nil || !strings.Contains(stderr, want) || strings.Contains(stdout+stderr, "word-of-a-secret") {
			t.Errorf("%s: got %q and the error %v, want %s", value, stderr, err, want)
		}
	}
}

// TestValuesAreDocumented checks that README.md lists all values, and that the schema lists all sections of settings.
func TestValuesAreDocumented(t *testing.T) {
	var values map[string]any
	read(t, chart+"/values.yaml", &values)
	readme := readText(t, chart+"/README.md")
	var check func(path string, value any)
	check = func(path string, value any) {
		nested, ok := value.(map[string]any)
		if ok && len(nested) > 0 && !strings.Contains(readme, "| `"+path+"` |") {
			for key, value := range nested {
				check(path+"."+key, value)
			}
		} else if !strings.Contains(readme, "| `"+path+"` |") {
			t.Errorf("README.md does not list %s", path)
		}
	}
	for key, value := range values {
		check(key, value)
	}
	var schema struct {
		Definitions struct {
			Config struct{ Properties map[string]any }
		} `yaml:"$defs"`
	}
	read(t, chart+"/values.schema.json", &schema)
	var sections []string
	for line := range strings.Lines(readText(t, root+"/docs/reference/configuration.md")) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			sections = append(sections, strings.TrimSpace(heading))
		}
	}
	slices.Sort(sections)
	if got := slices.Sorted(maps.Keys(schema.Definitions.Config.Properties)); !slices.Equal(got, sections) {
		t.Errorf("the schema has the sections %q, want %q", got, sections)
	}
}

// TestDatabaseExample checks that the example of a database fits the example of values for it, and that an acknowledged
// lead survives the loss of the primary.
func TestDatabaseExample(t *testing.T) {
	var cluster struct {
		Metadata metadata
		Spec     struct {
			Instances  int
			PostgreSQL struct {
				Synchronous struct {
					Number         int
					DataDurability string `yaml:"dataDurability"`
				}
				Parameters map[string]string
			} `yaml:"postgresql"`
		}
	}
	read(t, examples+"cluster-cloudnativepg.yaml", &cluster)
	spec := cluster.Spec
	if s := spec.PostgreSQL.Synchronous; s.Number < 1 || s.DataDurability != "required" || spec.Instances < s.Number+2 {
		t.Errorf("the cluster has %d instances and the standbys %+v", spec.Instances, s)
	}
	if locks := spec.PostgreSQL.Parameters["max_locks_per_transaction"]; locks != "256" {
		t.Errorf("max_locks_per_transaction is %s", locks)
	}
	name := cluster.Metadata.Name
	values := readText(t, examples+"values-cloudnativepg.yaml")
	for _, want := range []string{
		name + "-ca}", "cnpg.io/cluster: " + name + "}", "@" + name + "-rw:5432/", secrets + "/database-ca.crt",
	} {
		if !strings.Contains(values, want) {
			t.Errorf("values-cloudnativepg.yaml does not contain %s", want)
		}
	}
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// mebibytes reads an amount of memory such as 512Mi, 1Gi or 460MiB.
func mebibytes(t *testing.T, text string) int {
	t.Helper()
	text = strings.TrimSuffix(text, "B")
	n, err := strconv.Atoi(text[:len(text)-2])
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(text, "Gi") {
		n *= 1024
	}
	return n
}
