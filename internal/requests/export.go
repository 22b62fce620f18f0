package requests

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/aeszip"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/erasure"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/internal/retention"
	"github.com/pingpost/pingpost/internal/reveal"
	"github.com/pingpost/pingpost/models"
)

// ExportRetention is how long the file of an export is stored.
const ExportRetention = 7 * 24 * time.Hour

// personalData is the content of an export, as data.json and data.html contain it. It leaves out staff's notes
// about erasures, and the details of pings, which are deleted after some days.
type personalData struct {
	Request    string    `json:"request"`
	CreatedAt  time.Time `json:"createdAt"`
	Controller string    `json:"controller,omitempty"`
	Purposes   string    `json:"purposes"`
	Recipients string    `json:"recipients"`
	Senders    []string  `json:"senders"` // the partners that sent the leads and have copies of them, without the platform's own
	Retention  string    `json:"retention"`
	Rights     []right   `json:"rights"`
	Decisions  string    `json:"automatedDecisions"`
	// Leads reads and decrypts the leads in batches, so that they are not all in memory.
	Leads iter.Seq[leadData] `json:"-"`
}

// leadData is the personal data of a lead.
type leadData struct {
	LeadID       string         `json:"leadId"`
	ReceivedAt   time.Time      `json:"receivedAt"`
	Source       string         `json:"source"` // the partner
	Industry     string         `json:"industry"`
	Country      string         `json:"country"`
	Urgency      string         `json:"urgency"`
	Postcode     string         `json:"postcode,omitempty"`
	Reference    string         `json:"reference,omitempty"` // the partner's own ID for the lead
	SubID        string         `json:"subId,omitempty"`
	Erasing      bool           `json:"erasing,omitempty"`  // the erasure is not finished
	ErasedAt     *time.Time     `json:"erasedAt,omitempty"` // the consent can be stored for longer
	Contact      *leads.Contact `json:"contact,omitempty"`  // missing if it was erased or is damaged
	Damaged      bool           `json:"damaged,omitempty"`  // the contact record cannot be decrypted
	Consent      *consentData   `json:"consent,omitempty"`  // only that it was given, and when, if its details were erased
	KeepsConsent bool           `json:"-"`
	Returns      []returnData   `json:"returns,omitempty"`
	Reveals      []revealData   `json:"reveals,omitempty"`
}

type consentData struct {
	Acknowledged         bool       `json:"acknowledged"`
	AcknowledgedAt       *time.Time `json:"acknowledgedAt,omitempty"`     // missing if it was sent without a UTC offset
	AcknowledgedText     *string    `json:"acknowledgedAtText,omitempty"` // as sent
	DisclosureText       *string    `json:"disclosureText,omitempty"`
	DisclosureReplacedAt *time.Time `json:"disclosureReplacedAt,omitempty"` // staff replaced the original text
	RecipientHash        *string    `json:"recipientHash,omitempty"`
	CertificateURL       *string    `json:"certificateUrl,omitempty"`
	SourceLeadID         *string    `json:"sourceLeadId,omitempty"` // the partner's own id
}

type returnData struct {
	RequestedAt time.Time `json:"requestedAt"`
	Reason      string    `json:"reason"`
	Evidence    string    `json:"evidence,omitempty"`
	Decision    string    `json:"decision,omitempty"` // a note about it
}

// revealData is a view of a field by staff.
type revealData struct {
	At     time.Time           `json:"at"`
	Field  models.ContactField `json:"field"`
	Reason models.RevealReason `json:"reason"`
	Note   string              `json:"note,omitempty"`
}

// right is a right of the consumer that staff can fulfil, named like a kind of request.
type right struct {
	Kind models.PrivacyRequestKind `json:"kind"`
	Text string                    `json:"text"`
}

