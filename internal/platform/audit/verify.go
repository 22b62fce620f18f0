package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// Verdict is the result of verifying the hash chain of the audit log.
type Verdict struct {
	Events int64
	Last   int64  // id of the last event that was verified; 0 if there are no events
	Head   string // hexadecimal hash of the last event; "" if there are no events
	// BrokenAt is the id of the first event that contains a wrong hash, either its own or that of the
	// previous event. It is 0 if there is no such event.
	BrokenAt int64
	// HeadMissing means that no event has the expected hash, because the chain was cut or
	// rewritten.
	HeadMissing bool
}

// Intact reports whether the hash chain is complete and unchanged.
func (v Verdict) Intact() bool { return v.BrokenAt == 0 && !v.HeadMissing }

const readBatch = 5000

// Verify checks the hash chain from the beginning. If the parameter head is not empty, Verify also
// checks that an event has this hash. If head is empty, Verify cannot detect that the last events were
// removed.
func (l *Log) Verify(ctx context.Context, head string) (v Verdict, err error) {
	noted, err := hex.DecodeString(head)
	if err != nil || head != "" && len(noted) != sha256.Size {
		return v, apperr.New(apperr.Invalid, "head",
			"The head must be a hash with 64 hexadecimal digits. Copy it from the service's log.")
	}
	v.HeadMissing = head != ""
	return l.verify(ctx, v, noted)
}

// Continue verifies the events after those of an intact verdict, and adds them to it. It also checks that the last
// event of the verdict still exists. If it fails, the returned verdict contains the events that it has verified.
func (l *Log) Continue(ctx context.Context, v Verdict) (Verdict, error) {
	if v.Last > 0 {
		var last []models.AuditEvent
		err := l.db.Gorm.WithContext(ctx).Select("hash").Where("id = ?", v.Last).Find(&last).Error
		if err != nil {
			return v, postgres.Translate(err)
		}
		if v.HeadMissing = len(last) == 0 || hex.EncodeToString(last[0].Hash) != v.Head; v.HeadMissing {
			return v, nil
		}
	}
	return l.verify(ctx, v, nil)
}

func (l *Log) verify(ctx context.Context, v Verdict, noted []byte) (Verdict, error) {
	prev := make([]byte, sha256.Size)
	if v.Head != "" {
		if _, err := hex.Decode(prev, []byte(v.Head)); err != nil {
			return v, err
		}
	}
	for {
		var batch []models.AuditEvent
		err := l.db.Gorm.WithContext(ctx).Where("id > ?", v.Last).Order("id").Limit(readBatch).Find(&batch).Error
		if err != nil {
			return v, postgres.Translate(err)
		}
		for i := range batch {
			e := &batch[i]
			sum := Hash(e)
			if !bytes.Equal(e.PrevHash, prev) || !bytes.Equal(e.Hash, sum[:]) {
				v.BrokenAt = e.ID
				return v, nil
			}
			if bytes.Equal(e.Hash, noted) {
				v.HeadMissing = false
			}
			prev, v.Last = e.Hash, e.ID
			v.Events++
			v.Head = hex.EncodeToString(e.Hash)
		}
		if len(batch) < readBatch {
			return v, nil
		}
	}
}

// Head returns the id and the hash of the last event, or zero values if there are no events.
func (l *Log) Head(ctx context.Context) (id int64, head string, err error) {
	var last []models.AuditEvent
	err = l.db.Gorm.WithContext(ctx).Select("id", "hash").Order("id DESC").Limit(1).Find(&last).Error
	if err != nil || len(last) == 0 {
		return 0, "", postgres.Translate(err)
	}
	return last[0].ID, fmt.Sprintf("%x", last[0].Hash), nil
}
