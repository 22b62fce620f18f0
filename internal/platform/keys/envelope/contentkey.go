package envelope

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
)

// contentKey derives a content key from a data key and a salt, with HKDF-SHA256 (RFC 5869) and the
// constant info. The result is one block: HMAC(HMAC(salt, key), info | 0x01). contentKey uses arrays of
// fixed size, because crypto/hkdf makes twenty small allocations, which cost more than the hashing
// itself (eight SHA-256 blocks). A test compares its results with those of crypto/hkdf.
func contentKey(dataKey *[KeySize]byte, salt *[SaltSize]byte) [KeySize]byte {
	var pad [sha256.BlockSize]byte
	copy(pad[:], salt[:])
	extracted := hmacSHA256(&pad, dataKey[:])

	pad = [sha256.BlockSize]byte{}
	copy(pad[:], extracted[:])
	return hmacSHA256(&pad, infoBlock)
}

// infoBlock is the message whose HMAC is the first block of HKDF-Expand.
var infoBlock = append([]byte(info), 1)

var (
	innerPad = bytes.Repeat([]byte{0x36}, sha256.BlockSize)
	outerPad = bytes.Repeat([]byte{0x5c}, sha256.BlockSize)
)

// hmacSHA256 returns the HMAC of a message of at most one block. key must be padded with zeros to
// the length of a block.
func hmacSHA256(key *[sha256.BlockSize]byte, message []byte) [sha256.Size]byte {
	var inner [2 * sha256.BlockSize]byte
	var outer [sha256.BlockSize + sha256.Size]byte
	subtle.XORBytes(inner[:], key[:], innerPad)
	subtle.XORBytes(outer[:], key[:], outerPad)
	n := sha256.BlockSize + copy(inner[sha256.BlockSize:], message)
	sum := sha256.Sum256(inner[:n])
	copy(outer[sha256.BlockSize:], sum[:])
	return sha256.Sum256(outer[:])
}
