package testkit

import (
	"fmt"
	"testing"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/intake"
	"github.com/pingpost/pingpost/models"
)

func TestPlatformDelivers(t *testing.T) {
	p := NewPlatform(t)
	node := p.Intake(intake.Settings{DefaultMode: models.SigningRequired})
	for _, partner := range []Partner{p.Required, p.ReportOnly, p.Off} {
		ping, err := node.Ping(intake.PingRequest{
			ID:   uuid.New(),
			Slug: partner.Slug,
			Body: []byte(`{"industry":"plumber","postcode":"SW1A 1AA"}`),
		})
		if err != nil {
			t.Fatal(err)
		}
		body := fmt.Appendf(nil, `{"transactionId":%q,"email":"a@example.com","consent":{"acknowledged":true}}`,
			ping.TransactionID)
		post, err := node.Post(t.Context(), intake.PostRequest{
			ID:      uuid.New(),
			Slug:    partner.Slug,
			Headers: partner.Sign(p.Time.Now(), body),
			Body:    body,
		})
		if err != nil {
			t.Fatal(err)
		}
		if post.Partner != partner.ID || post.Payout != ping.Quote.Price {
			t.Errorf("%s: %s for partner %s", partner.Slug, post.Payout, post.Partner)
		}
	}
}
