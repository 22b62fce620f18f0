package helm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Modules with the schemas of the objects. Their code is not used.
const (
	kubernetes         = "k8s.io/kubernetes@v1.37.2"
	prometheusOperator = "github.com/prometheus-operator/prometheus-operator@v0.85.0"
)

// schemaTemplate is the name of a schema's file, as kubeconform expects it.
const schemaTemplate = "{{.ResourceKind}}{{.KindSuffix}}.json"

// writeSchemas writes JSON schemas of the given kinds to a folder, and returns the folder. The schemas reject unknown
// fields, like kubectl.
func writeSchemas(t *testing.T, kinds map[string]bool) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", kubernetes, prometheusOperator)
	download.Dir = t.TempDir() // outside this module, which does not need them
	out, err := download.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	folders := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
		var module struct{ Path, Version, Dir string }
		if err := d.Decode(&module); err != nil {
			t.Fatal(err)
		}
		folders[module.Path+"@"+module.Version] = module.Dir
	}
	schemas := t.TempDir()
	write := func(kind, group, version string, schema any) {
		if !kinds[kind] {
			return
		}
		group, _, _ = strings.Cut(group, ".")
		name := strings.ToLower(strings.ReplaceAll(strings.Join([]string{kind, group, version}, "-"), "--", "-"))
		text, err := json.Marshal(schema)
		if err == nil {
			err = os.WriteFile(filepath.Join(schemas, name+".json"), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	var api struct {
		Definitions map[string]map[string]any
	}
	read(t, filepath.Join(folders[kubernetes], "api/openapi-spec/swagger.json"), &api)
	for name, definition := range api.Definitions {
		if names, ok := definition["x-kubernetes-group-version-kind"].([]any); ok && len(names) == 1 {
			of := names[0].(map[string]any)
			write(fmt.Sprint(of["kind"]), fmt.Sprint(of["group"]), fmt.Sprint(of["version"]),
				map[string]any{"$ref": "#/definitions/" + name, "definitions": closed(api.Definitions)})
		}
	}
	for _, plural := range []string{"servicemonitors", "prometheusrules"} {
		var definition struct {
			Spec struct {
				Group    string
				Names    struct{ Kind string }
				Versions []struct {
					Name   string
					Schema struct {
						Open map[string]any `yaml:"openAPIV3Schema"`
					}
				}
			}
		}
		const crds = "example/prometheus-operator-crd/monitoring.coreos.com_"
		read(t, filepath.Join(folders[prometheusOperator], crds+plural+".yaml"), &definition)
		for _, version := range definition.Spec.Versions {
			write(definition.Spec.Names.Kind, definition.Spec.Group, version.Name, closed(version.Schema.Open))
		}
	}
	return schemas
}

// closed returns a schema of Kubernetes as a JSON schema that allows only the listed properties.
func closed[T any](schema T) any {
	text, err := json.Marshal(schema)
	if err != nil {
		panic(err)
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		panic(err)
	}
	var restrict func(any)
	restrict = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, v := range value {
				restrict(v)
			}
		case map[string]any:
			if value["format"] == "int-or-string" {
				delete(value, "type")
			}
			if _, isMap := value["properties"].(map[string]any); isMap && value["additionalProperties"] == nil &&
				value["x-kubernetes-preserve-unknown-fields"] == nil {
				value["additionalProperties"] = false
			}
			for _, v := range value {
				restrict(v)
			}
		}
	}
	restrict(plain)
	return plain
}

// read reads a YAML or JSON file.
func read(t *testing.T, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
