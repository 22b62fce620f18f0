package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app"
	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/choice"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/devvault"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/keys/transit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/quote"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

func leadCommand() *cobra.Command {
	return group("lead", "Show leads, and reveal or erase their contact data", leadShow(), leadReveal(), leadErase())
}

// leadView is a lead as commands print it, without personal data.
type leadView struct {
	LeadID        string           `json:"lead_id"`
	TransactionID string           `json:"transaction_id"`
	State         models.LeadState `json:"state"`
	Sandbox       bool             `json:"sandbox"`
	Partner       string           `json:"partner"`
	PartnerID     string           `json:"partner_id"` // the account's identifier, as in a post
	Reference     string           `json:"reference,omitempty"`
	SubID         string           `json:"sub_id,omitempty"`
	Industry      string           `json:"industry"`
	Country       string           `json:"country"`
	Payout        string           `json:"payout"`
	Currency      string           `json:"currency"`
	ReceivedAt    time.Time        `json:"received_at"`
	Key           string           `json:"key,omitempty"` // wrapper and version; absent if the key was erased or is missing
	Events        []leadEventView  `json:"events"`
}

type leadEventView struct {
	At   time.Time            `json:"at"`
	Kind models.LeadEventKind `json:"kind"`
}

func leadShow() *cobra.Command {
	c := &cobra.Command{
		Use: "show LEAD", Short: "Show a lead, without personal data",
		Args: exactly(1, "the leadId, which starts with ld_, or the transactionId, which starts with tx_"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		lead, err := leadArg(args[0])
		if err != nil {
			return err
		}
		return flags.leadData(c.Context(), func(d leadData) error {
			l, err := leads.NewReader(d.db, d.platform, flags.clock).Get(c.Context(), scope.System, lead)
			if err != nil {
				return noLead(err)
			}
			v, err := viewLead(l)
			if err != nil {
				return err
			}
			if err := d.privacy.Erasures.CheckReadable(c.Context()); err != nil {
				reason := apperr.As(err)
				if reason == nil {
					return err
				}
				v.hideErasable()
				fmt.Fprintln(c.ErrOrStderr(), "Some values are hidden, because some of them should have been erased.",
					reason.Message)
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), v)
			}
			return v.print(c.OutOrStdout())
		})
	}
	return c
}

func viewLead(l leads.Details) (v leadView, err error) {
	currency, err := money.ParseCurrency(l.Currency)
	if err != nil {
		return v, err
	}
	v = leadView{
		LeadID: id.Format(id.Lead, l.ID), TransactionID: l.TransactionID, State: l.State, Sandbox: l.Sandbox,
		Partner: l.PartnerName, PartnerID: l.Identifier, Reference: l.PartnerReference, SubID: l.SubID, Industry: l.Industry, Country: l.Country,
		Payout: money.Amount{Minor: l.PriceMinor, Currency: currency}.Decimal(), Currency: l.Currency, ReceivedAt: l.ReceivedAt,
	}
	if l.KeyWrapper != "" {
		v.Key = l.KeyWrapper + " " + l.KeyVersion
	}
	for _, e := range l.Events {
		v.Events = append(v.Events, leadEventView{e.At.UTC(), e.Kind})
	}
	return v, nil
}

// hideErasable replaces the values that an erasure deletes, as the console does.
func (v *leadView) hideErasable() {
	for _, value := range []*string{&v.TransactionID, &v.Reference, &v.SubID} {
		if *value != "" {
			*value = "hidden"
		}
	}
}

func (v leadView) print(w io.Writer) error {
	state := string(v.State)
	if v.Sandbox {
		state += ", sandbox"
	}
	rows := [][]any{
		{"transactionId", cmp.Or(v.TransactionID, "erased")}, {"status", state}, {"partner", v.Partner},
		{"partnerId", v.PartnerID}, {"reference", v.Reference}, {"subId", v.SubID}, {"industry", v.Industry},
		{"country", v.Country}, {"payout", v.Payout + " " + v.Currency}, {"received", v.ReceivedAt.Format(time.RFC3339)},
		{"key", v.keyText()},
	}
	for _, e := range v.Events {
		rows = append(rows, []any{e.Kind, e.At.Format(time.RFC3339)})
	}
	return printTable(w, "lead\t"+v.LeadID, rows)
}

