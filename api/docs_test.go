package api

import (
	"os"
	"testing"
)

func TestOut(t *testing.T) {
	b, err := renderDocs(Document(), "https://leads.example.com")
	if err != nil {
		t.Fatal(err)
	}
	os.MkdirAll("/tmp/oa/page", 0o755)
	os.WriteFile("/tmp/oa/page/docs.html", b, 0o644)
	os.WriteFile("/tmp/oa/page/docs.css", docsCSS, 0o644)
}