// exportRights are the rights in an export.
var exportRights = []right{
	{models.RequestRectification, "You have the right to ask us to correct your data. An enquiry cannot be changed after we have received it. If it is wrong, we pass your correction on to the companies that have the enquiry, or we erase the enquiry."},
	{models.RequestErasure, "You have the right to ask us to erase your data."},
	{models.RequestRestriction, "You have the right to ask us to restrict the use of your data."},
	{models.RequestObjection, "You have the right to object to the use of your data."},
	{models.RequestWithdrawal, "You have the right to withdraw your consent."},
	{models.RequestComplaint, "You have the right to complain to a data protection authority."},
}

// exportDecisions is the text of an export about automated decisions.
const exportDecisions = "The price of an enquiry was determined automatically from its industry, country, postcode and urgency. No decision about you was made automatically."

// Exported is the result of an export.
type Exported struct {
	File       uuid.UUID
	Passphrase string // of this file
}

// Export writes all personal data of a request's leads to a ZIP archive, which replaces an earlier one, and returns its
// passphrase, which is not stored. The file is stored for ExportRetention. Each contact record in it counts towards the
// user's daily reveal limit. If the export exceeds the limit, the user must not be the one who checked the consumer's
// identity. The request is closed by RecordDownload.
//
// Errors: NotFound; Conflict if the consumer asked for something else, if the request was closed in another way, if the
// consumer's identity was not checked, or if no leads were found; Forbidden if another user must do it; Unavailable if
// the keys cannot be used or are missing; and those of erasure.Service.CheckJournal.
func (s *Service) Export(ctx context.Context, request uuid.UUID) (e Exported, err error) {
	if err := s.erasures.CheckJournal(ctx); err != nil {
		return e, err
	}
	r, err := s.Request(ctx, request)
	if err != nil {
		return e, err
	}
	if err := s.checkExport(r.PrivacyRequest); err != nil {
		return e, err
	}
	if r.Leads == 0 {
		return e, errNothingFound
	}
	if err := s.checkKeys(ctx, r.ID); err != nil {
		return e, err
	}
	ids, err := s.recordExport(ctx, r.PrivacyRequest)
	if err != nil {
		return e, err
	}
	by := s.by
	by.Form = audit.Submission{} // it has been recorded
	s = s.By(by)
	before, err := lastErasure(s.db.Gorm.WithContext(ctx), r.ID)
	if err != nil {
		return e, postgres.Translate(err)
	}
	e.Passphrase = aeszip.NewPassphrase()
	if e.File, err = s.writeExport(ctx, r.ID, ids, e.Passphrase); err != nil {
		return Exported{}, err
	}
	if err := s.attachExport(ctx, r.ID, ids, e.File, before); err != nil {
		return Exported{}, errors.Join(err, s.files.Delete(context.WithoutCancel(ctx), e.File))
	}
	return e, nil
}

var errManyContacts = apperr.New(apperr.Forbidden, "second_user",
	"This export decrypts more contact records than you may still view today (setting privacy.reveals_per_day). Ask another user to export the data, or to record the identity check again.")

// recordExport writes the export to the audit log, before anything is decrypted, and returns the ids of the leads in
// ascending order. Each contact record that the export decrypts counts as a reveal. It also deletes an earlier export,
// so that the new one is not lost if the deletion fails.
func (s *Service) recordExport(ctx context.Context, r models.PrivacyRequest) (ids []uuid.UUID, err error) {
	const action = "privacy_request.export"
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		now, err := lockWithExport(tx, r.ID)
		if err != nil {
			return err
		}
		if err := s.checkExport(now); err != nil {
			return err
		}
		if ids, err = leadsOf(tx, r.ID); err != nil {
			return err
		}
		if err := deleteExport(tx, now.FileID); err != nil {
			return err
		}
		var contacts int
		err = tx.Raw(`SELECT count(*) FROM privacy_request_leads r
			WHERE r.request_id = ? AND NOT EXISTS (SELECT FROM erasures e
				WHERE e.lead_id = r.lead_id)`, r.ID).Scan(&contacts).Error
		if err != nil {
			return err
		}
		if contacts > 0 {
			exceeded, err := s.reveals.CountReveals(tx, contacts)
			if err != nil {
				return err
			}
			if exceeded && !s.isSecondUser(r) {
				return errManyContacts
			}
		}
		return s.logExport(tx, r.ID, action, reveal.ExportEvent)
	})
	if errors.Is(err, errManyContacts) {
		err = s.reveals.LogExceeded(ctx, errManyContacts,
			audit.Event{Action: action, Kind: "privacy_request", Object: ID(r.ID)})
	}
	return ids, err
}

