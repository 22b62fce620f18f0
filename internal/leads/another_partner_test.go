package leads_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pingpost/pingpost/internal/leads"
)

// inactive reports whether a post was not stored because its sender or secret is not active.
func inactive(err error) bool {
	return errors.Is(err, leads.ErrInactive) || errors.Is(err, leads.ErrInactiveSecret)
}

// A delivery with another partner's secret or account stores nothing, even if all of them are
// active. The statement makes the final check (decision 21).
func TestDeliverRejectsAnotherPartnersAccountOrSecret(t *testing.T) {
	t.Parallel()
	p := platform(t)
	for name, change := range map[string]func(*leads.Delivery){
		"another partner's secret":            func(d *leads.Delivery) { d.Lead.SecretID = &p.Off.SecretID },
		"another partner's account":           func(d *leads.Delivery) { d.Lead.AccountID = p.Off.Accounts[0].ID },
		"another partner's account, unsigned": func(d *leads.Delivery) { d.Lead.AccountID, d.Lead.SecretID = p.Off.Accounts[0].ID, nil },
		"another partner's account and secret": func(d *leads.Delivery) {
			d.Lead.AccountID, d.Lead.SecretID = p.Off.Accounts[0].ID, &p.Off.SecretID
		},
		"another partner": func(d *leads.Delivery) { d.Lead.PartnerID = p.Off.ID },
	} {
		t.Run(name, func(t *testing.T) {
			d := delivery(p, p.Required)
			change(d)
			d.Lead.HMACVerified = d.Lead.SecretID != nil
			if _, isNew, err := p.Leads.Deliver(t.Context(), d); !inactive(err) || isNew {
				t.Errorf("got stored %v and error %v, want that the sender is not active", isNew, err)
			}
			if got := stored(t, p); got != "0/0/0/0" {
				t.Errorf("stored %s rows, want 0/0/0/0", got)
			}
		})
	}
	unchanged := delivery(p, p.Required)
	if _, isNew, err := p.Leads.Deliver(t.Context(), unchanged); err != nil || !isNew {
		t.Errorf("a valid delivery: got stored %v and error %v", isNew, err)
	}
}

// Posts from several senders that share a statement are checked independently.
func TestGroupChecksEachSender(t *testing.T) {
	t.Parallel()
	p := platform(t)
	const posts = 300
	inParallel(t, posts, func(i int) error {
		d, active := delivery(p, p.Required), true
		switch i % 5 {
		case 1:
			d = delivery(p, p.Off)
		case 2: // unsigned
			d = delivery(p, p.Off)
			d.Lead.SecretID = nil
		case 3:
			d.Lead.SecretID, active = &p.Off.SecretID, false
		case 4:
			d.Lead.AccountID, active = p.Off.Accounts[0].ID, false
		}
		d.Lead.HMACVerified = d.Lead.SecretID != nil
		switch _, isNew, err := p.Leads.Deliver(t.Context(), d); {
		case active && (err != nil || !isNew):
			return fmt.Errorf("post %d from an active sender: stored %v, %w", i, isNew, err)
		case !active && !inactive(err):
			return fmt.Errorf("post %d with another partner's account or secret: stored %v, %w", i, isNew, err)
		}
		return nil
	})
	if got := stored(t, p); got != "180/180/180/180" {
		t.Errorf("stored %s rows, want 180 (three of five)", got)
	}
}
