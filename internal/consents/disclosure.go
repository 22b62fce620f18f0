package consents

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/protocol/payload"
	"github.com/pingpost/pingpost/models"
)

var (
	errNoDisclosure      = apperr.New(apperr.NotFound, "disclosure", "Not Found")
	errDisclosureChanged = apperr.New(apperr.Conflict, "changed",
		"This text has been replaced since you opened the page. Read the current text, and submit the form again.")
	errDisclosureScope = apperr.New(apperr.Forbidden, "disclosure_scope",
		"Only users whose role applies to all partners can replace a disclosure text, because leads of other partners can use it.")
	errDisclosureHeld = apperr.New(apperr.Conflict, "legal_hold",
		"Nothing was replaced. A lead that uses this text is under a legal hold. Release the legal hold first.")
)

// Disclosure is a disclosure text. The user sees only the leads in their scope that use it.
type Disclosure struct {
	models.Disclosure
	PartnerName string
	Leads       int64 // that use the text; 0 if it is standard
	MoreLeads   bool  // Leads is a limit, and more leads use the text
}

// Version identifies the current text. It is part of a hash.
func (d Disclosure) Version() int {
	hash := sha256.Sum256([]byte(d.Text))
	return int(binary.BigEndian.Uint32(hash[:]))
}

// DisclosureID formats the ID of a disclosure text.
func DisclosureID(disclosure uuid.UUID) string { return id.Format(id.Disclosure, disclosure) }

// DisclosureKind selects disclosure texts.
type DisclosureKind string

const (
	NonStandardTexts DisclosureKind = ""
	StandardTexts    DisclosureKind = "standard"
	ReplacedTexts    DisclosureKind = "replaced"
)

const (
	startOfText    = 200 // characters of each text in a list
	countedPerText = 100 // maximum number of leads that are counted for each text in a list
	countedLeads   = 10_000
)

// Disclosures returns a page of disclosure texts, newest first, with only the start of each text.
func (s *Service) Disclosures(
	ctx context.Context, sc scope.Scope, kind DisclosureKind, p postgres.Page[DisclosureCursor],
) (page []Disclosure, newer, older bool, err error) {
	db := s.db.Gorm.WithContext(ctx)
	order, chosen := "first_used_at DESC, id DESC", db.Model(&models.Disclosure{}).Limit(p.Size+1)
	switch kind {
	case StandardTexts:
		chosen = chosen.Where("standard")
	case ReplacedTexts:
		chosen = chosen.Where("replaced_at IS NOT NULL")
	default:
		chosen = chosen.Where("NOT standard")
	}
	if !sc.All() {
		chosen = chosen.Where("partner_id IN ?", sc.IDs())
	}
	switch {
	case p.EndsBefore():
		order = "first_used_at, id"
		chosen = chosen.Where("(first_used_at, id) > (?, ?)", p.Before.FirstUsedAt, p.Before.ID)
	case p.StartsAfter():
		chosen = chosen.Where("(first_used_at, id) < (?, ?)", p.After.FirstUsedAt, p.After.ID)
	}
	uses := usesOf(db, sc).Select("u.lead_id").Where("u.digest = d.digest AND NOT d.standard").Limit(countedPerText + 1)
	var found []Disclosure
	err = db.Raw(`SELECT d.id, left(d.text, ?) AS text, d.partner_id, p.name AS partner_name, d.first_used_at, d.standard, d.replaced_at, n.leads
		FROM (?) d JOIN partners p ON p.id = d.partner_id CROSS JOIN LATERAL (SELECT count(*) AS leads FROM (?) u) n
		ORDER BY `+order,
		startOfText, chosen.Order(order), uses).Scan(&found).Error
	if err != nil {
		return nil, false, false, postgres.Translate(err)
	}
	for i := range found {
		found[i].limitLeads(countedPerText)
	}
	page, newer, older = postgres.SplitPage(p, found)
	return page, newer, older, nil
}