// logExport writes an event about a request and one about each of its leads, because the request is deleted
// after some time.
func (s *Service) logExport(tx *gorm.DB, request uuid.UUID, action, ofLead string) error {
	var rows []models.PrivacyRequestLead
	if err := tx.Where("request_id = ?", request).Order("lead_id").Find(&rows).Error; err != nil {
		return err
	}
	if err := s.logRequest(tx, request, action, map[string]any{"leads": len(rows)}); err != nil {
		return err
	}
	for _, l := range rows {
		err := audit.Write(tx, s.clock.Now(), s.by, audit.Event{
			Action: ofLead, Kind: "lead", Object: id.Format(id.Lead, l.LeadID), Partner: l.PartnerID,
			After: map[string]any{"request": ID(request)},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// checkKeys returns an error if this node cannot decrypt all leads of a request, or if the key of one is
// missing.
func (s *Service) checkKeys(ctx context.Context, request uuid.UUID) error {
	var keys []models.LeadKey
	err := s.db.Gorm.WithContext(ctx).Raw(`SELECT DISTINCT coalesce(k.key_wrapper, '') AS key_wrapper, coalesce(k.key_version, '') AS key_version
		FROM privacy_request_leads r LEFT JOIN lead_keys k USING (lead_id)
		WHERE r.request_id = ? AND NOT EXISTS (SELECT FROM erasures e
			WHERE e.lead_id = r.lead_id)`, request).Scan(&keys).Error
	if err != nil {
		return postgres.Translate(err)
	}
	for _, k := range keys {
		switch {
		case k.KeyWrapper == "":
			return leads.ErrKeyMissing
		case !s.reveals.CanDecrypt(k.KeyWrapper, k.KeyVersion):
			return reveal.ErrCannotDecrypt
		}
	}
	return nil
}

// attachExport records the file of a request's export. The file contains the given leads. Before the data was
// read, lastErasure returned the given number. A later erasure either waits for attachExport, and then deletes
// the file, or is noticed here.
func (s *Service) attachExport(
	ctx context.Context, request uuid.UUID, ids []uuid.UUID, file uuid.UUID, before int64,
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		now, err := lockRequest(tx, request)
		if err != nil {
			return err
		}
		if err := s.checkExport(now); err != nil {
			return err
		}
		if now.FileID != nil {
			return errExportedMeanwhile
		}
		if err := erasure.Lock(tx); err != nil {
			return err
		}
		if last, err := lastErasure(tx, request); err != nil || last != before {
			return cmp.Or(err, error(errErasedMeanwhile))
		}
		if left, err := leadsOf(tx, request); err != nil || !slices.Equal(left, ids) {
			return cmp.Or(err, error(errLeadsChanged))
		}
		return tx.Model(&models.PrivacyRequest{ID: request}).Updates(map[string]any{"file_id": file}).Error
	})
}

// lockWithExport locks the file of a request's export, if there is one, and then the request.
func lockWithExport(tx *gorm.DB, request uuid.UUID) (models.PrivacyRequest, error) {
	err := tx.Exec(`SELECT FROM files WHERE id = (SELECT file_id FROM privacy_requests WHERE id = ?) FOR UPDATE`, request).
		Error
	if err != nil {
		return models.PrivacyRequest{}, err
	}
	return lockRequest(tx, request)
}

// deleteExport deletes the file of an export, unless file is nil. If the file is still the export of a request, the
// request then has none.
func deleteExport(tx *gorm.DB, file *uuid.UUID) error {
	return tx.Exec(`DELETE FROM files WHERE id = ?`, file).Error
}

// lastErasure returns a number that increases when a lead of a request is erased, or when a text about its return is
// redacted.
func lastErasure(tx *gorm.DB, request uuid.UUID) (number int64, err error) {
	err = tx.Raw(`WITH of_request AS (SELECT lead_id FROM privacy_request_leads WHERE request_id = ?)
		SELECT (SELECT coalesce(max(sequence), 0) FROM erasures JOIN of_request USING (lead_id))
			+ (SELECT coalesce(sum(redactions), 0) FROM returns JOIN of_request USING (lead_id))`, request).Scan(&number).Error
	return number, err
}

var (
	errErasedMeanwhile = apperr.New(apperr.Conflict, "erased_meanwhile",
		"Some of the data was erased or redacted while it was exported. Export the data again.")
	errExportedMeanwhile = apperr.New(apperr.Conflict, "exported_meanwhile", "Another user exported the data of this request at the same time. Reload the page and use that export, or export the data again.")
)

// checkExport returns the reason why the user cannot export the data of a request, or nil.
func (s *Service) checkExport(r models.PrivacyRequest) error {
	if r.Outcome != nil && *r.Outcome != models.OutcomeExported {
		return errClosed
	}
	return s.checkFulfil(r, models.RequestAccess)
}

func (s *Service) writeExport(
	ctx context.Context, request uuid.UUID, ids []uuid.UUID, passphrase string,
) (file uuid.UUID, err error) {
	data, err := s.personalData(ctx, request, ids)
	if err != nil {
		return uuid.Nil, err
	}
	to, err := s.files.Create(ctx, s.clock.Now().Add(ExportRetention))
	if err != nil {
		return uuid.Nil, err
	}
	archive := aeszip.NewWriter(to, passphrase, data.CreatedAt)
	add := func(name string, write func(io.Writer, personalData) error) error {
		return archive.Add(name, func(w io.Writer) error {
			var failed error
			data.Leads = s.eachLead(ctx, ids, &failed)
			err := write(w, data)
			return cmp.Or(failed, err)
		})
	}
	err = add("data.html", func(w io.Writer, data personalData) error { return exportPage.Execute(w, data) })
	if err == nil {
		err = add("data.json", writeJSON)
	}
	if err == nil {
		err = errors.Join(archive.Close(), to.Close())
	}
	if err != nil {
		return uuid.Nil, errors.Join(err, s.files.Delete(context.WithoutCancel(ctx), to.ID))
	}
	return to.ID, nil
}

// writeJSON writes the data as a JSON object, whose last member contains the leads.
func writeJSON(w io.Writer, data personalData) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(data); err != nil {
		return err
	}
	text.Truncate(text.Len() - len("\n}\n"))
	text.WriteString(",\n  \"leads\": [")
	e.SetIndent("    ", "  ")
	separator := "\n    "
	for l := range data.Leads {
		text.WriteString(separator)
		if err := e.Encode(l); err != nil {
			return err
		}
		text.Truncate(text.Len() - len("\n"))
		if _, err := text.WriteTo(w); err != nil {
			return err
		}
		separator = ",\n    "
	}
	text.WriteString("\n  ]\n}\n")
	_, err := text.WriteTo(w)
	return err
}

// OpenExport opens the ZIP archive with the latest export of a request, and records it in the audit log. When the
// archive has been sent, the caller calls RecordDownload. It returns a Conflict error if there is no export or if file
// is not the latest one, and a NotFound error if the file has expired.
func (s *Service) OpenExport(ctx context.Context, request, file uuid.UUID) (io.ReadCloser, error) {
	if err := s.erasures.CheckJournal(ctx); err != nil {
		return nil, err
	}
	r, err := s.Request(ctx, request)
	if err != nil {
		return nil, err
	}
	if r.FileID == nil {
		return nil, apperr.New(apperr.Conflict, "no_export",
			"There is no export of this request, or its file was deleted. Export the data again.")
	}
	if file != *r.FileID {
		return nil, apperr.New(apperr.Conflict, "export_replaced",
			"The data was exported again after this passphrase was shown. Export it once more to get a file and its passphrase.")
	}
	archive, err := s.files.Open(ctx, *r.FileID)
	if err != nil {
		return nil, err
	}
	err = s.db.Transaction(ctx, func(tx *gorm.DB) error {
		return s.logExport(tx, r.ID, "privacy_request.download", reveal.DownloadEvent)
	})
	if err != nil {
		return nil, errors.Join(err, archive.Close())
	}
	return archive, nil
}

// RecordDownload closes a request as exported, after its file was downloaded completely. If the request is closed,
// it changes nothing. If the file was replaced or deleted during the download, the request stays open.
func (s *Service) RecordDownload(ctx context.Context, request, file uuid.UUID) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		r, err := lockRequest(tx, request)
		if err != nil || r.Outcome != nil || r.FileID == nil || *r.FileID != file {
			return err
		}
		return s.apply(tx, request, s.closing(models.OutcomeExported, nil, "", map[string]any{}))
	})
}

