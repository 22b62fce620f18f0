package api

import (
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/internal/platform/httpserver"
)

// readPartnerBody reads the body of a request and returns the slug in the request's base URL. If the
// body cannot be read, readPartnerBody records a rejection.
func (s *server) readPartnerBody(c *gin.Context, rec *httpserver.Record, endpoint string) (slug string, err error) {
	slug, unknown := baseSlug(c)
	if err := readBody(c, rec); err != nil {
		if unknown == nil {
			s.Intake.RecordRejection(endpoint, slug, rec.ID, rec.Start, err)
		}
		return "", err
	}
	return slug, unknown
}

// recordOwn records a rejection outside the ping and post handlers, if the URL is below a partner's own base
// URL.
func (s *server) recordOwn(c *gin.Context, rec *httpserver.Record, err error) {
	below, own := strings.CutPrefix(c.Request.URL.EscapedPath(), "/p/")
	slug, rest, _ := strings.Cut(below, "/")
	if !own || slug == "" {
		return
	}
	endpoint := intake.EndpointUnknown
	switch rest {
	case "api/lead/ping":
		endpoint = intake.EndpointPing
	case "api/lead/post":
		endpoint = intake.EndpointPost
	}
	s.Intake.RecordRejection(endpoint, slug, rec.ID, rec.Start, err)
}

// baseSlug returns the slug in the base URL, or "" for the shared base URL. It rejects
// /p//api/…, which the router accepts with an empty slug, and a slug with percent-encoded characters, so
// that each base URL has only one spelling.
func baseSlug(c *gin.Context) (string, error) {
	slug, own := c.Params.Get("slug")
	switch {
	case own && slug == "":
		return "", errNotFound
	case own && c.Request.URL.RawPath != "":
		return "", intake.ErrUnknownSlug
	}
	return slug, nil
}

// readBody reads the request's body into rec.Body. It rejects a body of more than MaxBody bytes.
func readBody(c *gin.Context, rec *httpserver.Record) error {
	if c.Request.ContentLength > MaxBody {
		return errTooLarge
	}
	r := c.Request.Body
	if c.Request.ContentLength < 0 { // net/http reads no more than Content-Length if it is set
		r = http.MaxBytesReader(c.Writer, r, MaxBody)
	}
	for {
		if len(rec.Body) == cap(rec.Body) {
			rec.Body = append(rec.Body, 0)[:len(rec.Body)]
		}
		n, err := r.Read(rec.Body[len(rec.Body):cap(rec.Body)])
		rec.Body = rec.Body[:len(rec.Body)+n]
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return readError(c, err)
		}
	}
}

func readError(c *gin.Context, err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errTooLarge
	}
	// The body arrived too slowly, was cut off or contained a malformed chunk (decision 26).
	c.Writer.Header()["Connection"] = []string{"close"}
	return errCutOff
}
