package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/app/privacy"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

func personCommand() *cobra.Command {
	return group("person", "Find, export or erase the data of a consumer", personFind(), personExport(), personErase())
}

// termHelp explains how a person is specified.
const termHelp = "The email address or phone number is read from standard input, so that it does not appear in the\nprocess list or in the shell's history."

// termFlags are the flags that specify a person.
type termFlags struct{ by, country string }

func newTermFlags(c *cobra.Command) *termFlags {
	f := &termFlags{}
	c.Flags().StringVar(&f.by, "by", "email", "find the person by `WHAT`: email or phone")
	c.Flags().StringVar(&f.country, "country", "",
		"the two-letter `COUNTRY` of a phone number that does not start with +, such as GB (UK is read as GB, and EL as GR)")
	return f
}

// read reads the email address or phone number from standard input.
func (f *termFlags) read(c *cobra.Command) (p leads.Person, err error) {
	what := "email address"
	if f.by == "phone" {
		what = "phone number"
	}
	if f.by != "email" && f.by != "phone" {
		return p, usageError{errors.New("--by must be email or phone")}
	}
	term, err := readLine(c.InOrStdin(), what)
	if err != nil {
		return p, err
	}
	if f.by == "email" {
		return leads.Person{Email: strings.TrimSpace(term)}, nil
	}
	return leads.Person{Phone: strings.TrimSpace(term), Country: strings.ToUpper(f.country)}, nil
}

// personLeadView is one of a person's leads, as commands print it.
type personLeadView struct {
	LeadID  string `json:"lead_id"`
	Partner string `json:"partner"` // id
}

func personFind() *cobra.Command {
	c := &cobra.Command{
		Use: "find", Short: "List a person's leads across all partners, newest first", Args: noArgs,
		Long:    "List a person's leads across all partners, newest first. " + termHelp,
		Example: "  pingpost person find --by email < address.txt",
	}
	flags, asJSON, term := newDBFlags(c), jsonFlag(c), newTermFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		person, err := term.read(c)
		if err != nil {
			return err
		}
		return flags.privacy(c.Context(), func(s privacy.Services) error {
			found, err := s.Reveals.FindPerson(c.Context(), person)
			if err != nil {
				return err
			}
			views := make([]personLeadView, len(found))
			rows := make([][]any, len(found))
			for i, l := range found {
				views[i] = personLeadView{id.Format(id.Lead, l.ID), id.Format(id.Partner, l.Partner)}
				rows[i] = []any{views[i].LeadID, views[i].Partner}
			}
			if *asJSON {
				return printJSON(c.OutOrStdout(), views)
			}
			if len(rows) == 0 {
				fmt.Fprintln(c.OutOrStdout(), "No leads found.")
				return nil
			}
			return printTable(c.OutOrStdout(), "lead\tpartner", rows)
		})
	}
	return c
}

// requestFlags are the flags of a privacy request that a command creates.
type requestFlags struct {
	*termFlags
	identity, note, reference, received string
	law                                 string
	differing                           bool  // continue although leads may be about several people
	yes                                 *bool // the flag --yes of an erasure; nil for an export
}

func newRequestFlags(c *cobra.Command) *requestFlags {
	f := &requestFlags{termFlags: newTermFlags(c)}
	c.Flags().StringVar(&f.identity, "identity", "", "how the consumer's identity was checked, `HOW`: "+
		list(requests.IdentityChecks))
	c.Flags().StringVar(&f.note, "note", "",
		"a note about the check, which must not identify the consumer; required if --identity is other")
	c.Flags().StringVar(&f.reference, "reference", "",
		"a reference, such as a case number, which must not identify the consumer")
	c.Flags().StringVar(&f.law, "law", "",
		"the `LAW` that applies: "+list(requests.Laws)+" (default: the setting privacy.law)")
	c.Flags().BoolVar(&f.differing, "include-differing", false,
		"continue even if leads have different email addresses and phone numbers")
	c.Flags().StringVar(&f.received, "received", "",
		"the `DAY` on which the request was received, such as 2026-01-31 (default: today, UTC)")
	return f
}