// exportKept says at the end of an export what is kept for longer.
const exportKept = "Data that is needed for a legal claim can be stored for longer. The lead's ID, its price, and the fact and time of your consent are kept as business records."

// exportRetention returns how long the data of leads is stored. The ids are in ascending order.
func (s *Service) exportRetention(ctx context.Context, ids []uuid.UUID) (string, error) {
	if len(ids) == 0 {
		return exportKept, nil
	}
	rows, err := s.db.Pool.Query(ctx, `SELECT DISTINCT country FROM leads WHERE id = ANY ($1) AND id BETWEEN $2 AND $3`,
		postgres.PlanEachTime, ids, ids[0], ids[len(ids)-1])
	if err != nil {
		return "", postgres.Translate(err)
	}
	countries, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return "", postgres.Translate(err)
	}
	periods, err := retention.Describe(s.db.Gorm.WithContext(ctx), countries)
	if err != nil {
		return "", postgres.Translate(err)
	}
	return periods + " " + exportKept, nil
}

// exportBatch is the number of leads that an export reads at a time.
const exportBatch = 1000

// personalData returns the data of a request, without its leads. Their ids are in ascending order.
func (s *Service) personalData(ctx context.Context, request uuid.UUID, ids []uuid.UUID) (personalData, error) {
	retention, err := s.exportRetention(ctx, ids)
	if err != nil {
		return personalData{}, err
	}
	senders := []string{}
	err = s.db.Gorm.WithContext(ctx).Raw(`SELECT DISTINCT `+partnerName+` AS sender FROM partners p
		WHERE p.id IN (SELECT partner_id FROM privacy_request_leads WHERE request_id = ?) AND p.id <> ? ORDER BY sender`,
		request, models.PlatformIDs.Partner).Scan(&senders).Error
	return personalData{
		Request: ID(request), CreatedAt: s.clock.Now().UTC().
				Truncate(time.Second), Controller: s.settings.Controller, Purposes: s.settings.Purposes,
		Recipients: s.settings.Recipients, Senders: senders, Retention: retention, Rights: exportRights, Decisions: exportDecisions,
	}, postgres.Translate(err)
}

