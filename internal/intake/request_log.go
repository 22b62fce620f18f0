package intake

import (
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/models"
)

// loggedRequest is a request in the log. It contains no values that were sent.
type loggedRequest struct {
	TrafficKey
	kind    models.RequestKind
	id      uuid.UUID
	at      time.Time
	took    time.Duration
	lead    uuid.UUID // that the response contains, or uuid.Nil
	status  int
	code    apperr.PublicCode // of the error
	message string            // of the error
	detail  string            // why and where the JSON is not valid: "duplicate_name at byte 42"
	fields  []string          // paths of the invalid fields

	wrong *wrongSignature // if an ended secret may have signed the post
}

func (r loggedRequest) set() requestSet { return requestSet{r.Partner, r.kind} }

// kindOf returns the kind of a request, which determines the limit that it counts towards. Requests that
// anyone can send do not push out signed posts, and 429s do not push out other rejections (decision 65).
func kindOf(k TrafficKey) models.RequestKind {
	switch {
	case k.Outcome == errTooMany.Reason:
		return models.RequestRateLimited
	case k.Endpoint == EndpointPing:
		return models.RequestPing
	case k.Secret != uuid.Nil:
		return models.RequestSignedPost
	}
	return models.RequestOtherPost
}

// RecordRejection records a request that was rejected before its body was read completely, because the URL
// or method was wrong, or the body was too large or incomplete.
func (in *Intake) RecordRejection(endpoint, slug string, request uuid.UUID, start time.Time, err error) {
	partner, unknown := findBasePartner(in.Directory.Get(), slug)
	if unknown == nil {
		k := TrafficKey{Partner: partnerID(partner), Endpoint: endpoint}
		in.recordRejection(loggedRequest{TrafficKey: k, id: request, at: start}, err)
	}
}

// recordRejection counts a rejected request and logs it.
func (in *Intake) recordRejection(r loggedRequest, err error) {
	f := apperr.As(err)
	if f == nil {
		f = apperr.Wrap(err, apperr.Internal, "error", "")
	}
	r.Outcome, r.status, r.code, r.message = f.Reason, f.Status(), f.PublicCode, f.Message
	if f.Detail != nil {
		r.detail = f.Detail.Reason + " at byte " + strconv.Itoa(f.Detail.Offset)
	}
	for _, field := range f.Fields {
		r.fields = append(r.fields, strings.Join(field.Path, "."))
	}
	if f.LeadID != "" {
		r.lead, _ = id.Parse(id.Lead, f.LeadID)
	}
	in.count(&r)
	in.Traffic.log(r)
}

// recordPost counts an accepted post. It logs the post if it is a replay. Of a delivered post, it records only
// the duration, because the rows of its lead contain everything else.
func (in *Intake) recordPost(r loggedRequest, result PostResult) {
	r.Outcome, r.status, r.lead = result.Outcome, 200, result.LeadID
	in.count(&r)
	if result.Replayed {
		in.Traffic.log(r)
	} else {
		in.Traffic.addDuration(postDuration{r.id, r.took})
	}
}

// count sets the duration of a request, which ends now, and counts it if it was for an endpoint.
func (in *Intake) count(r *loggedRequest) {
	r.took = in.Clock.Now().Sub(r.at)
	if r.Endpoint != EndpointUnknown {
		in.Traffic.Count(r.TrafficKey, r.at, r.took)
	}
}