func (v leadView) keyText() string {
	switch {
	case v.Key != "":
		return v.Key
	case v.State == models.LeadErased:
		return "erased"
	}
	return "missing"
}

func leadReveal() *cobra.Command {
	c := &cobra.Command{
		Use: "reveal LEAD", Short: "Print one field of a lead's contact record, and record why",
		Args: exactly(1, "the leadId, which starts with ld_, or the transactionId, which starts with tx_"),
	}
	flags := newDBFlags(c)
	field := c.Flags().String("field", "", "the `FIELD` to print: "+list(reveal.Fields))
	reason := c.Flags().String("reason", "", "the `REASON`: "+list(reveal.Reasons))
	note := c.Flags().String("note", "", "a note about the reason; required if the reason is \"other\"")
	c.RunE = func(c *cobra.Command, args []string) error {
		lead, err := leadArg(args[0])
		if err != nil {
			return err
		}
		if *field == "" || *reason == "" {
			return usageError{errors.New("--field and --reason are required")}
		}
		return flags.privacy(c.Context(), func(s privacy.Services) error {
			value, err := s.Reveals.Reveal(c.Context(), scope.System, reveal.NewReveal{
				Lead: lead, Field: models.ContactField(*field), Reason: models.RevealReason(*reason), Note: *note,
			})
			if err != nil {
				return noLead(err)
			}
			if value == "" {
				fmt.Fprintln(c.ErrOrStderr(), "The partner did not send this field.")
				return nil
			}
			fmt.Fprintln(c.OutOrStdout(), printable(value))
			return nil
		})
	}
	return c
}

// receiptView is the receipt for the erasure of a lead, as commands print it.
type receiptView struct {
	LeadID   string     `json:"lead_id"`
	Receipt  string     `json:"receipt"`   // the hash of the journal's entry, in hexadecimal
	ErasedAt *time.Time `json:"erased_at"` // null while the erasure is pending
}

// erasureView is a receipt with the details of the journal's entry.
type erasureView struct {
	receiptView
	Entry  int64                `json:"entry"` // of the journal
	Reason models.ErasureReason `json:"reason"`
	By     string               `json:"by"`
}

func viewReceipt(r erasure.Receipt) receiptView {
	v := receiptView{LeadID: id.Format(id.Lead, r.Lead), Receipt: r.Hash.String()}
	if !r.ErasedAt.IsZero() {
		v.ErasedAt = &r.ErasedAt
	}
	return v
}

func viewErasure(r erasure.Receipt) erasureView {
	return erasureView{viewReceipt(r), r.Sequence, r.Reason, r.By}
}