// create creates the privacy request. If no leads were found, it also closes the request.
func (f *requestFlags) create(
	ctx context.Context, s *requests.Service, kind models.PrivacyRequestKind, person leads.Person, now time.Time,
) (requests.Request, error) {
	received := now.UTC().Truncate(24 * time.Hour)
	if f.received != "" {
		var err error
		if received, err = time.Parse(time.DateOnly, f.received); err != nil {
			return requests.Request{}, usageError{errors.New("--received must be a day, such as 2026-01-31")}
		}
	}
	created, err := s.Create(ctx, requests.NewRequest{
		Kind: kind, Law: models.PrivacyLaw(f.law), Reference: f.reference, ReceivedOn: received, Person: person,
		Identity: requests.Identity{Check: models.IdentityCheck(f.identity), Note: f.note},
	})
	if err != nil {
		return requests.Request{}, err
	}
	r, err := s.Request(ctx, created.ID)
	if err == nil && r.Leads == 0 {
		err = s.Close(ctx, r.ID, requests.Closing{Outcome: models.OutcomeNothingFound})
	}
	return r, err
}

// run creates a request and, if leads were found, calls fulfil.
func (f *requestFlags) run(
	c *cobra.Command, flags *dbFlags, kind models.PrivacyRequestKind,
	fulfil func(s *requests.Service, r requests.Request) (any, string, error), asJSON bool,
) error {
	if f.identity == "" {
		return usageError{errors.New("--identity is required")}
	}
	person, err := f.read(c)
	if err != nil {
		return err
	}
	return flags.privacy(c.Context(), func(s privacy.Services) error {
		confirmed := 0
		if f.yes != nil {
			var err error
			if confirmed, err = confirmPerson(c, s.Reveals, *f.yes, person); err != nil {
				return err
			}
		}
		r, err := f.create(c.Context(), s.Requests, kind, person, flags.clock.Now())
		if err != nil {
			return err
		}
		fmt.Fprintf(c.ErrOrStderr(), "Created the privacy request %s.\n", requests.ID(r.ID))
		if f.yes != nil && r.Leads != confirmed {
			return fmt.Errorf("nothing was erased, because there are now %s. Check the privacy request in the console",
				counted(int64(r.Leads), "lead"))
		}
		if r.Differ > 0 && !f.differing {
			return fmt.Errorf("nothing was exported or erased, because leads that may be about someone else were found: %d. Check the leads of this privacy request "+
				"in the console and continue there. If all are the consumer's, you can also close the request and run the command again with --include-differing", r.Differ)
		}
		view, text := any(requestView{Request: requests.ID(r.ID)}), "No leads found.\n"
		if r.Leads > 0 {
			if view, text, err = fulfil(s.Requests, r); err != nil {
				return err
			}
		}
		if asJSON {
			return printJSON(c.OutOrStdout(), view)
		}
		_, err = io.WriteString(c.OutOrStdout(), text)
		return err
	})
}

// confirmPerson shows the leads that an erasure will erase. If there are any, it asks the user to confirm
// the erasure. It returns the number of leads.
func confirmPerson(c *cobra.Command, s *reveal.Service, yes bool, person leads.Person) (int, error) {
	found, err := s.FindPerson(c.Context(), person)
	if err != nil || len(found) == 0 {
		return 0, err
	}
	var what strings.Builder
	fmt.Fprintf(&what, "This erases the personal data of %s:", counted(int64(len(found)), "lead"))
	for _, l := range found {
		fmt.Fprintf(&what, "\n  %s of the partner %s", id.Format(id.Lead, l.ID), id.Format(id.Partner, l.Partner))
	}
	return len(found), confirm(c, yes, what.String())
}

// requestView is the result of an export or erasure, as commands print it.
type requestView struct {
	Request    string        `json:"request"`
	Leads      int           `json:"leads"`
	Held       int           `json:"held,omitempty"` // not erased, because they are under a legal hold
	Passphrase string        `json:"passphrase,omitempty"`
	Receipts   []erasureView `json:"receipts,omitempty"`
	ToNotify   []noticeView  `json:"partners_to_notify,omitempty"` // of the erasure
}

// noticeView is a partner to notify of an erasure, as commands print it.
type noticeView struct {
	Partner string `json:"partner"` // id
	Leads   int    `json:"leads"`
}

