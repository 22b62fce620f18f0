package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/platform/audit"
)

// The public keys of evidence packs are published as a JWK set that caches can store.
func TestPublishEvidenceKeys(t *testing.T) {
	t.Parallel()
	s := newService(t, newPlatform(t), nil, nil)
	get := func(method string, header http.Header) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, pack.KeyPath, nil)
		r.Header = header
		return s.serve(r)
	}
	if p := get(http.MethodGet, nil); p.Code != http.StatusServiceUnavailable || p.Header().Get("Retry-After") == "" {
		t.Errorf("before the keys are loaded: got %d, %v", p.Code, p.Header())
	}
	load := func() {
		t.Helper()
		if err := s.keys.Load(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	load()
	if p := get(http.MethodGet, nil); p.Code != http.StatusOK || p.Body.String() != `{"keys":[]}` {
		t.Errorf("without a key: got %d, %s", p.Code, p.Body)
	}
	for range 2 {
		kid, err := s.signing.By(audit.Operator).Rotate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		load()
		p := get(http.MethodGet, nil)
		keys, err := pack.ParseKeys(p.Body.Bytes())
		found := false
		for _, k := range keys {
			found = found || k.ID == kid && k.Until.IsZero()
		}
		if err != nil || !found || p.Header().Get("Content-Type") != "application/jwk-set+json" || p.Header().Get("Cache-Control") != "public, max-age=300" {
			t.Errorf("got %d, %v, %s, %v", p.Code, p.Header(), p.Body, err)
		}
		if again := get(http.MethodGet, http.Header{"If-None-Match": {p.Header().Get("ETag")}}); again.Code != http.StatusNotModified {
			t.Errorf("with the ETag: got %d", again.Code)
		}
	}
	if p := get(http.MethodPost, nil); p.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: got %d", p.Code)
	}
}
