package api_test

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/api"
)

// clientTools is the folder in which .ci/needs installs the generators and linters, with the
// versions in the lock file.
const clientTools = "../tools/clients/node_modules"

// clients contains a program for each generator. Each program uses the generated client to send
// every request example and to read the responses, without casts.
var clients = []struct {
	name     string
	generate []string
	program  string
	ping     string // a call; %s stands for the example
	post     string
}{
	{
		"openapi-typescript", []string{"openapi-typescript", "openapi.yaml", "--output", "schema.ts"},
		`import createClient from "openapi-fetch";
import type { paths } from "./schema";
const client = createClient<paths>();
export function transaction(): Promise<string | undefined> {
	return client.POST("/api/lead/ping", { body: { industry: "plumber", postcode: "N1" } })
		.then(({ data }) => data?.accepted ? data.transactionId : data?.reason);
}
`, `client.POST("/api/lead/ping", { body: %s });`, `client.POST("/api/lead/post", { body: %s }).then(({ data }) => data?.leadId);`,
	},
	{
		"oazapfts", []string{"oazapfts", "openapi.yaml", "client.ts"},
		`import { ping, post } from "./client";
export function transaction(): Promise<string | undefined> {
	return ping({ industry: "plumber", postcode: "N1" })
		.then((r) => r.status === 200 ? (r.data.accepted ? r.data.transactionId : r.data.reason) : undefined);
}
`, `ping(%s);`, `post(%s).then((r) => r.status === 200 ? r.data.leadId : r.data.message);`,
	},
	{
		"@hey-api/openapi-ts", []string{"openapi-ts", "--input", "openapi.yaml", "--output", "client"},
		`import { ping, post } from "./client";
export function transaction(): Promise<string | undefined> {
	return ping({ body: { industry: "plumber", postcode: "N1" } })
		.then(({ data }) => data?.accepted ? data.transactionId : data?.reason);
}
`, `ping({ body: %s });`, `post({ body: %s }).then(({ data }) => data?.leadId);`,
	},
}

func TestGeneratedClientsCompile(t *testing.T) {
	t.Parallel()
	doc := loadDocument(t)
	for _, c := range clients {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := clientFolder(t)
			runTool(t, dir, c.generate...)
			program := c.program
			for path, call := range map[string]string{"/api/lead/ping": c.ping, "/api/lead/post": c.post} {
				for _, example := range requestExamples(t, doc.Paths.Value(path).Post) {
					program += strings.Replace(call, "%s", example, 1) + "\n"
				}
			}
			if err := os.WriteFile(filepath.Join(dir, "program.ts"), []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			runTool(t, dir, "tsc", "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2022,dom,dom.iterable",
				"--module", "esnext", "--moduleResolution", "bundler", "program.ts")
		})
	}
}

func TestLintersAcceptTheDocument(t *testing.T) {
	t.Parallel()
	dir := clientFolder(t)
	if err := os.WriteFile(filepath.Join(dir, "spectral.yaml"), []byte("extends: ['spectral:oas']\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if output := runTool(t, dir, "redocly", "lint", "openapi.yaml"); strings.Contains(output, "warning") {
		t.Errorf("redocly warns:\n%s", output)
	}
	runTool(t, dir, "spectral", "lint", "--ruleset", "spectral.yaml", "openapi.yaml")
}

// clientFolder returns a folder with the document and links to the tools.
func clientFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	tools, pathErr := filepath.Abs(clientTools)
	_, missing := os.Stat(tools)
	err := cmp.Or(pathErr, missing)
	if err == nil {
		err = cmp.Or(os.Symlink(tools, filepath.Join(dir, "node_modules")),
			os.WriteFile(filepath.Join(dir, "openapi.yaml"), api.Document(), 0o600))
	}
	if err != nil {
		t.Fatalf("%v; `make needs` installs the client generators", err)
	}
	return dir
}

func runTool(t *testing.T, dir string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", command[0]), command[1:]...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", command[0], err, output)
	}
	return string(output)
}
