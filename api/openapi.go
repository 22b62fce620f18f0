package api

import (
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
)

//go:embed openapi.yaml
var openapiYAML string

// Document is the OpenAPI 3.1 description of the partner API, in YAML, as it is
// served at /openapi.yaml. The bytes are the caller's own.
func Document() []byte { return []byte(openapiYAML) }

// etag is the strong entity tag of an answer that never changes while the
// service runs: 16 hex digits of its SHA-256, quoted (RFC 9110, ETag).
func etag(content []byte) string {
	sum := sha256.Sum256(content)
	return `"` + hex.EncodeToString(sum[:8]) + `"`
}
