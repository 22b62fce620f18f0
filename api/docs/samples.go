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

// samplesFS holds the templates of the code samples on a partner's page.
//
//go:embed samples/*.tmpl
var samplesFS embed.FS

// language is a programming language with a code sample. Run is the command that runs the sample after
// it has been saved as File.
type language struct{ ID, Name, File, Needs, Run string }

func languages() []language {
	return []language{
		{"curl", "curl and openssl", "post.sh", "bash, curl and openssl", "bash post.sh"},
		{"go", "Go", "post.go", "only Go 1.21 or newer", "go run post.go"},
		{"python", "Python", "post.py", "only Python 3.7 or newer", "python3 post.py"},
		{"node", "Node.js", "post.mjs", "only Node.js 18 or newer", "node post.mjs"},
		{"php", "PHP", "post.php", "PHP 8.0 or newer with the curl extension", "php post.php"},
		{"ruby", "Ruby", "post.rb", "only Ruby 2.7 or newer", "ruby post.rb"},
		{"java", "Java", "Post.java", "only JDK 17 or newer", "java Post.java"},
	}
}

// pingExample and postExample are the requests that a sample sends.
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

// newPostExample returns a post for one of the partner's accounts, or for the default account if
// partnerID is "". The consumer's name contains a non-ASCII character, to show that the signature is
// computed from the bytes of the body.
func newPostExample(partnerID string) postExample {
	p := postExample{PartnerID: partnerID}
	p.Contact.Email, p.Contact.Name, p.Consent.Acknowledged = "zoe.example@example.org", "Zoë Example", true
	return p
}

// sampleData is the data of the sample templates.
type sampleData struct {
	BaseURL string
	Ping    pingExample
	Rest    postExample // the post without its transactionId, which a sample takes from the ping's response
}

// Comments returns the comments that are the same in all samples.
func (sampleData) Comments() map[string]string {
	return map[string]string{
		"Send": "Sends the body until there is a final response, and signs each attempt again. A lost connection, 408, 429, 5xx " +
			"and any response with Retry-After are not final. The pauses grow from 2 to 30 seconds, and last at least as " +
			"long as Retry-After says. Retries do not create more leads.",
		"Ping": "1. Request a price. A ping contains no personal data. Give up after 30 seconds.",
		"Body": "2. Encode the body once. Every attempt must send the same bytes.",
		"Post": "3. Deliver the lead. Give up after 16 minutes. By then, the transaction has expired, and the response says " +
			"whether an earlier attempt delivered the lead.",
		"Outcome": "If the response to this signed post contains deliveredAt, you have already delivered the lead. After the " +
			"code transaction_expired or transaction_delivered_by_other, you have not delivered it, and can ping again. " +
			"After payload_invalid or json_invalid, correct the body and post it with the same transactionId. After any " +
			"other code, do not ping again, because an earlier attempt may have delivered the lead. Correct the cause, " +
			"and send the same body again.",
	}
}

// Texts returns the messages that are the same in all samples.
func (sampleData) Texts() map[string]string {
	return map[string]string{
		"Unset":        "Set the environment variable PINGPOST_SECRET to your signing secret.",
		"NoPrice":      "No price. See the reason or message above.",
		"GaveUp":       "No final response. If this was a post, do not ping again. Sign and send the same body later.",
		"NotDelivered": "This request did not deliver the lead. See the message above.",
	}
}

type codeSample struct {
	language
	Code string
}

// Requirements returns the field Needs, formatted for the page.
func (s codeSample) Requirements() []span { return spans(s.Needs) }

// readSamples parses the templates. They pass every inserted value through a function that writes
// it as a literal in the sample's language.
func readSamples() (*template.Template, error) {
	return template.New("samples").Funcs(template.FuncMap{
		"json": compactJSON, "afterTransaction": afterTransaction, "comment": comment,
		"shell": shellLiteral, "single": singleQuoted, "golang": strconv.QuoteToASCII, "python": strconv.QuoteToASCII,
		"javascript": unicodeLiteral, "java": unicodeLiteral,
	}).ParseFS(samplesFS, "samples/*.tmpl")
}

func renderSamples(t *template.Template, data sampleData) ([]codeSample, error) {
	var all []codeSample
	for _, l := range languages() {
		var code bytes.Buffer
		if err := t.ExecuteTemplate(&code, l.File+".tmpl", data); err != nil {
			return nil, fmt.Errorf("rendering sample %s: %w", l.File, err)
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

// afterTransaction returns the part of a post's body that follows the value of transactionId. The
// parameter object is a JSON object with the fields of this part. Samples in languages without a JSON
// library use the part to build the body.
func afterTransaction(object string) string { return `",` + strings.TrimPrefix(object, "{") }

func shellLiteral(text string) string {
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// singleQuoted quotes text for PHP and Ruby.
func singleQuoted(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// commentWidth is the length of the lines of a comment in a sample.
const commentWidth = 88

// comment breaks text into lines that begin with prefix.
func comment(prefix, text string) string {
	var out strings.Builder
	width := commentWidth
	for word := range strings.FieldsSeq(text) {
		if width+1+len(word) > commentWidth {
			if out.Len() > 0 {
				out.WriteByte('\n')
			}
			out.WriteString(prefix)
			width = len(prefix)
		} else {
			out.WriteByte(' ')
			width++
		}
		out.WriteString(word)
		width += len(word)
	}
	return out.String()
}

// unicodeLiteral quotes text as an ASCII-only JSON string, which JavaScript and Java read
// correctly in any file encoding.
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
