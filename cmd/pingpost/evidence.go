package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/evidence"
	"github.com/pingpost/pingpost/internal/evidence/pack"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/payouts"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/config"
	"github.com/pingpost/pingpost/internal/platform/keys/keyring"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

func evidenceCommand() *cobra.Command {
	return group("evidence", "Create and verify evidence packs", evidenceCreate(), evidenceVerify(), evidenceRotateKey(),
		evidenceRevokeKey())
}

func evidenceCreate() *cobra.Command {
	c := &cobra.Command{
		Use: "create LEAD", Short: "Create a signed file with the facts about a lead",
		Long: `Create an evidence pack: a signed ZIP file with the facts about a lead as JSON and as a page. It
contains no contact data, unless you use --contact. The audit log records the pack.`,
		Args: exactly(1, "the leadId, which starts with ld_, or the transactionId, which starts with tx_"),
	}
	flags := newDBFlags(c)
	output := c.Flags().String("output", "", "the `FILE` to create; an existing file is not overwritten")
	disputed := c.Flags().String("return", "", "the `ID` of the disputed return, which starts with rt_")
	contact := c.Flags().Bool("contact", false,
		"include the contact fields that were revealed on the command line in the last 24 hours")
	c.RunE = func(c *cobra.Command, args []string) error {
		lead, err := leadArg(args[0])
		if err != nil {
			return err
		}
		r := evidence.Request{Lead: lead, Amounts: true, Contact: *contact, Events: audit.Everything}
		if *disputed != "" {
			if r.Return, err = id.Parse(id.Return, *disputed); err != nil || r.Return == uuid.Nil {
				return usageError{errors.New("not a return ID: enter rt_ followed by 26 letters and digits")}
			}
		}
		if *output == "" {
			return usageError{errors.New("--output is required")}
		}
		return flags.leadData(c.Context(), func(d leadData) error {
			// The pack is recorded when it is created, so find out first whether it can be saved.
			file, err := os.OpenFile(*output, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return fmt.Errorf("creating the file: %w", err)
			}
			content, err := d.evidence().By(audit.Operator).Create(c.Context(), scope.System, r)
			if err == nil {
				_, err = file.Write(content)
			}
			if err = errors.Join(err, file.Close()); err != nil {
				return errors.Join(noLead(err), os.Remove(*output))
			}
			fmt.Fprintf(c.OutOrStdout(), "Created %s with the evidence for %s\n", *output, id.Format(id.Lead, lead))
			return nil
		}, config.SettingPublicURL)
	}
	return c
}

// evidence returns the service that creates evidence packs.
func (d leadData) evidence() *evidence.Service {
	queue := newQueue(d.db, d.clock)
	return evidence.NewService(evidence.Deps{
		DB: d.db, Clock: d.clock, Keys: evidence.NewKeys(d.db, d.platform, d.clock), Audit: audit.New(d.db, d.clock),
		Leads:    leads.NewReader(d.db, d.platform, d.clock),
		Payouts:  payouts.NewService(d.db, d.clock, queue, blobstore.NewStore(d.db, d.platform, d.clock), payouts.Policy{}),
		Erasures: d.privacy.Erasures, Reveals: d.privacy.Reveals, URL: d.cfg.HTTP.PublicURL,
	})
}

// verifiedView is the result of verifying a pack, as commands print it.
type verifiedView struct {
	LeadID      string    `json:"lead_id"`
	CreatedAt   time.Time `json:"created_at"`
	CreatedBy   string    `json:"created_by"`
	Key         string    `json:"key"`
	Contact     bool      `json:"contact"` // whether the pack contains contact data
	AuditEvents int       `json:"audit_events"`
	AuditHead   string    `json:"audit_head"`
}

func evidenceVerify() *cobra.Command {
	c := &cobra.Command{
		Use: "verify FILE", Short: "Check that an evidence pack is unchanged and was signed by a platform",
		Long: `Check that an evidence pack is unchanged and was signed by a platform. This needs no database, only the
platform's public keys. Take the URL of the keys from a source that you trust, not from the pack.`,
		Args: exactly(1, "the evidence pack"),
	}
	asJSON := jsonFlag(c)
	source := c.Flags().String("key", "",
		"the platform's public keys: a `URL` that ends with "+pack.KeyPath+", or a file with its content")
	c.RunE = func(c *cobra.Command, args []string) error {
		if *source == "" {
			return usageError{errors.New("--key is required")}
		}
		content, err := readFile(args[0], pack.MaxSize)
		if err != nil {
			return err
		}
		keys, err := publicKeys(c.Context(), *source)
		if err != nil {
			return err
		}
		verified, err := pack.Verify(content, keys)
		if err != nil {
			return err
		}
		d := verified.Document
		v := verifiedView{
			d.Lead.ID, d.CreatedAt, d.CreatedBy, verified.Key.ID, len(d.Contact) > 0, len(d.Audit.Events), d.Audit.Head,
		}
		if *asJSON {
			return printJSON(c.OutOrStdout(), v)
		}
		fmt.Fprintln(c.OutOrStdout(),
			"The evidence pack is valid: its signature is correct, and its contents have not been changed.")
		return printTable(c.OutOrStdout(), "lead\t"+v.LeadID, [][]any{
			{"created", v.CreatedAt.Format(time.RFC3339) + " by " + printable(v.CreatedBy)}, {"key", v.Key},
			{"contact data", map[bool]string{true: "included", false: "not included"}[v.Contact]},
			{"audit events", fmt.Sprintf("%d, each matches its hash", v.AuditEvents)}, {"audit log head", v.AuditHead},
		})
	}
	return c
}

