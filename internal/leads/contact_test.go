package leads_test

import (
	"bytes"
	"testing"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/keys/envelope"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/models"
)

func TestNewDeliveryEncryptsContact(t *testing.T) {
	t.Parallel()
	kek, err := envelope.NewLocal(bytes.Repeat([]byte{0xEE}, envelope.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	wrappers, keys := envelope.NewWrappers(kek), testkit.PlatformKeys(t, 1)
	post := payload.Post{
		Contact:  payload.Contact{Email: "Ann@Example.com", Name: "Ann Lee"},
		Location: payload.Location{Address: "1 High Street"},
		Notes:    "A tap drips.", Answers: []byte(`{"floor":2}`),
	}
	for phone, want := range map[string]struct {
		record, digestOf string
		flagged          bool
	}{
		"020 7946 0018":  {`{"email":"Ann@Example.com","name":"Ann Lee","phone":"020 7946 0018","phoneE164":"+442079460018","address":"1 High Street","notes":"A tap drips.","answers":{"floor":2}}`, "+442079460018", false},
		"(212) 555-0123": {`{"email":"Ann@Example.com","name":"Ann Lee","phone":"(212) 555-0123","address":"1 High Street","notes":"A tap drips.","answers":{"floor":2}}`, "2125550123", true},
		"ask for Ann":    {`{"email":"Ann@Example.com","name":"Ann Lee","phone":"ask for Ann","address":"1 High Street","notes":"A tap drips.","answers":{"floor":2}}`, "", true},
	} {
		post.Contact.Phone = phone
		key, err := wrappers.DataKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lead := models.Lead{
			ID:        id.NewV7(testkit.StartTime(), [10]byte{1}),
			PartnerID: id.NewV7(testkit.StartTime(), [10]byte{2}),
			Country:   "GB",
		}
		completed := post
		completed.Complete("GB", testkit.StartTime())
		d, err := leads.NewDelivery(lead, completed, keys, key)
		if err != nil {
			t.Fatal(err)
		}
		l := d.Lead
		plain, err := envelope.Open(envelope.Envelope{
			Ciphertext: l.Ciphertext,
			IV:         l.IV,
			AuthTag:    l.AuthTag,
			Salt:       d.Key.Salt,
			Wrapped:    d.Key.WrappedKey,
		}, key.Plain, l.ID, l.PartnerID)
		if err != nil {
			t.Fatal(err)
		}
		if string(plain) != want.record {
			t.Errorf("%q: got record %s, want %s", phone, plain, want.record)
		}
		var digest []byte
		if want.digestOf != "" {
			digest = keys.Digest(keyring.Lookup, []byte(want.digestOf))
		}
		if l.PhoneFlagged != want.flagged || !bytes.Equal(l.PhoneDigest, digest) ||
			!bytes.Equal(l.EmailDigest, keys.Digest(keyring.Lookup, []byte("ann@example.com"))) {
			t.Errorf("%q: got flagged %v, email digest %x and phone digest %x", phone, l.PhoneFlagged, l.EmailDigest, l.PhoneDigest)
		}
	}
}
