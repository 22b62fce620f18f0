package pack

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/pingpost/pingpost/internal/base/apperr"
)

// Reasons why a pack is not valid.
var (
	ErrTooLarge = apperr.New(apperr.Invalid, "pack_too_large", "The file is too large, so it is not an evidence pack.")
	ErrNotPack  = apperr.New(apperr.Invalid, "not_a_pack",
		"The file is not an evidence pack. Use the ZIP file as it was downloaded.")
	ErrMissing = apperr.New(apperr.Invalid, "missing_file",
		"A file is missing from the pack. It must contain evidence.html, evidence.json and evidence.jws.")
	ErrAdded = apperr.New(apperr.Invalid, "added_file",
		"A file was added to the pack. It must contain only evidence.html, evidence.json and evidence.jws.")
	ErrDuplicate = apperr.New(apperr.Invalid, "duplicate_file", "The pack contains two files with the same name.")
	ErrArchive   = apperr.New(apperr.Invalid, "archive_changed",
		"The ZIP file was changed or packed again. Use the original download.")
	ErrUnknownKey = apperr.New(apperr.Invalid, "unknown_key", "The pack was signed with a key that is not among the given public keys. Check that the keys are those of the platform that issued the pack. If the key is new, try again in five minutes.")
	ErrKeyTime    = apperr.New(apperr.Invalid, "key_not_valid",
		"The key that signed the pack was not valid at the time that the pack states.")
	ErrRevoked = apperr.New(apperr.Invalid, "key_revoked",
		"The key that signed the pack was stolen before the time that the pack states. Anyone could have made this pack.")
	ErrSignature = apperr.New(apperr.Invalid, "bad_signature",
		"The signature is not valid. The signature file was changed, or the pack is not from this platform.")
	ErrFormat = apperr.New(apperr.Invalid, "unknown_format",
		"This version of pingpost cannot read the pack. Use the newest version.")
	ErrChanged = apperr.New(apperr.Invalid, "file_changed", "A file in the pack was changed after it was signed.")
	ErrAudit   = apperr.New(apperr.Invalid, "audit_hash", "An audit event in the pack does not match its hash.")
)

// keyTolerance is how much the clocks of a platform's nodes may differ.
const keyTolerance = 5 * time.Minute

// Verified contains what was verified.
type Verified struct {
	Key      PublicKey
	Document Document
}

// Verify checks that a pack was signed with one of the keys and was not changed. If any byte of it is
// changed, Verify returns one of the errors above.
func Verify(content []byte, keys []PublicKey) (v Verified, err error) {
	files, err := extract(content)
	if err != nil {
		return v, err
	}
	key, text, err := checkSignature(files[signatureFile], keys)
	if err != nil {
		return v, err
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil || m.Format != Format || len(m.Files) != 2 {
		return v, ErrFormat
	}
	if !key.Revoked.IsZero() && m.CreatedAt.After(key.Revoked) {
		return v, ErrRevoked
	}
	if m.CreatedAt.Before(key.From.Add(-keyTolerance)) || !key.Until.IsZero() &&
		m.CreatedAt.After(key.Until.Add(keyTolerance)) {
		return v, ErrKeyTime
	}
	for _, name := range []string{documentFile, pageFile} {
		if m.Files[name] != digest(files[name]) {
			return v, ErrChanged.WithCause(fmt.Errorf("%s has a different hash", name))
		}
	}
	if again, err := archive(files, m.CreatedAt); err != nil || !bytes.Equal(again, content) {
		return v, ErrArchive
	}
	v.Key = key
	if err := json.Unmarshal(files[documentFile], &v.Document); err != nil {
		return v, ErrFormat
	}
	return v, checkEvents(v.Document.Audit.Events)
}

// extract returns the files in a pack.
func extract(content []byte) (map[string][]byte, error) {
	if len(content) > MaxSize {
		return nil, ErrTooLarge
	}
	r, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		return nil, ErrNotPack
	}
	files := map[string][]byte{}
	for _, f := range r.File {
		if !slices.Contains([]string{pageFile, documentFile, signatureFile}, f.Name) {
			return nil, ErrAdded
		}
		if _, twice := files[f.Name]; twice {
			return nil, ErrDuplicate
		}
		if files[f.Name], err = read(f, int64(len(content))); err != nil {
			return nil, err
		}
	}
	if len(files) < 3 {
		return nil, ErrMissing
	}
	return files, nil
}

// read returns the content of a file. Files are not compressed, so none is larger than the pack.
func read(f *zip.File, size int64) ([]byte, error) {
	if f.Method != zip.Store || f.UncompressedSize64 > uint64(size) { //nolint:gosec // a length is not negative
		return nil, ErrArchive
	}
	r, err := f.Open()
	if err != nil {
		return nil, ErrArchive
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil {
		return nil, ErrChanged.WithCause(fmt.Errorf("%s has a different checksum", f.Name))
	}
	return text, nil
}

// checkSignature returns the signed text and the key that signed it.
func checkSignature(text []byte, keys []PublicKey) (key PublicKey, signed []byte, err error) {
	s, err := jose.ParseSignedCompact(string(text), []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		return key, nil, ErrSignature
	}
	header := s.Signatures[0].Protected
	at := slices.IndexFunc(keys, func(k PublicKey) bool { return k.ID == header.KeyID })
	if at < 0 {
		return key, nil, ErrUnknownKey
	}
	if signed, err = s.Verify(keys[at].Key); err != nil || header.ExtraHeaders[jose.HeaderType] != signatureType {
		return key, nil, ErrSignature
	}
	// Base64 can express the same signature in different ways. Only one of them is accepted.
	if again, err := s.CompactSerialize(); err != nil || again != string(text) {
		return key, nil, ErrSignature
	}
	return keys[at], signed, nil
}
