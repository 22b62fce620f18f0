package evidence

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// The maximum numbers of rows in a pack.
const (
	maxEntries = 1000
	maxEvents  = 2000
)

// signatureScheme is how partners sign posts.
const signatureScheme = "HMAC-SHA256"

// document reads the facts about a lead.
func (s *Service) document(
	ctx context.Context, sc scope.Scope, r Request, l leads.Details,
) (d pack.Document, err error) {
	d = pack.Document{
		Platform: s.URL, CreatedAt: s.Clock.Now().UTC().Truncate(time.Microsecond), CreatedBy: s.by.Name,
		Lead: pack.Lead{
			ID: id.Format(id.Lead, l.ID), State: string(l.State), Sandbox: l.Sandbox,
			PartnerID: id.Format(id.Partner, l.PartnerID), PartnerName: l.PartnerName,
			AccountID: id.Format(id.Account, l.AccountID), Account: l.Identifier,
			Reference: l.PartnerReference, SubID: l.SubID,
			Industry: l.Industry, Country: l.Country, RateCardVersion: l.CardVersion,
			Price: amount(r, l.PriceMinor, l.Currency),
		},
		Times:     pack.Times{PingedAt: l.QuotedAt, QuoteExpiresAt: l.QuotedAt.Add(quote.Validity), ReceivedAt: l.ReceivedAt},
		Consent:   consent(l),
		Signature: signature(l),
		Contact:   []pack.Field{},
		Timeline:  []pack.Event{},
		Returns:   []pack.Return{},
		Reveals:   []pack.Reveal{},
		Exports:   []pack.Export{},
		Holds:     []pack.Hold{},
	}
	for _, e := range l.Events {
		event, err := timelineEvent(e)
		if err != nil {
			return d, err
		}
		d.Timeline = append(d.Timeline, event)
	}
	if err := s.addErasure(ctx, &d, l.Lead); err != nil {
		return d, err
	}
	if r.Contact {
		if err := s.addContact(ctx, sc, &d, l.ID); err != nil {
			return d, err
		}
	}
	returns, err := s.addReturns(ctx, sc, &d, r)
	if err != nil {
		return d, err
	}
	if err := s.addLedger(ctx, sc, &d, r); err != nil {
		return d, err
	}
	reveals, err := s.Reveals.RevealsOf(ctx, sc, l.ID)
	if err != nil {
		return d, err
	}
	for _, reveal := range reveals {
		d.Reveals = append(d.Reveals, pack.Reveal{
			At: reveal.At.UTC(), By: reveal.Actor, Field: string(reveal.Field), Reason: string(reveal.Reason),
		})
	}
	holds, err := s.Erasures.HoldHistory(ctx, l.ID)
	if err != nil {
		return d, err
	}
	for _, hold := range holds {
		d.Holds = append(d.Holds, pack.Hold{
			ID: id.Format(id.Hold, hold.ID), Person: hold.Person, PlacedAt: hold.PlacedAt.UTC(), PlacedBy: hold.PlacedBy,
			ReleasedAt: utc(hold.ReleasedAt), ReleasedBy: hold.ReleasedBy,
		})
	}
	if err := s.addExports(ctx, sc, &d, r); err != nil {
		return d, err
	}
	err = s.addAudit(ctx, &d, r, returns)
	return d, err
}

// amount returns an amount, or nil if the user may not see prices.
func amount(r Request, minor int64, currency string) *pack.Amount {
	if !r.Amounts {
		return nil
	}
	c, _ := money.ParseCurrency(currency) // the database contains only valid currencies
	return &pack.Amount{Amount: money.Amount{Minor: minor, Currency: c}.Decimal(), Currency: currency}
}

func consent(l leads.Details) pack.Consent {
	c := l.Consent
	doubt, _ := payload.DoubtfulConsentTime(c.AcknowledgedText != nil, c.AcknowledgedAt, l.QuotedAt)
	return pack.Consent{
		Acknowledged: c.Acknowledged, AcknowledgedAt: utc(c.AcknowledgedAt), AcknowledgedText: c.AcknowledgedText,
		AcknowledgedDoubt: string(doubt), ReceivedAt: utc(&c.ReceivedAt),
		DisclosureText: c.DisclosureText, DisclosureReplacedAt: utc(l.Disclosure.ReplacedAt), RecipientHash: c.RecipientHash,
		CertificateURL: c.FormCertURL, ThirdPartyLeadID: c.ThirdPartyLeadID,
	}
}

// detailed reports whether a consent contains any details that are erased with a lead.
func detailed(c pack.Consent) bool {
	return c.DisclosureText != nil || c.RecipientHash != nil || c.CertificateURL != nil || c.ThirdPartyLeadID != nil
}

// utc returns a time in UTC, or nil if there is none.
func utc(at *time.Time) *time.Time {
	if at == nil || at.IsZero() {
		return nil
	}
	t := at.UTC()
	return &t
}

func signature(l leads.Details) pack.Signature {
	if !l.HMACVerified || l.SecretID == nil {
		return pack.Signature{}
	}
	return pack.Signature{
		Verified: true, Scheme: signatureScheme, SecretID: id.Format(id.Secret, *l.SecretID),
		SecretLabel: l.Secret.Label, SecretPrefix: l.Secret.Prefix, SecretEnding: l.Secret.LastFour,
	}
}