// NamesController reports whether exports name the company that is responsible for the data, which the law requires.
func (s *Service) NamesController() bool { return s.settings.Controller != "" }

// NamesRecipients reports whether exports name the companies that receive the data, instead of describing them.
func (s *Service) NamesRecipients() bool { return s.settings.NamesRecipients }

// partnerName is the name of a partner in an export. Consumers do not know the platform's own names.
const partnerName = `coalesce(nullif(p.legal_name, ''), p.name)`

// eachLead reads and decrypts the data of leads, newest first. The ids must be in ascending order. After an error, it
// sets failed and ends.
func (s *Service) eachLead(ctx context.Context, ids []uuid.UUID, failed *error) iter.Seq[leadData] {
	return func(yield func(leadData) bool) {
		for rest := ids; len(rest) > 0; {
			first := max(0, len(rest)-exportBatch)
			batch := slices.Clone(rest[first:])
			slices.Reverse(batch)
			rest = rest[:first]
			read, err := s.leadData(ctx, batch)
			if err != nil {
				*failed = err
				return
			}
			for _, l := range read {
				if !yield(l) {
					return
				}
			}
		}
	}
}

const leadDataSQL = `SELECT l.id, l.received_at, ` + partnerName + `, l.industry, l.country, l.urgency, coalesce(nullif(l.postcode, ''), l.quoted_postcode), l.partner_reference, l.sub_id, e.sequence IS NOT NULL, e.erased_at, coalesce(e.keeps_consent, true),
		c.lead_id IS NOT NULL, coalesce(c.acknowledged, false), c.acknowledged_at, c.acknowledged_text,
		d.text, d.replaced_at, c.recipient_hash, c.form_cert_url, c.third_party_lead_id,
		(SELECT jsonb_agg(jsonb_build_object('requestedAt', r.requested_at, 'reason', r.reason, 'evidence', r.evidence, 'decision', r.decision_note) ORDER BY r.requested_at)
			FROM returns r WHERE r.lead_id = l.id),
		(SELECT jsonb_agg(jsonb_build_object('at', v.at, 'field', v.field, 'reason', v.reason, 'note', v.note) ORDER BY v.at)
			FROM lead_reveals v WHERE v.lead_id = l.id)
	FROM leads l JOIN partners p ON p.id = l.partner_id
		LEFT JOIN consents c ON c.lead_id = l.id AND c.lead_id BETWEEN $2 AND $3
		LEFT JOIN disclosures d ON d.digest = c.disclosure_digest
		LEFT JOIN LATERAL (SELECT sequence, n.erased_at, n.keeps_consent
			FROM erasures JOIN erasure_entries n USING (sequence) WHERE lead_id = l.id ORDER BY sequence DESC LIMIT 1) e ON true
	WHERE l.id = ANY ($1) AND l.id BETWEEN $2 AND $3 ORDER BY l.id DESC`

