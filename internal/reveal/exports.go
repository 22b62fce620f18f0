package reveal

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// The actions of the audit events about exports, whose object is the lead.
const (
	ExportEvent   = "lead.export"
	DownloadEvent = "lead.download"
	EvidenceEvent = "lead.evidence"
)

// ExportKind is the kind of file that contains data of a lead.
type ExportKind string

const (
	RequestExport   ExportKind = "request_export"   // for a privacy request
	RequestDownload ExportKind = "request_download" // the download of a RequestExport
	EvidencePack    ExportKind = "evidence_pack"
)

var exportKinds = map[string]ExportKind{
	ExportEvent: RequestExport, DownloadEvent: RequestDownload, EvidenceEvent: EvidencePack,
}

// Export is the creation or the download of a file that contains data of a lead.
type Export struct {
	At      time.Time
	Actor   string
	Kind    ExportKind
	Request string // ID of the privacy request, or ""
}

// ExportsOf returns the exports that contained data of a lead, oldest first: the exports for privacy requests and their
// downloads, and the evidence packs. Exports of the ledger, of statements and of reconciliations are not among them.
// They contain no contact data, but they do contain the partner's reference, subId and notes (decision 71).
func (s *Service) ExportsOf(ctx context.Context, sc scope.Scope, lead uuid.UUID) (all []Export, err error) {
	q := s.db.Gorm.WithContext(ctx).Where("outcome = ? AND object_kind = 'lead' AND object_id = ? AND action IN ?",
		models.AuditDone, id.Format(id.Lead, lead), []string{ExportEvent, DownloadEvent, EvidenceEvent})
	var events []models.AuditEvent
	if err := q.Order("id").Find(&events).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	for _, e := range events {
		if e.PartnerID != nil && !sc.Allows(*e.PartnerID) {
			continue
		}
		export := Export{At: e.At.UTC(), Actor: e.Actor, Kind: exportKinds[e.Action]}
		if e.After != nil {
			fields, err := audit.DecodeFields(*e.After)
			if err != nil {
				return nil, err
			}
			export.Request, _ = fields["request"].(string)
		}
		all = append(all, export)
	}
	return all, nil
}
