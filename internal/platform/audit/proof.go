package audit

import (
	"bytes"
	"context"
	"slices"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Object identifies the object of events.
type Object struct{ Kind, ID string }

// Proof contains events and the data needed to check them: their hashes and the head of the chain.
type Proof struct {
	Events   []models.AuditEvent // oldest first
	Complete bool                // whether there are no other events
	LeftOut  int                 // number of events that the reader may not see
	Head     models.AuditEvent   // the last event of the chain; only its id and its hash
}

var errChanged = apperr.New(apperr.Internal, "audit_log",
	"An event in the audit log was changed. Ask an auditor to verify the audit log.")

// Prove reads the newest events about the given objects, at most size of them, and returns those that the reader may
// see. It returns an error if the hash of one of the events is wrong.
func (l *Log) Prove(ctx context.Context, r Reader, objects []Object, size int) (p Proof, err error) {
	pairs := make([][]any, len(objects))
	for i, o := range objects {
		pairs[i] = []any{o.Kind, o.ID}
	}
	err = l.db.Transaction(ctx, func(tx *gorm.DB) error {
		if err := tx.Where("(object_kind, object_id) IN ?", pairs).Order("id DESC").Limit(size + 1).Find(&p.Events).Error; err != nil {
			return err
		}
		return tx.Select("id", "hash").Order("id DESC").Limit(1).Find(&p.Head).Error
	})
	if err != nil {
		return p, postgres.Translate(err)
	}
	found := min(len(p.Events), size)
	p.Complete = found == len(p.Events)
	p.Events = slices.DeleteFunc(p.Events[:found], func(e models.AuditEvent) bool { return !r.Allows(&e) })
	if p.LeftOut = found - len(p.Events); p.LeftOut > 0 {
		p.Complete = false
	}
	slices.Reverse(p.Events)
	for i := range p.Events {
		if sum := Hash(&p.Events[i]); !bytes.Equal(sum[:], p.Events[i].Hash) {
			return p, errChanged
		}
	}
	return p, nil
}
