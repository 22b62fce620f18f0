// Package aeszip writes ZIP archives whose files are encrypted with a passphrase. It uses AES-256 in the
// AE-2 format of WinZip, which 7-Zip, WinZip, WinRAR, Keka and bsdtar can open. The names and sizes of
// the files are not encrypted.
//
// The format derives the key with only 1,000 rounds of PBKDF2, so use passphrases from NewPassphrase.
package aeszip

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/aes"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // required by the format, and used only with HMAC
	"encoding/binary"
	"io"
	"strings"
	"time"
)

const (
	saltSize     = 16
	keySize      = 32
	verifierSize = 2
	tagSize      = 10
	rounds       = 1000

	methodAES    = 99     // compression method of encrypted files
	fieldAES     = 0x9901 // extra field with the parameters of the encryption
	versionAE2   = 2
	strengthAES  = 3 // AES-256
	flagEncrypt  = 0x1
	flagUTF8     = 0x800
	creatorUnix  = 3 << 8
	zipVersion51 = 51
)

// NewPassphrase returns a random passphrase of 125 bits, such as "ABCDE-FGHIJ-KLMNO-PQRST-UVWXY".
func NewPassphrase() string {
	text := rand.Text()
	groups := make([]string, 5)
	for i := range groups {
		groups[i] = text[5*i : 5*i+5]
	}
	return strings.Join(groups, "-")
}

// Writer writes an archive.
type Writer struct {
	zip        *zip.Writer
	passphrase string
	modified   time.Time
}

// NewWriter returns a Writer that writes to w. All files get the given time of modification.
func NewWriter(w io.Writer, passphrase string, modified time.Time) *Writer {
	return &Writer{zip.NewWriter(w), passphrase, modified}
}

// Close writes the list of files. It does not close the underlying writer.
func (w *Writer) Close() error { return w.zip.Close() }

// Add compresses, encrypts and writes a file. It holds the compressed file in memory.
func (w *Writer) Add(name string, content func(io.Writer) error) error {
	var compressed bytes.Buffer
	deflate, err := flate.NewWriter(&compressed, flate.BestSpeed)
	if err != nil {
		return err
	}
	counted := &countingWriter{to: deflate}
	if err := content(counted); err != nil {
		return err
	}
	if err := deflate.Close(); err != nil {
		return err
	}
	salt := make([]byte, saltSize)
	rand.Read(salt)
	keys, err := pbkdf2.Key(sha1.New, w.passphrase, salt, rounds, 2*keySize+verifierSize)
	if err != nil {
		return err
	}
	body := compressed.Bytes()
	if err := encrypt(body, keys[:keySize]); err != nil {
		return err
	}
	tag := hmac.New(sha1.New, keys[keySize:2*keySize])
	tag.Write(body)

	h := &zip.FileHeader{
		Name: name, Method: methodAES, Flags: flagEncrypt | flagUTF8,
		CreatorVersion: creatorUnix | zipVersion51, ReaderVersion: zipVersion51,
		UncompressedSize64: counted.size, CompressedSize64: uint64(saltSize + verifierSize + len(body) + tagSize),
		Extra: extra(),
	}
	h.SetModTime(w.modified) //nolint:staticcheck // CreateRaw ignores Modified
	to, err := w.zip.CreateRaw(h)
	if err != nil {
		return err
	}
	for _, part := range [][]byte{salt, keys[2*keySize:], body, tag.Sum(nil)[:tagSize]} {
		if _, err := to.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// encrypt encrypts text in place with AES in counter mode. The counter is little-endian and starts at 1,
// unlike that of cipher.NewCTR.
func encrypt(text, key []byte) error {
	block, err := aes.NewCipher(key)
	if err != nil {
		return err
	}
	var counter, stream [aes.BlockSize]byte
	for n := uint64(1); len(text) > 0; n++ {
		binary.LittleEndian.PutUint64(counter[:], n)
		block.Encrypt(stream[:], counter[:])
		size := min(len(text), aes.BlockSize)
		for i := range size {
			text[i] ^= stream[i]
		}
		text = text[size:]
	}
	return nil
}

// extra returns the extra field that marks a file as encrypted.
func extra() []byte {
	b := binary.LittleEndian.AppendUint16(nil, fieldAES)
	b = binary.LittleEndian.AppendUint16(b, 7) // size of the rest
	b = binary.LittleEndian.AppendUint16(b, versionAE2)
	b = append(b, "AE"...)
	b = append(b, strengthAES)
	return binary.LittleEndian.AppendUint16(b, zip.Deflate)
}

type countingWriter struct {
	to   io.Writer
	size uint64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.size += uint64(n) //nolint:gosec // not negative
	return n, err
}
