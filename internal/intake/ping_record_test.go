package intake

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// fields splits a row of Postgres's binary COPY format into its columns. A nil column is
// null.
func fields(t interface{ Fatalf(string, ...any) }, row []byte) [][]byte {
	n := int(binary.BigEndian.Uint16(row))
	row = row[2:]
	var out [][]byte
	for range n {
		size := int32(binary.BigEndian.Uint32(row))
		row = row[4:]
		if size < 0 {
			out = append(out, nil)
			continue
		}
		out, row = append(out, row[:size:size]), row[size:]
	}
	if len(row) != 0 {
		t.Fatalf("%d bytes after the last column", len(row))
	}
	return out
}

func TestAppendPing(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 678_901_234, time.UTC)
	transaction := uuid.MustParse("00112233-4455-7677-8899-aabbccddeeff")
	request := uuid.MustParse("00112233-4455-7677-8899-000000000001")
	row := appendPing(nil, &PingRecord{
		Quote: quote.Quote{
			ID: transaction, Price: money.Amount{Minor: 4560, Currency: money.EUR}, Country: [2]byte{'F', 'R'},
			TermID: 1072, Postcode: "75001", CardVersion: 7, Sandbox: true,
		},
		Request: request, IssuedAt: at, Urgency: "dès demain", Outcome: "priced", Took: 42 * time.Microsecond,
	})
	got := fields(t, row)
	if len(got) != pingColumns {
		t.Fatalf("%d columns, want %d", len(got), pingColumns)
	}
	micros := binary.BigEndian.AppendUint64(nil, uint64(at.UnixMicro()-postgresEpoch.UnixMicro()))
	for i, want := range [][]byte{
		transaction[:], micros, nil, {1}, {0, 0, 4, 48}, []byte("FR"), []byte("75001"), []byte("dès demain"), {}, {},
		[]byte("priced"), {0, 0, 0, 0, 0, 0, 17, 208}, []byte("EUR"), {0, 0, 0, 7}, request[:], {0, 0, 0, 42},
	} {
		if !bytes.Equal(got[i], want) || (got[i] == nil) != (want == nil) {
			t.Errorf("column %d: got %v, want %v", i+1, got[i], want)
		}
	}
}

// A duration above the column's maximum of 35 minutes is stored as that maximum.
func TestAppendPingLimitsTheDuration(t *testing.T) {
	t.Parallel()
	got := fields(t, appendPing(nil, &PingRecord{IssuedAt: postgresEpoch, Took: time.Hour}))
	if took := binary.BigEndian.Uint32(got[pingColumns-1]); took != math.MaxInt32 {
		t.Errorf("one hour: got %d µs", took)
	}
}

// No text that a partner sends can shift the columns after it.
func TestAppendPingKeepsColumnsApart(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String()
		p := PingRecord{
			IssuedAt: postgresEpoch,
			Urgency:  text.Draw(t, "urgency"),
			JobType:  text.Draw(t, "job type"),
			Budget:   text.Draw(t, "budget"),
		}
		p.Quote.Postcode = text.Draw(t, "postcode")
		got := fields(t, appendPing(nil, &p))
		for i, want := range []string{p.Quote.Postcode, p.Urgency, shortened(p.JobType), shortened(p.Budget)} {
			if string(got[6+i]) != want {
				t.Fatalf("column %d: got %q, want %q", 7+i, got[6+i], want)
			}
		}
		for _, text := range []string{p.JobType, p.Budget} {
			short := shortened(text)
			if !strings.HasPrefix(text, short) || !utf8.ValidString(short) || len(short) > 64 ||
				len(short) < min(len(text), 64-utf8.UTFMax+1) {
				t.Fatalf("shortened(%q) = %q", text, short)
			}
		}
	})
}

// A batch is copied unchanged, in parts of limited size, with a pause between parts.
func TestBatchIsCopiedInParts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		batch := bytes.Repeat([]byte("ping"), rapid.IntRange(0, copyPart).Draw(t, "quarters of the batch"))
		space := make([]byte, rapid.IntRange(copyPart/4, 4*copyPart).Draw(t, "space"))
		pauses, reads := 0, 0
		p := &pacedReader{of: bytes.NewReader(batch), between: func() { pauses++ }}
		var got []byte
		for {
			n, err := p.Read(space)
			if n > copyPart {
				t.Fatalf("got a part of %d bytes", n)
			}
			got = append(got, space[:n]...)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			reads++
		}
		if !bytes.Equal(got, batch) {
			t.Fatalf("got %d bytes of %d, or different bytes", len(got), len(batch))
		}
		if pauses != max(0, reads-1) {
			t.Fatalf("got %d pauses for %d parts", pauses, reads)
		}
	})
}

func TestRecorderSkipsPausesWhenBehind(t *testing.T) {
	t.Parallel()
	r := NewRecorder(nil, nil, 0, nil)
	for range recorderBatch - 1 {
		r.Offer(PingRecord{})
	}
	if r.hurried() {
		t.Error("hurried() = true while the next batch fills")
	}
	r.Offer(PingRecord{})
	if !r.hurried() {
		t.Error("hurried() = false with a complete batch")
	}
	r.take(nil)
	if r.hurried() {
		t.Error("hurried() = true without rows")
	}
	r.closed = true
	if !r.hurried() {
		t.Error("hurried() = false at shutdown")
	}
}

// The two free-text columns of a row are truncated to at most 64 bytes, at a character boundary.
func TestAppendPingShortensFreeTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "",
		"repair":                       "repair",
		strings.Repeat("a", 64):        strings.Repeat("a", 64),
		strings.Repeat("a", 65):        strings.Repeat("a", 64),
		strings.Repeat("é", 256):       strings.Repeat("é", 32),
		"a" + strings.Repeat("é", 256): "a" + strings.Repeat("é", 31),
		strings.Repeat("東", 256):       strings.Repeat("東", 21),
		strings.Repeat("🚰", 256):       strings.Repeat("🚰", 16),
		strings.Repeat("\x80", 256):    "", // not UTF-8
	} {
		row := fields(t, appendPing(nil, &PingRecord{JobType: text, Budget: text}))
		if string(row[8]) != want || string(row[9]) != want {
			t.Errorf("got %q and %q for %q, want %q", row[8], row[9], text, want)
		}
	}
}
