package api

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
)

const contentHTML = "text/html; charset=utf-8"

// published is a document that does not change while the service runs.
type published struct {
	contentType string
	body        []byte
	etag        string
}

func publish(contentType string, body []byte) published {
	return published{contentType, body, etag(body)}
}

// industry is an entry in the response to GET /api/industries.
type industry struct {
	Slug           string `json:"slug"`
	TaxonomyTermID int    `json:"taxonomyTermId"`
	Category       string `json:"category"`
}

// industryList returns the body of the response to GET /api/industries.
func industryList(taxonomy *pricingrules.Taxonomy) ([]byte, error) {
	list := struct {
		Industries []industry `json:"industries"`
	}{}
	for _, listed := range taxonomy.Industries() {
		list.Industries = append(list.Industries, industry{listed.Slug, listed.TermID, listed.Category})
	}
	return json.Marshal(list)
}

func (d published) serve(c *gin.Context, rec *httpserver.Record) error {
	rec.Outcome = "served"
	h := c.Writer.Header()
	h.Set("ETag", d.etag)
	h.Set("Cache-Control", "public, max-age=300")
	h.Set("Content-Security-Policy", pagePolicy)
	if matches(c.Request.Header.Get("If-None-Match"), d.etag) {
		c.Writer.WriteHeader(http.StatusNotModified)
		return nil
	}
	writeDocument(c, d.contentType, d.body)
	return nil
}

// pagePolicy allows a page to load only stylesheets and scripts that come from the service itself.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// writeDocument responds to GET with a document, and to HEAD with the same headers but no body.
func writeDocument(c *gin.Context, contentType string, body []byte) {
	h := c.Writer.Header()
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	c.Writer.WriteHeader(http.StatusOK)
	if c.Request.Method != http.MethodHead {
		c.Writer.Write(body) //nolint:errcheck // the client has disconnected
	}
}

// matches reports whether an If-None-Match header matches an entity tag. The header is a list of tags,
// or "*", which matches every tag.
func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		if candidate = strings.TrimPrefix(strings.TrimSpace(candidate), "W/"); candidate == tag || candidate == "*" {
			return true
		}
	}
	return false
}

// elsewhere maps paths that redirect to a document to the document's path, which is relative because a proxy may add a
// prefix to both paths.
var elsewhere = map[string]string{
	"/docs/":        "../docs",
	"/openapi.json": "openapi.yaml",
}

// notFound redirects visitors of nearby paths to the documentation, and rejects all other requests.
func (s *server) notFound(c *gin.Context, rec *httpserver.Record) error {
	to, known := elsewhere[c.Request.URL.EscapedPath()]
	if !known || c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		s.recordOwn(c, rec, errNotFound)
		return errNotFound
	}
	rec.Outcome = "redirected"
	c.Writer.Header().Set("Location", to)
	c.Writer.WriteHeader(http.StatusFound)
	return nil
}

// errNotLoaded means that the node started while the database was unavailable.
var errNotLoaded = apperr.New(apperr.Unavailable, "not_loaded",
	"The keys are not available yet. Try again in a few seconds.").
	WithPublicCode(apperr.ServiceUnavailable).WithRetryAfter(5 * time.Second)

// evidenceKeys handles GET {origin}/.well-known/pingpost-evidence-key.
func (s *server) evidenceKeys(c *gin.Context, rec *httpserver.Record) error {
	keys := s.EvidenceKeys.Get()
	if keys == nil {
		return errNotLoaded
	}
	return publish(evidence.ContentType, keys.JSON).serve(c, rec)
}

// partnerPage handles GET {origin}/partner/{token}. The token is a secret and is not logged.
// The response headers keep it out of search engines, caches and Referer headers.
func (s *server) partnerPage(c *gin.Context, rec *httpserver.Record) error {
	h := c.Writer.Header()
	h.Set("X-Robots-Tag", "noindex, nofollow, noarchive")
	h.Set("Referrer-Policy", "no-referrer")
	linked, err := s.Partners.ByLink(c.Request.Context(), c.Param("token"))
	if err != nil {
		return err
	}
	rec.Partner = linked.Partner.ID
	page, err := s.pages.Partner(linked)
	if err != nil {
		return err
	}
	rec.Outcome = "served"
	h["Cache-Control"] = noStore
	h.Set("Content-Security-Policy", pagePolicy)
	writeDocument(c, contentHTML, page)
	return nil
}
