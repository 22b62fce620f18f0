package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
)

//go:embed openapi.yaml
var openapiYAML string

// Document returns the OpenAPI 3.1 description of the partner API in YAML. It contains names of settings
// in braces, such as {http.idle_timeout}. The document at /openapi.yaml has their values. The caller may
// modify the bytes.
func Document() []byte { return []byte(openapiYAML) }

// etag returns the strong entity tag of content that does not change while the service runs. The tag
// consists of the first 16 hex digits of the content's SHA-256 hash, in quotes (RFC 9110, ETag).
func etag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}
