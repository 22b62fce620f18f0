package docs

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf16"
	"unicode/utf8"
)

// samplesFS holds the code samples of a partner's page, a template each.
//
//go:embed samples/*.tmpl
var samplesFS embed.FS

// language is one in which the page shows how to deliver a lead. Run is the
// command for a sample that was saved as File.
type language struct{ ID, Name, File, Needs, Run string }

func languages() []language {
	return []language{
		{"curl", "curl and openssl", "post.sh", "bash, curl and openssl", "bash post.sh"},
		{"go", "Go", "post.go", "Go 1.18 or newer and its standard library", "go run post.go"},
		{"python", "Python", "post.py", "Python 3.7 or newer and its standard library", "python3 post.py"},
		{"node", "Node.js", "post.mjs", "Node.js 18 or newer and nothing else", "node post.mjs"},
		{"php", "PHP", "post.php", "PHP 8.0 or newer with its curl extension", "php post.php"},
		{"java", "Java", "Post.java", "Java 17 or newer and nothing else", "java Post.java"},
		{"csharp", "C#", "Program.cs",
			"the .NET SDK 8 or newer and nothing else; the file is the Program.cs of what `dotnet new console` makes",
			"dotnet run"},
	}
}

// pingExample and postExample are what a sample sends. They are written in the
// order of their fields.
type pingExample struct {
	Industry string `json:"industry"`
	Postcode string `json:"postcode"`
}

type postExample struct {
	TransactionID string `json:"transactionId,omitempty"`
	PartnerID     string `json:"partnerId,omitempty"`
	Contact       struct {
		Email string `json:"email"`
		Name  string `json:"name,omitempty"`
	} `json:"contact"`
	Consent struct {
		Acknowledged bool `json:"acknowledged"`
	} `json:"consent"`
}

// newPostExample is a post for one of the partner's accounts, "" for the default.
// The name is not ASCII: signing is about bytes.
func newPostExample(partnerID string) postExample {
	p := postExample{PartnerID: partnerID}
	p.Contact.Email, p.Contact.Name, p.Consent.Acknowledged = "zoe.example@example.org", "Zoë Example", true
	return p
}

// sampleData is what the templates of the samples are filled with.
type sampleData struct {
	BaseURL string
	Ping    pingExample
	Rest    postExample // the post without its transactionId, which a sample reads from the ping's answer
}

type codeSample struct {
	language
	Code string
}

// readSamples parses the templates. Whatever is put into one goes through the
// function of its language, which writes it as a literal.
func readSamples() (*template.Template, error) {
	return template.New("samples").Funcs(template.FuncMap{
		"json": compactJSON, "afterTransaction": afterTransaction,
		"shell": shellLiteral, "php": phpLiteral, "golang": strconv.QuoteToASCII, "python": strconv.QuoteToASCII,
		"javascript": unicodeLiteral, "java": unicodeLiteral, "csharp": unicodeLiteral,
	}).ParseFS(samplesFS, "samples/*.tmpl")
}

func renderSamples(t *template.Template, data sampleData) ([]codeSample, error) {
	var all []codeSample
	for _, l := range languages() {
		var code bytes.Buffer
		if err := t.ExecuteTemplate(&code, l.File+".tmpl", data); err != nil {
			return nil, fmt.Errorf("rendering the sample %s: %w", l.File, err)
		}
		all = append(all, codeSample{l, code.String()})
	}
	return all, nil
}

func compactJSON(value any) (string, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSuffix(out.String(), "\n"), err
}

// afterTransaction turns an object into what follows a transactionId at the
// beginning of the same object, for languages that have no JSON of their own.
func afterTransaction(object string) string { return `",` + strings.TrimPrefix(object, "{") }

func shellLiteral(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

func phpLiteral(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// unicodeLiteral is a text in double quotes as JavaScript, Java and C# read it,
// whatever encoding the file is saved in. It is JSON with nothing but ASCII.
func unicodeLiteral(text string) (string, error) {
	quoted, err := compactJSON(text)
	if err != nil {
		return "", err
	}
	var out []byte
	for _, r := range quoted {
		if r < utf8.RuneSelf {
			out = append(out, byte(r)) //nolint:gosec // r is ASCII here
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return string(out), nil
}