// readFile reads a file. It returns an error if the file has more bytes than the parameter most allows.
func readFile(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(content)) > most {
		err = pack.ErrTooLarge
	}
	return content, err
}

const (
	// maxKeys is the maximum size of the public keys in bytes.
	maxKeys     = 1 << 20
	keysTimeout = 10 * time.Second
)

var errKeys = apperr.New(apperr.Invalid, "public_keys",
	"The public keys cannot be read. Enter a URL that starts with https:// and ends with /.well-known/pingpost-evidence-key, or a file with the content of that URL.")

// publicKeys reads the public keys from a URL or a file.
func publicKeys(ctx context.Context, source string) ([]pack.PublicKey, error) {
	read := func() ([]byte, error) { return readFile(source, maxKeys) }
	if strings.Contains(source, "://") {
		read = func() ([]byte, error) { return download(ctx, source) }
	}
	text, err := read()
	if err != nil {
		return nil, fmt.Errorf("reading the public keys: %w", err)
	}
	keys, err := pack.ParseKeys(text)
	if err != nil {
		return nil, errKeys.WithCause(err)
	}
	return keys, nil
}

// download gets the public keys from a URL. It accepts HTTP only from this machine, because otherwise anyone on the
// network path could replace the keys.
func download(ctx context.Context, source string) ([]byte, error) {
	u, err := url.Parse(source)
	if err != nil || u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return nil, errKeys
	}
	ctx, cancel := context.WithTimeout(ctx, keysTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source, nil)
	if err != nil {
		return nil, errKeys
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server responded with status %d", answer.StatusCode)
	}
	return io.ReadAll(io.LimitReader(answer.Body, maxKeys))
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func evidenceRotateKey() *cobra.Command {
	c := &cobra.Command{
		Use: "rotate-key", Short: "Create a new key that signs evidence packs",
		Long: `Create a new key that signs evidence packs. The previous private key is deleted. Its public key stays
published, so that older packs can still be verified.`,
		Args: noArgs,
	}
	flags := newDBFlags(c)
	c.RunE = func(c *cobra.Command, _ []string) error {
		return flags.open(c.Context(), func(db *postgres.DB, keys *keyring.Keys) error {
			kid, err := evidence.NewKeys(db, keys, flags.clock).By(audit.Operator).Rotate(c.Context())
			if err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "New evidence packs are signed with key %s\n", kid)
			return nil
		})
	}
	return c
}

func evidenceRevokeKey() *cobra.Command {
	c := &cobra.Command{
		Use: "revoke-key KEY", Short: "Mark a key as stolen, so that packs signed after the theft are not valid",
		Long: `Mark an evidence key as stolen. The published keys then contain the time of the theft, and
"pingpost evidence verify" rejects packs that were signed with the key after this time. If the key is the
active one, it is replaced. A revocation cannot be withdrawn. To make its time earlier, run the command again.
An ID can start with a hyphen, so write -- before it, after all flags.`,
		Example: "  pingpost evidence revoke-key --since 2026-01-20T09:00:00Z -- Yw0f3nX5…",
		Args:    exactly(1, "the key's ID, as in the published keys"),
	}
	flags := newDBFlags(c)
	since := c.Flags().String("since", "",
		"when the key was stolen, at the earliest: a `TIME` such as 2026-01-20T09:00:00Z")
	c.RunE = func(c *cobra.Command, args []string) error {
		at, err := time.Parse(time.RFC3339, *since)
		if err != nil {
			return usageError{errors.New("--since: enter a time such as 2026-01-20T09:00:00Z")}
		}
		return flags.open(c.Context(), func(db *postgres.DB, keys *keyring.Keys) error {
			if err := evidence.NewKeys(db, keys, flags.clock).By(audit.Operator).Revoke(c.Context(), args[0], at); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "Evidence packs that were signed with key %s after %s are not valid\n", args[0],
				at.UTC().Format(time.RFC3339))
			return nil
		})
	}
	return c
}