// usesOf selects the leads in the scope that use a disclosure text, as u.
func usesOf(db *gorm.DB, sc scope.Scope) *gorm.DB {
	q := db.Table("disclosure_uses u")
	if !sc.All() {
		q = q.Joins("JOIN leads l ON l.id = u.lead_id AND l.partner_id IN ?", sc.IDs())
	}
	return q
}

func (d *Disclosure) limitLeads(limit int64) {
	d.MoreLeads = d.Leads > limit
	d.Leads = min(d.Leads, limit)
}

// Disclosure returns a disclosure text. Its error is NotFound if the first partner that sent the text is not
// in the scope.
func (s *Service) Disclosure(ctx context.Context, sc scope.Scope, disclosure uuid.UUID) (d Disclosure, err error) {
	db := s.db.Gorm.WithContext(ctx)
	q := db.Raw(`SELECT `+postgres.Columns[models.Disclosure]("d")+`, p.name AS partner_name
		FROM disclosures d JOIN partners p ON p.id = d.partner_id WHERE d.id = ?`, disclosure).Scan(&d)
	switch {
	case q.Error != nil:
		return d, postgres.Translate(q.Error)
	case q.RowsAffected == 0 || !sc.Allows(d.PartnerID):
		return Disclosure{}, errNoDisclosure
	case d.Standard:
		return d, nil
	}
	uses := usesOf(db, sc).Select("u.lead_id").Where("u.digest = ?", d.Digest).Limit(countedLeads + 1)
	if err := db.Raw(`SELECT count(*) FROM (?) u`, uses).Scan(&d.Leads).Error; err != nil {
		return d, postgres.Translate(err)
	}
	d.limitLeads(countedLeads)
	return d, nil
}

// DisclosureLead is a lead that uses a disclosure text.
type DisclosureLead struct {
	LeadID      uuid.UUID
	PartnerID   uuid.UUID
	PartnerName string
}

// DisclosureLeads returns at most limit leads in the scope that use a text, newest first. There are none if the
// text is standard.
func (s *Service) DisclosureLeads(
	ctx context.Context, sc scope.Scope, d Disclosure, limit int,
) (all []DisclosureLead, err error) {
	if d.Standard {
		return nil, nil
	}
	db := s.db.Gorm.WithContext(ctx)
	uses := usesOf(db, sc).Select("u.lead_id").Where("u.digest = ?", d.Digest).Order("u.lead_id DESC").Limit(limit)
	err = db.Raw(`SELECT u.lead_id, l.partner_id, p.name AS partner_name
		FROM (?) u JOIN leads l ON l.id = u.lead_id JOIN partners p ON p.id = l.partner_id
		ORDER BY u.lead_id DESC`, uses).Scan(&all).Error
	return all, postgres.Translate(err)
}

// Replacement is a request to replace a disclosure text.
type Replacement struct {
	Disclosure uuid.UUID
	Version    int // of the text that the user has read
	Text       string
	Note       string // must not identify anyone
}

// Check returns the replacement with a trimmed note, or an Invalid error at the field that is not valid. Like a
// post, it accepts all characters of the text except U+0000.
func (r Replacement) Check() (Replacement, error) {
	r.Text = plaintext.LineFeeds(r.Text)
	switch {
	case strings.TrimSpace(r.Text) == "":
		return r, apperr.InvalidField("text", apperr.Required, "Enter the new text.")
	case utf8.RuneCountInString(r.Text) > payload.MaxDisclosureText:
		return r,
			apperr.InvalidField("text", apperr.TooLong, fmt.Sprintf("Enter at most %d characters.", payload.MaxDisclosureText))
	case !utf8.ValidString(r.Text) || strings.ContainsRune(r.Text, 0):
		return r, apperr.InvalidField("text", apperr.InvalidValue,
			"This text contains a character that cannot be stored. Type it again.")
	}
	var err error
	if r.Note, err = plaintext.CheckNote(r.Note); err == nil && r.Note == "" {
		err = apperr.InvalidField("note", apperr.Required, "Enter a reason, such as a case number.")
	}
	return r, err
}

