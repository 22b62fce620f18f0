package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pingpost/pingpost/api"
)

// The reference states the two size limits that the service applies to bodies: one for all bodies,
// and a lower one for signed posts that do not identify their partner.
func TestReferenceStatesBodyLimits(t *testing.T) {
	t.Parallel()
	const unidentified = 16 << 10
	p := newPlatform(t)
	s := newService(t, p, nil, nil)
	post := func(path string, size int, members string) int {
		body := `{"transactionId":"tx_A"` + members + `}`
		body += strings.Repeat(" ", size-len(body))
		return s.sign(p.Required.Secret, p.Time.Now(), path, body).Code
	}
	own, shared := base(p.Required, "post"), "/api/lead/post"
	partnerID := fmt.Sprintf(`,"partnerId":%q`, p.Required.Accounts[0].Identifier)
	for name, c := range map[string]struct {
		path, members string
		most          int
	}{
		"own base URL":                   {own, "", api.MaxBody},
		"shared base URL with partnerId": {shared, partnerID, api.MaxBody},
		"shared base URL":                {shared, "", unidentified},
	} {
		if got := post(c.path, c.most, c.members); got != http.StatusBadRequest {
			t.Errorf("%s, %d bytes: got %d, want 400", name, c.most, got)
		}
		if got := post(c.path, c.most+1, c.members); got != http.StatusRequestEntityTooLarge {
			t.Errorf("%s, %d bytes: got %d, want 413", name, c.most+1, got)
		}
	}
	components := loadDocument(t).Components
	for name, text := range map[string]string{
		"response": *components.Responses["TooLarge"].Value.Description,
		"examples": components.Examples["TooLarge"].Value.Summary + components.Examples["UnidentifiedTooLarge"].Value.Summary,
		"info":     loadDocument(t).Info.Description,
	} {
		for _, limit := range []int{api.MaxBody, unidentified} {
			if want := fmt.Sprintf("%d,%03d bytes", limit/1000, limit%1000); !strings.Contains(text, want) {
				t.Errorf("%s does not contain %q", name, want)
			}
		}
	}
}
