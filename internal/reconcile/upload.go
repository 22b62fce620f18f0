package reconcile

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/blobstore"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// filesKept is how long an uploaded file is stored, unless it is deleted earlier.
const filesKept = 7 * 24 * time.Hour

var (
	errNotFound  = apperr.New(apperr.NotFound, "reconciliation", "Not Found")
	errNoPartner = apperr.New(apperr.NotFound, "partner", "Not Found")
	errTooLarge  = invalidFile("file_size",
		fmt.Sprintf("The file is larger than %d MiB. Split it by date and upload each part.", MaxFile>>20))
)

// Upload encrypts and stores a partner's file. It also describes the file's columns in a Profile.
func (s *Service) Upload(
	ctx context.Context, sc scope.Scope, partner uuid.UUID, name string, list io.Reader,
) (r models.Reconciliation, err error) {
	if err := s.checkPartner(ctx, sc, partner); err != nil {
		return r, err
	}
	now := s.clock.Now()
	file, err := s.files.Create(ctx, now.Add(filesKept))
	if err != nil {
		return r, err
	}
	defer func() {
		if err != nil {
			s.files.Delete(context.WithoutCancel(ctx), file.ID) //nolint:errcheck // the file expires if this fails
		}
	}()
	found, err := storeUpload(file, list, s.maxFile)
	if err != nil {
		return r, err
	}
	text, err := json.Marshal(found)
	if err != nil {
		return r, err
	}
	r = models.Reconciliation{
		ID:         id.New(now),
		PartnerID:  partner,
		FileID:     &file.ID,
		FileName:   shown(name),
		FileSize:   file.Size(),
		FileSHA256: file.SHA256(),
		Profile:    string(text),
		State:      models.ReconciliationUploaded,
		CreatedBy:  s.by.Name,
		CreatedAt:  now,
		RowVersion: 1,
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Create(&r).Error; err != nil {
			return err
		}
		return s.auditChange(tx, "reconciliation.upload", r, map[string]any{
			"bytes":  r.FileSize,
			"rows":   found.Rows,
			"sha256": hex.EncodeToString(r.FileSHA256),
		})
	})
	return r, err
}

// checkPartner returns errNoPartner if the partner does not exist or is not in the scope.
func (s *Service) checkPartner(ctx context.Context, sc scope.Scope, partner uuid.UUID) error {
	if !sc.Allows(partner) {
		return errNoPartner
	}
	var n int64
	err := s.db.Gorm.WithContext(ctx).Model(&models.Partner{}).Where("id = ?", partner).Count(&n).Error
	if err == nil && n == 0 {
		return errNoPartner
	}
	return postgres.Translate(err)
}

// storeUpload copies the uploaded data from list to file, and returns the profile of the data. It
// returns errTooLarge if the data exceeds maxFile bytes.
func storeUpload(file *blobstore.Writer, list io.Reader, maxFile int) (p Profile, err error) {
	out := bufio.NewWriterSize(file, sampleSize)
	p, err = profile(io.TeeReader(&limited{from: list, left: maxFile}, out))
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = file.Close()
	}
	return p, err
}

// The type limited is a reader that returns errTooLarge when its byte limit is exceeded.
type limited struct {
	from io.Reader
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.from.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, errTooLarge
	}
	return n, err
}

const maxFileName = 120

// The function shown returns a file name for display. It removes folders and unprintable characters,
// and truncates the name to maxFileName.
func shown(name string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name = strings.TrimSpace(strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, strings.ToValidUTF8(name, "")))
	if utf8.RuneCountInString(name) > maxFileName {
		name = string([]rune(name)[:maxFileName-1]) + "…"
	}
	if name == "" || name == "." || name == "/" {
		return "list.csv"
	}
	return name
}

// auditChange adds the audit event for a change to the transaction.
func (s *Service) auditChange(tx *gorm.DB, action string, r models.Reconciliation, after map[string]any) error {
	return audit.Write(tx, s.clock.Now(), s.by, audit.Event{
		Action: action, Kind: "reconciliation", Object: ID(r.ID), Partner: r.PartnerID, After: after,
	})
}