// Replace overwrites a disclosure text. All leads that use the text then show the new one, and so do
// later leads with the same original text, because the digest stays.
//
// Errors: those of Check; Forbidden if the scope does not include all partners, because their leads can use the text;
// NotFound if there is no such text; Conflict with the reason changed if the text was replaced since the user read it,
// or with the reason legal_hold; Invalid at the field text if it does not differ; and Unavailable with the reason
// hold_keys.
func (s *Service) Replace(ctx context.Context, sc scope.Scope, r Replacement) error {
	r, err := r.Check()
	if err != nil {
		return err
	}
	if !sc.All() {
		return errDisclosureScope
	}
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		var d Disclosure
		q := tx.Clauses(clause.Locking{Strength: "NO KEY UPDATE"}).Where("id = ?", r.Disclosure).Limit(1).Find(&d.Disclosure)
		switch {
		case q.Error != nil:
			return q.Error
		case q.RowsAffected == 0:
			return errNoDisclosure
		case d.Version() != r.Version:
			return errDisclosureChanged
		case plaintext.LineFeeds(d.Text) == r.Text:
			return apperr.InvalidField("text", apperr.InvalidValue, "This is the current text. Change it first.")
		}
		// Otherwise a legal hold could be placed before this transaction ends.
		if err := erasure.Lock(tx); err != nil {
			return err
		}
		if err := s.checkTextNotHeld(tx, d); err != nil {
			return err
		}
		now := s.clock.Now()
		columns := map[string]any{
			"text": r.Text, "replaced_at": now, "replaced_by": s.by.Name, "replaced_by_id": s.by.StaffID(),
		}
		if err := tx.Model(&models.Disclosure{ID: d.ID}).Updates(columns).Error; err != nil {
			return err
		}
		return audit.Write(tx, now, s.by, audit.Event{
			Action: "disclosures.replace", Kind: "disclosure", Object: DisclosureID(d.ID), Partner: d.PartnerID, Reason: r.Note,
		})
	})
}

// checkTextNotHeld returns an error if a lead that uses the text is under a legal hold. A standard text is not
// personal data, so it is not held.
func (s *Service) checkTextNotHeld(tx *gorm.DB, d Disclosure) error {
	if d.Standard {
		return nil
	}
	var uses []uuid.UUID
	if err := tx.Table("disclosure_uses").Where("digest = ?", d.Digest).Order("lead_id").Pluck("lead_id", &uses).Error; err != nil {
		return err
	}
	for batch := range slices.Chunk(uses, erasure.LeadsPerEntry) {
		held, err := s.erasures.Held(tx, batch)
		if err != nil {
			return err
		}
		if len(held) > 0 {
			return errDisclosureHeld
		}
	}
	return nil
}

// DisclosureCursor is a position in the list of disclosure texts. The zero value is no position.
type DisclosureCursor struct {
	FirstUsedAt time.Time
	ID          uuid.UUID
}

// Cursor returns the position of the text.
func (d Disclosure) Cursor() DisclosureCursor { return DisclosureCursor{d.FirstUsedAt.UTC(), d.ID} }

func (c DisclosureCursor) String() string {
	return fmt.Sprintf("%d-%s", c.FirstUsedAt.UnixMicro(), DisclosureID(c.ID))
}

// ParseDisclosureCursor parses the text of a cursor.
func ParseDisclosureCursor(text string) (DisclosureCursor, error) {
	micros, name, _ := strings.Cut(text, "-")
	n, failed := strconv.ParseInt(micros, 10, 64)
	disclosure, err := id.Parse(id.Disclosure, name)
	at := time.UnixMicro(n).UTC()
	if failed != nil || err != nil || at.Year() < 1970 || at.Year() > 9999 {
		return DisclosureCursor{}, errors.New("not a cursor of the list of disclosure texts")
	}
	return DisclosureCursor{at, disclosure}, nil
}