// leadData reads and decrypts the data of leads. The ids must be in descending order.
func (s *Service) leadData(ctx context.Context, ids []uuid.UUID) (all []leadData, err error) {
	contacts, err := s.leads.Contacts(ctx, scope.System, ids, s.keys)
	if err != nil {
		return nil, err
	}
	rows, err := s.db.Pool.Query(ctx, leadDataSQL, postgres.PlanEachTime, ids, ids[len(ids)-1], ids[0])
	if err != nil {
		return nil, postgres.Translate(err)
	}
	all, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (l leadData, err error) {
		var lead uuid.UUID
		var hasConsent bool
		var c consentData
		err = row.Scan(&lead, &l.ReceivedAt, &l.Source, &l.Industry, &l.Country, &l.Urgency, &l.Postcode, &l.Reference, &l.SubID, &l.Erasing, &l.ErasedAt,
			&l.KeepsConsent, &hasConsent, &c.Acknowledged, &c.AcknowledgedAt, &c.AcknowledgedText, &c.DisclosureText, &c.DisclosureReplacedAt, &c.RecipientHash, &c.CertificateURL, &c.SourceLeadID, &l.Returns, &l.Reveals)
		l.LeadID = id.Format(id.Lead, lead)
		if !l.KeepsConsent { // the details may still be stored
			c = consentData{Acknowledged: c.Acknowledged, AcknowledgedAt: c.AcknowledgedAt, AcknowledgedText: c.AcknowledgedText}
		}
		if hasConsent {
			l.Consent = &c
		}
		if l.Erasing {
			l.Erasing, l.Postcode, l.Reference, l.SubID, l.Returns = l.ErasedAt == nil, "", "", "", nil
			for i := range l.Reveals {
				l.Reveals[i].Note = ""
			}
			return l, err
		}
		switch opened := contacts[lead]; {
		case opened.Err == nil:
			l.Contact = &opened.Contact
		case !errors.Is(opened.Err, leads.ErrErased):
			l.Damaged = true
		}
		return l, err
	})
	return all, postgres.Translate(err)
}

//go:embed export.html
var exportHTML string

var exportPage = template.Must(template.New("export").Funcs(template.FuncMap{
	"utc":    func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") },
	"field":  reveal.Fields.Label,
	"reason": reveal.Reasons.Label,
}).Parse(exportHTML))
