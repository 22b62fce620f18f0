package partners_test

import (
	"sync"
	"testing"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/clock"
	"github.com/pingpost/pingpost/internal/dev/testkit"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/models"
)

func TestMain(m *testing.M) { testkit.Main(m) }

// partnerService is the service with a test database.
type partnerService struct {
	*partners.Service
	db    *testkit.Database
	clock *clock.Manual
}

func newPartnerService(t testing.TB) *partnerService {
	t.Helper()
	o := &partnerService{db: testkit.NewDatabase(t), clock: clock.NewManual(testkit.StartTime())}
	o.Service = partners.NewService(o.db.DB, testkit.PlatformKeys(t, 1), o.clock)
	return o
}

// partner creates a pending partner without accounts.
func (o *partnerService) partner(t *testing.T, slug string) models.Partner {
	t.Helper()
	p, err := o.Create(t.Context(), partners.NewPartner{Slug: slug, Name: slug})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (o *partnerService) account(t *testing.T, p models.Partner, identifier string) models.Account {
	t.Helper()
	a, err := o.CreateAccount(t.Context(), everyPartner, p, partners.NewAccount{Identifier: identifier})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (o *partnerService) directory(t testing.TB) *partners.Directory {
	t.Helper()
	d, err := o.LoadDirectory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// wantError checks an error's code and reason. If reason is empty, there must be no error.
func wantError(t *testing.T, what string, err error, code apperr.Code, reason string) {
	t.Helper()
	f := apperr.As(err)
	switch {
	case reason == "" && err != nil:
		t.Errorf("%s: got error %v, want none", what, err)
	case reason != "" && (f == nil || f.Code != code || f.Reason != reason):
		t.Errorf("%s: got error %v, want %s, %s", what, err, code, reason)
	}
}

// atOnce runs n calls concurrently and returns their errors.
func atOnce(n int, call func(int) error) []error {
	errs := make([]error, n)
	ready := make(chan struct{})
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-ready
			errs[i] = call(i)
		})
	}
	close(ready)
	all.Wait()
	return errs
}

func succeeded(errs []error) (n int) {
	for _, err := range errs {
		if err == nil {
			n++
		}
	}
	return n
}