func personExport() *cobra.Command {
	c := &cobra.Command{
		Use: "export", Short: "Export a person's data to an encrypted ZIP file, and print its passphrase", Args: noArgs,
		Long: "Export the data of a person's leads at all partners to a ZIP file that is encrypted with AES-256, and\nprint its passphrase, which is not stored. " +
			"The command creates a privacy request, which records the export.\n" + termHelp,
		Example: "  pingpost person export --by email --identity reply --output data.zip < address.txt",
	}
	flags, asJSON, f := newDBFlags(c), jsonFlag(c), newRequestFlags(c)
	output := c.Flags().String("output", "", "write the ZIP file to `FILE`, which must not exist")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *output == "" {
			return usageError{errors.New("--output is required")}
		}
		file, err := os.OpenFile(*output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return usageError{fmt.Errorf("--output: %w", err)}
		}
		written := false
		defer func() {
			file.Close() //nolint:errcheck // closed before, unless another error is returned
			if !written {
				os.Remove(*output) //nolint:errcheck // an empty file
			}
		}()
		return f.run(c, flags, models.RequestAccess, func(s *requests.Service, r requests.Request) (any, string, error) {
			exported, err := s.Export(c.Context(), r.ID)
			if err != nil {
				return nil, "", err
			}
			if err := saveExport(c.Context(), s, r.ID, exported.File, file); err != nil {
				return nil, "", err
			}
			written = true
			if !s.NamesController() {
				fmt.Fprintln(c.ErrOrStderr(),
					"The export does not name the company that is responsible for the data. Set privacy.controller.")
			}
			if !s.NamesRecipients() {
				fmt.Fprintln(c.ErrOrStderr(),
					"The export describes the recipients of the data, but does not name them. Set privacy.recipients.")
			}
			return requestView{Request: requests.ID(r.ID), Leads: r.Leads, Passphrase: exported.Passphrase},
				exported.Passphrase + "\n", nil
		}, *asJSON)
	}
	return c
}

// saveExport writes the export of a request to a file, and closes the request.
func saveExport(ctx context.Context, s *requests.Service, request, file uuid.UUID, to *os.File) error {
	archive, err := s.OpenExport(ctx, request, file)
	if err != nil {
		return err
	}
	defer archive.Close()
	if _, err := io.Copy(to, archive); err != nil {
		return err
	}
	if err := to.Close(); err != nil {
		return err
	}
	return s.RecordDownload(ctx, request, file)
}

func personErase() *cobra.Command {
	c := &cobra.Command{
		Use: "erase", Short: "Permanently erase the personal data of all leads of a person", Args: noArgs,
		Long: "Permanently erase the personal data of all leads of a person at all partners. This cannot be undone.\n" +
			"The command creates a privacy request, which records the erasure. It shows the leads and asks for a\n" +
			"confirmation, unless --yes is set. Afterwards it lists the partners that must be notified.\n" + termHelp,
		Example: "  pingpost person erase --by email --identity reply --yes < address.txt",
	}
	flags, asJSON, f := newDBFlags(c), jsonFlag(c), newRequestFlags(c)
	f.yes = yesFlag(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return f.run(c, flags, models.RequestErasure, func(s *requests.Service, r requests.Request) (any, string, error) {
			if err := s.Erase(c.Context(), r.ID); err != nil {
				return nil, "", err
			}
			receipts, err := s.Receipts(c.Context(), r.ID)
			if err != nil {
				return nil, "", err
			}
			v := requestView{Request: requests.ID(r.ID), Leads: r.Leads}
			pending := 0
			for _, receipt := range receipts {
				v.Receipts = append(v.Receipts, viewErasure(receipt))
				if receipt.ErasedAt.IsZero() {
					pending++
				}
			}
			after, err := s.Request(c.Context(), r.ID)
			if err != nil {
				return nil, "", err
			}
			v.Held = after.Left()
			text := fmt.Sprintf("Erased %s.\n", counted(int64(len(receipts)-pending), "lead"))
			if pending > 0 {
				text += fmt.Sprintf("The nodes erase %s more in the background.\n", counted(int64(pending), "lead"))
			}
			if v.Held > 0 {
				text += fmt.Sprintf("Not erased: %s under a legal hold. The privacy request stays open.\n",
					counted(int64(v.Held), "lead"))
			}
			notices, err := s.Notices(c.Context(), r.ID)
			if err != nil {
				return nil, "", err
			}
			if len(notices) > 0 {
				text += "Notify these partners, and record it in the console at the request " + v.Request + ":\n"
			}
			for _, n := range notices {
				notice := noticeView{id.Format(id.Partner, n.Partner), n.Leads}
				v.ToNotify = append(v.ToNotify, notice)
				text += fmt.Sprintf("  %s, %s\n", notice.Partner, counted(int64(notice.Leads), "lead"))
			}
			return v, text, nil
		}, *asJSON)
	}
	return c
}
