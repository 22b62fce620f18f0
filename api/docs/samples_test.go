package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func samplesFor(t *testing.T, data sampleData) map[string]codeSample {
	t.Helper()
	tmpl, err := readSamples()
	if err != nil {
		t.Fatal(err)
	}
	list, err := renderSamples(tmpl, data)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]codeSample{}
	for _, s := range list {
		all[s.ID] = s
	}
	return all
}

func usualSample(partnerID string) sampleData {
	return sampleData{
		BaseURL: "https://leads.example.com/p/northgate",
		Ping:    pingExample{"plumber", "SW1A 1AA"},
		Rest:    newPostExample(partnerID),
	}
}

// TestSamplesHaveTheRequiredParts checks the text of each sample. test/console runs the samples.
func TestSamplesHaveTheRequiredParts(t *testing.T) {
	with, without := samplesFor(t, usualSample("northgate.trial")), samplesFor(t, usualSample(""))
	if len(with) != 7 {
		t.Errorf("got %d samples, want 7", len(with))
	}
	for id, s := range with {
		for what, pattern := range map[string]string{
			"the base URL once":      `https://leads\.example\.com/p/northgate['"]`,
			"the secret's source":    `(\$\{|[Gg]et\w*\(['"]|environ\.get\("|ENV\.fetch\("|process\.env\.)PINGPOST_SECRET`,
			"the ping's address":     `/api/lead/ping`,
			"the post's address":     `/api/lead/post`,
			"the industry":           `plumber`,
			"the account":            `northgate\.trial`,
			"the transaction":        `transactionId`,
			"the timestamp's header": `X-Timestamp`,
			"the signature's header": `X-Signature-SHA256`,
			"the hash":               `(?i)sha-?256`,
			"the dot":                `(\+ "\."|'\.'|%s\.%s|b"\."|\}\.#\{)`,
			"when to try again":      `5xx`,
			"the wait":               `Retry-After`,
			"the longest wait":       `\b30\b`,
			"the end of the retries": `16 ?\* ?60`,
		} {
			if found := regexp.MustCompile(pattern).FindAllString(s.Code, -1); found == nil ||
				strings.Contains(what, "once") && len(found) > 1 {
				t.Errorf("%s: found %s %d times", id, what, len(found))
			}
		}
		if strings.Contains(without[id].Code, "partnerId") || strings.Contains(s.Code, "<no value>") ||
			strings.Contains(s.Code, "pp_") {
			t.Errorf("%s has an unwanted partnerId, value or secret", id)
		}
		if s.Run == "" || s.Needs == "" || s.File == "" {
			t.Errorf("%s has no file, command or requirements", id)
		}
	}
}

// hostile has every character that is special in at least one of the languages.
const hostile = "a'b\"c\\d$HOME`id`$(id)%s\\u0022{{.}}</code>\tline\nnext é東😀 \\"

// TestLiterals prints a literal in each language.
func TestLiterals(t *testing.T) {
	java, err := unicodeLiteral(hostile)
	if err != nil {
		t.Fatal(err)
	}
	ascii := strconv.QuoteToASCII(hostile)
	for name, c := range map[string]struct{ file, code, run string }{
		"shell":  {"x.sh", "printf '%s' " + shellLiteral(hostile), "bash x.sh"},
		"go":     {"x.go", "package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Print(" + ascii + ") }", "go run x.go"},
		"python": {"x.py", "import sys\nsys.stdout.buffer.write(" + ascii + ".encode())", "python3 x.py"},
		"node":   {"x.mjs", "process.stdout.write(" + java + ")", "node x.mjs"},
		"php":    {"x.php", "<?php echo " + singleQuoted(hostile) + ";", "php x.php"},
		"ruby":   {"x.rb", "$stdout.write(" + singleQuoted(hostile) + ")", "ruby x.rb"},
		"java":   {"X.java", "public class X { public static void main(String[] a) throws Exception { System.out.write(" + java + ".getBytes(\"UTF-8\")); System.out.flush(); } }", "java X.java"},
	} {
		t.Run(name, func(t *testing.T) {
			folder, words := t.TempDir(), strings.Fields(c.run)
			if err := os.WriteFile(filepath.Join(folder, c.file), []byte(c.code), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
			cmd.Dir = folder
			if said, err := cmd.CombinedOutput(); err != nil || string(said) != hostile {
				t.Errorf("%v: got %q from %s", err, said, c.code)
			}
		})
	}
}

func TestComment(t *testing.T) {
	long := strings.Repeat("word ", 40)
	got := comment("\t// ", long)
	for line := range strings.SplitSeq(got, "\n") {
		if !strings.HasPrefix(line, "\t// word") || len(line) > commentWidth {
			t.Errorf("got the line %q", line)
		}
	}
	if words := strings.ReplaceAll(strings.ReplaceAll(got, "\n", " "), "\t// ", ""); words != strings.TrimSpace(long) {
		t.Errorf("got %s", got)
	}
	if got := comment("# ", ""); got != "" {
		t.Errorf("empty text: got %q", got)
	}
}
