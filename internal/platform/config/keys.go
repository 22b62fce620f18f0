package config

import "encoding/base64"

// keySize is the length of every key in bytes.
const keySize = 32

// Wrapper is the name of a key wrapper, which wraps the data keys of leads (decision 23).
type Wrapper string

const (
	WrapperLocal Wrapper = "local" // the keys in keys.local_kek
	WrapperVault Wrapper = "vault" // Vault Transit
)

// Keys holds the settings of the section `keys`. Each key consists of 32 random bytes in standard
// base64, as printed by `openssl rand -base64 32`. If the keys are lost, so is the data that they
// protect. Back them up separately from the database (decision 23).
type Keys struct {
	// One or more different keys. The first one encrypts, and all of them can decrypt. They encrypt
	// transaction IDs, signing secrets and second factors. To rotate the keys, add the new key in second
	// place on every node, then move it to first place on every node (see docs/how-to/rotate-keys.md).
	// After an old key is removed, data that is sealed only with that key cannot be read. The
	// transaction IDs that it encrypted expire within 20 minutes.
	Platform []Secret

	// The keys of the local key wrapper, which wraps the data keys of leads. One or more different keys.
	// The first one wraps, and all of them can unwrap. None of them may be one of the platform keys. A new
	// key must be registered before it can wrap (see docs/how-to/rotate-keys.md). Without a key wrapper,
	// pings are answered, but every post gets 503.
	Local []Secret

	// The key wrapper for new leads: `local` (needs `local_kek`) or `vault` (needs `vault.address`).
	// Every configured key wrapper can unwrap existing keys. This setting is required if both are
	// configured. If only one is configured, that one is used.
	WriteWith Wrapper
}

func (k *Keys) fields() []field {
	return []field{
		secret(texts("platform_keys", &k.Platform)),
		secret(texts("local_kek", &k.Local)),
		text("write_with", &k.WriteWith),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (k *Keys) Validate() error {
	var ps Problems
	ps.require("keys.platform_keys", len(k.Platform) > 0)
	platform, local := make(map[string]string), make(map[string]string)
	for i, s := range k.Platform {
		validateKey(&ps, itemPath("keys.platform_keys", i), s, platform, nil)
	}
	for i, s := range k.Local {
		validateKey(&ps, itemPath("keys.local_kek", i), s, local, platform)
	}
	k.validateWriteWith(&ps)
	return ps.asError()
}

// validateKey checks a key and adds its path to the map same, which contains the keys with the same
// purpose. The keys in the map other have another purpose.
func validateKey(ps *Problems, path string, s Secret, same, other map[string]string) {
	key := string(decodeKey(s))
	switch {
	case key == "":
		ps.add(path, "must be 32 bytes in standard base64, as printed by `openssl rand -base64 32`")
	case same[key] != "":
		ps.add(path, "is the same key as %s; remove one of them", same[key])
	case other[key] != "":
		ps.add(path, "is the same key as %s; use a different key for each purpose", other[key])
	default:
		same[key] = path
	}
}

func (k *Keys) validateWriteWith(ps *Problems) {
	const path = "keys.write_with"
	switch {
	case k.WriteWith == WrapperLocal && len(k.Local) == 0:
		text := "local is not configured; set keys.local_kek or " + variable("keys.local_kek")
		*ps = append(*ps, Problem{Path: path, Text: text, missing: true, because: "keys.local_kek"})
	case k.WriteWith != "":
		oneOf(ps, path, k.WriteWith, WrapperLocal, WrapperVault)
	}
}

// PlatformKeys returns the platform keys, 32 bytes each. The first one encrypts new values. The section
// must have passed Validate.
func (k *Keys) PlatformKeys() [][]byte { return decodeKeys(k.Platform) }

// LocalKEKs returns the keys of the local key wrapper, 32 bytes each. The first one wraps. The section must
// have passed Validate.
func (k *Keys) LocalKEKs() [][]byte { return decodeKeys(k.Local) }

func decodeKeys(list []Secret) [][]byte {
	keys := make([][]byte, len(list))
	for i, s := range list {
		keys[i] = decodeKey(s)
	}
	return keys
}

// decodeKey decodes 32 bytes in canonical standard base64. It returns nil if s is not in
// this form.
func decodeKey(s Secret) []byte {
	key, err := base64.StdEncoding.Strict().DecodeString(s.Reveal())
	if err != nil || len(key) != keySize {
		return nil
	}
	return key
}
