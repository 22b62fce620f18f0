package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// Verdict is what a look at the whole chain found.
type Verdict struct {
	Events int64
	Head   string // hex of the last event's hash; "" when there is none
	// BrokenAt is the first event that does not follow from the one before; 0 when
	// all do.
	BrokenAt int64
	// HeadMissing says that the head that was asked for is in no event: the chain was
	// cut behind it, or written anew.
	HeadMissing bool
}

// Intact reports whether nothing was changed, added or taken out.
func (v Verdict) Intact() bool { return v.BrokenAt == 0 && !v.HeadMissing }

const verifyBatch = 5000

// Verify reads the chain from its beginning. head, if it is not "", is a hash that
// was noted earlier (the service logs it hourly) and must still be in the chain:
// without it, events taken off the end leave no trace.
func (l *Log) Verify(ctx context.Context, head string) (v Verdict, err error) {
	noted, err := hex.DecodeString(head)
	if err != nil || head != "" && len(noted) != sha256.Size {
		return v, apperr.New(apperr.Invalid, "head", "A head is 64 hexadecimal digits, as the service logs it.")
	}
	v.HeadMissing = head != ""
	prev := make([]byte, sha256.Size)
	for last := int64(0); ; {
		var batch []models.AuditEvent
		if err := l.db.Gorm.WithContext(ctx).Where("id > ?", last).Order("id").Limit(verifyBatch).Find(&batch).Error; err != nil {
			return v, postgres.Translate(err)
		}
		for i := range batch {
			e := &batch[i]
			sum := hash(e)
			if !bytes.Equal(e.PrevHash, prev) || !bytes.Equal(e.Hash, sum[:]) {
				v.BrokenAt = e.ID
				return v, nil
			}
			if bytes.Equal(e.Hash, noted) {
				v.HeadMissing = false
			}
			prev, last = e.Hash, e.ID
			v.Events++
			v.Head = hex.EncodeToString(e.Hash)
		}
		if len(batch) < verifyBatch {
			return v, nil
		}
	}
}

// Head is the last event's number and hash, for the log; zero when there is none.
func (l *Log) Head(ctx context.Context) (id int64, head string, err error) {
	var last []models.AuditEvent
	err = l.db.Gorm.WithContext(ctx).Select("id", "hash").Order("id DESC").Limit(1).Find(&last).Error
	if err != nil || len(last) == 0 {
		return 0, "", postgres.Translate(err)
	}
	return last[0].ID, fmt.Sprintf("%x", last[0].Hash), nil
}
