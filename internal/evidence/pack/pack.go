package pack

import (
	"archive/zip"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// The files of a pack, in the order in which they are in the ZIP file.
const (
	pageFile      = "evidence.html"
	documentFile  = "evidence.json"
	signatureFile = "evidence.jws"
)

// MaxSize is the maximum size of a pack in bytes.
const MaxSize = 16 << 20

// signatureType is the "typ" of the signature. It prevents other signatures with the same key from being
// mistaken for those of packs.
const signatureType = "pingpost-evidence"

// Manifest is the signed text. It contains the SHA-256 hashes of the other two files in hexadecimal.
type Manifest struct {
	Format    string            `json:"format"`
	Lead      string            `json:"lead"`
	CreatedAt time.Time         `json:"createdAt"`
	Files     map[string]string `json:"files"`
}

// Build returns a pack that contains the document, and the SHA-256 hash of its manifest in hexadecimal. Packs with the
// same document and key are identical.
func Build(d Document, key ed25519.PrivateKey) (content []byte, manifest string, err error) {
	d.Format = Format
	document, err := canonical(d)
	if err != nil {
		return nil, "", err
	}
	page, err := renderPage(d)
	if err != nil {
		return nil, "", err
	}
	m, err := canonical(Manifest{
		Format, d.Lead.ID, d.CreatedAt, map[string]string{documentFile: digest(document), pageFile: digest(page)},
	})
	if err != nil {
		return nil, "", err
	}
	signature, err := sign(m, key)
	if err != nil {
		return nil, "", err
	}
	content, err = archive(map[string][]byte{documentFile: document, pageFile: page, signatureFile: signature},
		d.CreatedAt)
	if err == nil && len(content) > MaxSize {
		err = fmt.Errorf("the evidence pack has %d bytes, more than %d", len(content), MaxSize)
	}
	return content, digest(m), err
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// sign returns a manifest with its signature as a JWS (RFC 7515, RFC 8037).
func sign(manifest []byte, key ed25519.PrivateKey) ([]byte, error) {
	kid, err := KeyID(key.Public().(ed25519.PublicKey))
	if err != nil {
		return nil, err
	}
	options := (&jose.SignerOptions{}).WithType(signatureType).WithHeader("kid", kid)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key}, options)
	if err != nil {
		return nil, err
	}
	signed, err := signer.Sign(manifest)
	if err != nil {
		return nil, err
	}
	text, err := signed.CompactSerialize()
	return []byte(text), err
}

// archive returns the files as a ZIP file. The files are not compressed, so that there is exactly one ZIP
// file for the same content and time.
func archive(files map[string][]byte, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, name := range []string{pageFile, documentFile, signatureFile} {
		content := files[name]
		size := uint64(len(content))
		h := &zip.FileHeader{
			Name: name, Method: zip.Store, CRC32: crc32.ChecksumIEEE(content), CompressedSize64: size, UncompressedSize64: size,
		}
		h.SetModTime(at) //nolint:staticcheck // CreateRaw ignores Modified
		f, err := w.CreateRaw(h)
		if err == nil {
			_, err = f.Write(content)
		}
		if err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return out.Bytes(), err
}
