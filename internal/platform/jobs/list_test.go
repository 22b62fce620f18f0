package jobs_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/scope"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/platform/postgres"
)

func TestGetChecksScope(t *testing.T) {
	t.Parallel()
	s := newLineQueue(t)
	mine, theirs := uuid.New(), uuid.New()
	one, two, whole := s.enqueue(t, mine), s.enqueue(t, theirs), s.enqueue(t, uuid.Nil)
	for name, c := range map[string]struct {
		sc    scope.Scope
		staff uuid.UUID
		want  []int64
	}{
		"all partners":   {scope.Everywhere, uuid.New(), []int64{whole.ID, two.ID, one.ID}},
		"one partner":    {scope.Partners(mine), uuid.New(), []int64{one.ID}},
		"requester":      {scope.Partners(), s.by.Staff, []int64{whole.ID, two.ID, one.ID}},
		"unrelated user": {scope.Partners(uuid.New()), uuid.New(), nil},
	} {
		all, _, _, err := s.List(t.Context(), c.sc, c.staff, postgres.Page[int64]{Size: 10})
		var got []int64
		for _, w := range all {
			got = append(got, w.ID)
		}
		if err != nil || len(got) != len(c.want) {
			t.Errorf("%s: got %v and error %v, want %v", name, got, err, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: got %v, want %v", name, got, c.want)
			}
		}
	}
	s.db.Exec(t, `UPDATE jobs SET state = 'done', ended_at = $1 WHERE id = $2`, testkit.StartTime().Add(-40*24*time.Hour), one.ID)
	if n, err := s.DeleteExpired(t.Context()); n != 1 || err != nil {
		t.Errorf("DeleteExpired returned %d and error %v, want 1", n, err)
	}
}