func leadErase() *cobra.Command {
	c := &cobra.Command{
		Use: "erase LEAD", Short: "Permanently erase the personal data of a lead",
		Long: `Permanently erase the personal data of a lead: its contact record, key, lookup digests, postcodes,
consent details, ping and notes. The lead's ID, price, ledger entries, and the fact and time of consent
stay. This cannot be undone. The command shows the lead and asks for confirmation, unless --yes is set.
Afterwards it names the partner that must be notified.`,
		Args: exactly(1, "the leadId, which starts with ld_, or the transactionId, which starts with tx_"),
	}
	flags, asJSON := newDBFlags(c), jsonFlag(c)
	reason := c.Flags().String("reason", "", "the `REASON`: "+list(erasure.Reasons))
	note := c.Flags().String("note", "",
		"a note about the reason, which must not identify the consumer; required for the reason other")
	yes := yesFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		lead, err := leadArg(args[0])
		if err != nil {
			return err
		}
		if *reason == "" {
			return usageError{errors.New("--reason is required")}
		}
		planned, err := erasure.NewErasure{Lead: lead, Reason: models.ErasureReason(*reason), Note: *note}.Check()
		if err != nil {
			return err
		}
		return flags.leadData(c.Context(), func(d leadData) error {
			l, err := leads.NewReader(d.db, d.platform, d.clock).Get(c.Context(), scope.System, lead)
			if err != nil {
				return noLead(err)
			}
			if err := confirm(c, *yes, fmt.Sprintf("This erases the personal data of the lead %s from %s, received at %s.",
				args[0], l.PartnerName, l.ReceivedAt.Format(time.RFC3339))); err != nil {
				return err
			}
			r, err := d.privacy.Erasures.Erase(c.Context(), scope.System, planned)
			if err != nil {
				return noLead(err)
			}
			v := viewReceipt(r)
			if erasure.MustNotify(r.Reason, l.PartnerID) {
				fmt.Fprintf(c.ErrOrStderr(), "Notify the partner %s of the erasure: %s has its own copy of this lead.\n",
					id.Format(id.Partner, l.PartnerID), l.PartnerName)
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), v)
			}
			fmt.Fprintf(c.OutOrStdout(), "Erased %s at %s. Receipt: %s\n", v.LeadID, v.ErasedAt.Format(time.RFC3339), v.Receipt)
			return nil
		})
	}
	return c
}

// printable replaces control characters except newlines and tabs. Otherwise, text from a partner could
// control the terminal.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// list formats the codes that can be chosen, such as "email, name or phone".
func list[C ~string](all choice.List[C]) string {
	var codes []string
	for _, erasure := range all {
		codes = append(codes, string(erasure.Code))
	}
	last := len(codes) - 1
	return strings.Join(codes[:last], ", ") + " or " + codes[last]
}

func leadArg(text string) (uuid.UUID, error) {
	lead, err := quote.ParseLead(text)
	if err != nil {
		return lead, usageError{errors.New(
			"not a lead ID: enter a leadId, which starts with ld_, or a transactionId, which starts with tx_")}
	}
	return lead, nil
}

// noLead replaces the message of a NotFound error with "No lead has this ID."
func noLead(err error) error {
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return apperr.New(f.Code, f.Reason, "No lead has this ID.")
	}
	return err
}

// privacy opens the database and the keys for decrypting leads, and passes the services that use them to the
// given function.
func (r *dbFlags) privacy(ctx context.Context, use func(privacy.Services) error) error {
	return r.leadData(ctx, func(d leadData) error { return use(d.privacy) })
}

// leadData contains what commands need to read the personal data of leads.
type leadData struct {
	cfg      *config.Config
	db       *postgres.DB
	platform *keyring.Keys
	clock    clock.System
	privacy  privacy.Services
}

// leadData opens the database and the keys for reading, and passes them to the given function. It also
// reads the given sections of the configuration.
func (r *dbFlags) leadData(ctx context.Context, use func(leadData) error, more ...config.Section) error {
	cfg, running, err := r.load(append(more, config.SectionDatabase, config.SectionKeys, config.SectionVault, config.SectionPrivacy, config.SectionRetention)...)
	if err != nil {
		return err
	}
	if running != nil {
		useKeysOf(running, cfg, devvault.Serve)
	}
	db, platform, err := open(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close()
	keys, err := app.OpenKeysUnpooled(cfg, transit.NewAttempts(db, platform), r.clock)
	if err != nil {
		return err
	}
	j, err := app.OpenJournal(cfg.Privacy)
	if err != nil {
		return err
	}
	p := app.NewPrivacy(cfg, db, newQueue(db, r.clock), keys.Readers, platform, j, nil, r.clock).By(audit.Operator)
	return use(leadData{cfg, db, platform, r.clock, p})
}
