package leadkit

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/requests"
	"github.com/pingpost/pingpost/models"
)

// Day returns the start of the day that is the given number of days after today.
func (k Kit) Day(days int) time.Time {
	return k.Time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, days)
}

// Request creates a privacy request for Ann's email address, with a checked identity.
func (k Kit) Request(t *testing.T, kind models.PrivacyRequestKind) uuid.UUID {
	t.Helper()
	created, err := k.Requests.Create(t.Context(), requests.NewRequest{
		Kind: kind, ReceivedOn: k.Day(0), Person: leads.Person{Email: "ann.example@EXAMPLE.com"}, Identity: requests.Identity{Check: models.IdentityReply},
	})
	if err != nil {
		t.Fatal(err)
	}
	return created.ID
}

// RequestFor creates a privacy request for leads, which need not have anything in common, with a checked identity.
func (k Kit) RequestFor(t *testing.T, kind models.PrivacyRequestKind, ids ...uuid.UUID) uuid.UUID {
	t.Helper()
	created, err := k.Requests.Create(t.Context(), requests.NewRequest{
		Kind: kind, ReceivedOn: k.Day(0), Leads: ids[:1], Identity: requests.Identity{Check: models.IdentityReply},
	})
	if err == nil && len(ids) > 1 {
		err = k.Requests.AddLeads(t.Context(), created.ID,
			requests.Addition{Leads: ids[1:], Exception: models.ExceptionProved})
		if err == nil {
			err = k.Requests.CheckIdentity(t.Context(), created.ID, requests.Identity{Check: models.IdentityReply})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return created.ID
}

// State returns the outcome of a privacy request, or "" if it is open, and the request.
func (k Kit) State(t *testing.T, request uuid.UUID) (outcome string, found requests.Request) {
	t.Helper()
	found, err := k.Requests.Request(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if found.Outcome != nil {
		outcome = string(*found.Outcome)
	}
	return outcome, found
}

// ExportRequest returns the passphrase of an export.
func (k Kit) ExportRequest(ctx context.Context, request uuid.UUID) (string, error) {
	e, err := k.Requests.Export(ctx, request)
	return e.Passphrase, err
}

// OpenExport opens the latest export of a request.
func (k Kit) OpenExport(ctx context.Context, request uuid.UUID) (io.ReadCloser, error) {
	found, err := k.Requests.Request(ctx, request)
	if err != nil {
		return nil, err
	}
	var latest uuid.UUID
	if found.FileID != nil {
		latest = *found.FileID
	}
	return k.Requests.OpenExport(ctx, request, latest)
}

// Download returns the files in the archive of a request.
func (k Kit) Download(t *testing.T, request uuid.UUID, passphrase string) map[string][]byte {
	t.Helper()
	archive, err := k.OpenExport(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	text, err := io.ReadAll(archive)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Extract(t, text, passphrase)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Requests.RecordDownload(t.Context(), request, k.ExportFile(t, request)); err != nil {
		t.Fatal(err)
	}
	return files
}

// ExportFile returns the id of the latest export of a request.
func (k Kit) ExportFile(t *testing.T, request uuid.UUID) uuid.UUID {
	t.Helper()
	_, found := k.State(t, request)
	return *found.FileID
}

// Extract returns the files in an archive.
func Extract(t *testing.T, archive []byte, passphrase string) (files map[string][]byte, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "export.zip")
	if err := os.WriteFile(path, archive, 0o600); err != nil {
		t.Fatal(err)
	}
	files = map[string][]byte{}
	for _, name := range []string{"data.json", "data.html"} {
		if files[name], err = exec.CommandContext(t.Context(), "bsdtar", "-xO", "--passphrase", passphrase, "-f", path, name).Output(); err != nil {
			return nil, err
		}
	}
	return files, nil
}