func timelineEvent(e models.LeadEvent) (pack.Event, error) {
	out := pack.Event{At: e.At.UTC(), Event: string(e.Kind), Detail: map[string]string{}}
	detail, err := audit.DecodeFields(e.Detail)
	if err != nil {
		return out, fmt.Errorf("reading an event of the lead: %w", err)
	}
	for name, value := range detail {
		out.Detail[name] = fmt.Sprint(value)
	}
	return out, nil
}

// addErasure adds the receipt of an erased lead. It returns an error if the erasure is pending, or if it was
// carried out after the lead was read.
func (s *Service) addErasure(ctx context.Context, d *pack.Document, lead models.Lead) error {
	receipt, found, err := s.Erasures.ReceiptOf(ctx, lead.ID)
	if err != nil || !found {
		return err
	}
	if receipt.ErasedAt.IsZero() || lead.State != models.LeadErased || !receipt.KeepsConsent && detailed(d.Consent) {
		return errErasing
	}
	d.Erasure = &pack.Erasure{
		At: receipt.ErasedAt, By: receipt.By, Reason: string(receipt.Reason), Entry: receipt.Sequence, Receipt: receipt.Hash.String(),
		ConsentKept: receipt.KeepsConsent,
	}
	return nil
}

func (s *Service) addContact(ctx context.Context, sc scope.Scope, d *pack.Document, lead uuid.UUID) error {
	values, err := s.Reveals.By(s.by).RevealAgain(ctx, sc, lead)
	if err != nil {
		return err
	}
	for _, f := range reveal.Fields {
		if value, ok := values[f.Code]; ok {
			d.Contact = append(d.Contact, pack.Field{Field: string(f.Code), Label: f.Label, Value: value})
		}
	}
	if len(d.Contact) == 0 {
		return ErrNotRevealed
	}
	return nil
}

// addReturns adds the returns of the lead, without their notes, and returns their ids.
func (s *Service) addReturns(
	ctx context.Context, sc scope.Scope, d *pack.Document, r Request,
) (ids []string, err error) {
	rows, err := s.Payouts.ReturnsOf(ctx, sc, r.Lead)
	if err != nil {
		return nil, err
	}
	for _, row := range rows {
		name := id.Format(id.Return, row.ID)
		ids = append(ids, name)
		d.Returns = append(d.Returns, pack.Return{
			ID: name, Reason: string(row.Reason), ReasonText: payouts.ReturnReasonLabel(row.Reason), State: string(row.State),
			RequestedAt: row.RequestedAt.UTC(), RequestedBy: row.RequestedBy,
			DecidedAt: utc(row.DecidedAt), DecidedBy: row.DecidedBy,
		})
	}
	if r.Return != uuid.Nil {
		d.DisputedReturn = id.Format(id.Return, r.Return)
		if !slices.Contains(ids, d.DisputedReturn) {
			return nil, errNoReturn
		}
	}
	return ids, nil
}

// addLedger adds the ledger entries, unless the user may not see payouts.
func (s *Service) addLedger(ctx context.Context, sc scope.Scope, d *pack.Document, r Request) error {
	if !r.Amounts {
		return nil
	}
	rows, _, older, err := s.Payouts.Entries(ctx, sc, payouts.Filter{Lead: r.Lead}, postgres.Page[int64]{Size: maxEntries})
	if err != nil {
		return err
	}
	d.Ledger = &pack.Ledger{Complete: !older, Entries: []pack.Entry{}}
	for _, e := range rows {
		d.Ledger.Entries = append(d.Ledger.Entries, pack.Entry{
			ID: e.ID, At: e.OccurredAt, Kind: string(e.Kind), Reference: e.Reference, Amount: amount(r, e.AmountMinor,
				e.Currency),
		})
	}
	return nil
}

// addExports adds every export that contained data of the lead, without the ID of the privacy request if the user may
// not view privacy requests.
func (s *Service) addExports(ctx context.Context, sc scope.Scope, d *pack.Document, r Request) error {
	exports, err := s.Reveals.ExportsOf(ctx, sc, r.Lead)
	mayReadRequests := r.Events("requests").All()
	for _, e := range exports {
		export := pack.Export{At: e.At, By: e.Actor, Kind: string(e.Kind)}
		if mayReadRequests {
			export.Request = e.Request
		}
		d.Exports = append(d.Exports, export)
	}
	return err
}

// addAudit adds the audit events about the lead and its returns that the user may see.
func (s *Service) addAudit(ctx context.Context, d *pack.Document, r Request, returns []string) error {
	objects := []audit.Object{{Kind: "lead", ID: d.Lead.ID}}
	for _, ret := range returns {
		objects = append(objects, audit.Object{Kind: "return", ID: ret})
	}
	proof, err := s.Audit.Prove(ctx, r.Events, objects, maxEvents)
	if err != nil {
		return err
	}
	d.Audit = pack.Audit{
		HeadID: proof.Head.ID, Head: hex.EncodeToString(proof.Head.Hash), Complete: proof.Complete, LeftOut: proof.LeftOut, Events: []pack.AuditEvent{},
	}
	for i := range proof.Events {
		e := &proof.Events[i]
		if e.ObjectKind == "return" && e.Reason != "" && e.Outcome == models.AuditDone {
			d.Audit.Complete = false // an old event, which contains text by staff
			continue
		}
		d.Audit.Events = append(d.Audit.Events, pack.EventOf(e))
	}
	return nil
}
