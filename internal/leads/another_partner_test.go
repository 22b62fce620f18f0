package leads_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/pingpost/pingpost/internal/leads"
)

// A delivery whose secret or account is another partner's stores nothing, however
// active everyone is: the statement is the last to look (decision 21).
func TestNothingUnderAnothersAccountOrSecret(t *testing.T) {
	p := platform(t)
	for name, change := range map[string]func(*leads.Delivery){
		"another's secret":            func(d *leads.Delivery) { d.Lead.SecretID = &p.Off.SecretID },
		"another's account":           func(d *leads.Delivery) { d.Lead.AccountID = p.Off.Accounts[0].ID },
		"another's account, unsigned": func(d *leads.Delivery) { d.Lead.AccountID, d.Lead.SecretID = p.Off.Accounts[0].ID, nil },
		"account and secret another's": func(d *leads.Delivery) {
			d.Lead.AccountID, d.Lead.SecretID = p.Off.Accounts[0].ID, &p.Off.SecretID
		},
		"another partner": func(d *leads.Delivery) { d.Lead.PartnerID = p.Off.ID },
	} {
		t.Run(name, func(t *testing.T) {
			d := delivery(p, p.Required)
			change(d)
			d.Lead.HMACVerified = d.Lead.SecretID != nil
			if _, isNew, err := p.Leads.Deliver(t.Context(), d); !errors.Is(err, leads.ErrInactive) || isNew {
				t.Errorf("new %v, %v", isNew, err)
			}
			if got := stored(t, p); got != "0/0/0/0" {
				t.Errorf("stored %s", got)
			}
		})
	}
	unchanged := delivery(p, p.Required)
	if _, isNew, err := p.Leads.Deliver(t.Context(), unchanged); err != nil || !isNew {
		t.Errorf("a delivery of its own: new %v, %v", isNew, err)
	}
}

// Posts of several senders that share a statement are judged each by its own.
func TestSendersOfAGroupAreKeptApart(t *testing.T) {
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
			return fmt.Errorf("post %d, whose sender is active: new %v, %w", i, isNew, err)
		case !active && !errors.Is(err, leads.ErrInactive):
			return fmt.Errorf("post %d, under another's account or secret: new %v, %w", i, isNew, err)
		}
		return nil
	})
	if got := stored(t, p); got != "180/180/180/180" {
		t.Errorf("stored %s: three of five", got)
	}
}
