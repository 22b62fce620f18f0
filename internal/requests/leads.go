package requests

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/choice"
	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/base/plaintext"
	"github.com/pingpost/pingpost/internal/leads"
	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// findLeads returns the leads of a new request: those with the email address or phone number, and those with the
// given ids. Each lead shares an email address or a phone number with another one.
func (s *Service) findLeads(ctx context.Context, n NewRequest) ([]models.PrivacyRequestLead, error) {
	searched, err := s.reader.PersonDigests(n.Person)
	if err != nil {
		return nil, err
	}
	var found []leads.PersonLead
	if n.Person.Email != "" || n.Person.Phone != "" {
		if err := s.reveals.CountLookup(ctx, n.Person); err != nil {
			return nil, err
		}
		if found, err = s.reader.FindPerson(ctx, n.Person); err != nil {
			return nil, err
		}
	}
	named, err := leadsWithIDs(s.db.Gorm.WithContext(ctx), n.Leads)
	if err != nil {
		return nil, err
	}
	known := map[uuid.UUID]bool{}
	for _, l := range found {
		known[l.ID] = true
	}
	named = slices.DeleteFunc(named, func(l leads.PersonLead) bool { return known[l.ID] })
	if err := checkLinked(searched, found, named); err != nil {
		return nil, err
	}
	return describeMatches(searched, append(found, named...)), nil
}

// leadsWithIDs returns the leads with the given ids, in this order, or an Invalid error that names an id without a
// lead.
func leadsWithIDs(tx *gorm.DB, ids []uuid.UUID) (all []leads.PersonLead, err error) {
	var stored []models.Lead
	if err := tx.Select("id", "partner_id", "email_digest", "phone_digest").Where("id IN ?", ids).Find(&stored).Error; err != nil {
		return nil, postgres.Translate(err)
	}
	byID := map[uuid.UUID]models.Lead{}
	for _, l := range stored {
		byID[l.ID] = l
	}
	seen := map[uuid.UUID]bool{}
	for _, lead := range ids {
		l, ok := byID[lead]
		if !ok {
			return nil,
				apperr.InvalidField("leads", apperr.InvalidValue, "There is no lead with the ID "+id.Format(id.Lead, lead)+".")
		}
		if !seen[lead] {
			seen[lead] = true
			all = append(all,
				leads.PersonLead{ID: l.ID, Partner: l.PartnerID, EmailDigest: l.EmailDigest, PhoneDigest: l.PhoneDigest})
		}
	}
	return all, nil
}

// checkLinked returns an Invalid error unless each named lead shares an email address or a phone number with what was
// searched for or with another lead of the request. If nothing was searched for, the first lead is the starting point.
func checkLinked(searched leads.PersonDigests, found, named []leads.PersonLead) error {
	linked := map[string]bool{}
	link := func(digests ...[]byte) {
		for _, d := range digests {
			if d != nil {
				linked[string(d)] = true
			}
		}
	}
	link(searched.Email...)
	link(searched.Phone...)
	for _, l := range found {
		link(l.EmailDigest, l.PhoneDigest)
	}
	if len(linked) == 0 && len(named) > 0 {
		link(named[0].EmailDigest, named[0].PhoneDigest)
		named = named[1:]
	}
	for len(named) > 0 {
		left := slices.DeleteFunc(slices.Clone(named), func(l leads.PersonLead) bool {
			if !linked[string(l.EmailDigest)] && !linked[string(l.PhoneDigest)] {
				return false
			}
			link(l.EmailDigest, l.PhoneDigest)
			return true
		})
		if len(left) == len(named) {
			return apperr.InvalidField("leads", apperr.InvalidValue, "The lead "+id.Format(id.Lead, left[0].ID)+
				" shares neither an email address nor a phone number with the others. Remove it here. If it is about the same consumer, add it to the request afterwards, with the reason.")
		}
		named = left
	}
	return nil
}

// describeMatches returns the rows of a request's leads, each with the way in which it matches the identifiers that
// were searched for.
func describeMatches(searched leads.PersonDigests, all []leads.PersonLead) []models.PrivacyRequestLead {
	emails, phones := make([][]byte, len(all)), make([][]byte, len(all))
	for i, l := range all {
		emails[i], phones[i] = l.EmailDigest, l.PhoneDigest
	}
	emailNumbers, phoneNumbers := numberDigests(searched.Email, emails), numberDigests(searched.Phone, phones)
	rows := make([]models.PrivacyRequestLead, len(all))
	for i, l := range all {
		byEmail := searched.Email != nil && emailNumbers[i] == 1
		byPhone := searched.Phone != nil && phoneNumbers[i] == 1
		match := models.MatchID
		switch {
		case byEmail && byPhone:
			match = models.MatchBoth
		case byEmail:
			match = models.MatchEmail
		case byPhone:
			match = models.MatchPhone
		}
		rows[i] = models.PrivacyRequestLead{
			LeadID: l.ID, PartnerID: l.Partner, Matched: match, EmailNumber: emailNumbers[i], PhoneNumber: phoneNumbers[i],
		}
	}
	return rows
}

// numberDigests returns a number for each digest, or 0 if it is nil. Equal digests have the same number. All searched
// digests have the number 1. If searched is nil, the most frequent digest has the number 1.
func numberDigests(searched, digests [][]byte) []int {
	frequency := map[string]int{}
	var distinct []string
	for _, d := range digests {
		if d == nil {
			continue
		}
		if frequency[string(d)]++; frequency[string(d)] == 1 {
			distinct = append(distinct, string(d))
		}
	}
	slices.SortStableFunc(distinct, func(a, b string) int { return cmp.Compare(frequency[b], frequency[a]) })
	numbers, next := map[string]int{}, 1
	if searched != nil {
		next = 2
	}
	for _, d := range searched {
		numbers[string(d)] = 1
	}
	for _, d := range distinct {
		if numbers[d] == 0 {
			numbers[d] = next
			next++
		}
	}
	all := make([]int, len(digests))
	for i, d := range digests {
		all[i] = numbers[string(d)]
	}
	return all
}

// comparedLead is a lead of a request with its lookup digests.
type comparedLead struct {
	models.PrivacyRequestLead
	EmailDigest, PhoneDigest []byte
}

// compareAgain compares the leads of a request again, after leads were added or removed. The digests that were searched
// for are not stored, but the leads that had them have the number 1. If nothing was searched for, the leads that users
// added as exceptions are considered last.
func compareAgain(tx *gorm.DB, r models.PrivacyRequest) error {
	var all []comparedLead
	err := tx.Raw(`SELECT `+postgres.Columns[models.PrivacyRequestLead]("r")+`, l.email_digest, l.phone_digest FROM privacy_request_leads r JOIN leads l ON l.id = r.lead_id
		WHERE request_id = ? ORDER BY exception <> '', lead_id DESC`, r.ID).Scan(&all).Error
	if err != nil {
		return err
	}
	emailDigests, phoneDigests := make([][]byte, len(all)), make([][]byte, len(all))
	emails, phones := make([]int, len(all)), make([]int, len(all))
	for i, l := range all {
		emailDigests[i], phoneDigests[i], emails[i], phones[i] = l.EmailDigest, l.PhoneDigest, l.EmailNumber, l.PhoneNumber
	}
	emails, phones = numberAgain(r.EmailSearched, emailDigests, emails), numberAgain(r.PhoneSearched, phoneDigests, phones)
	for i, l := range all {
		if l.EmailNumber == emails[i] && l.PhoneNumber == phones[i] {
			continue
		}
		err := tx.Model(&models.PrivacyRequestLead{RequestID: r.ID, LeadID: l.LeadID}).
			Updates(map[string]any{"email_number": emails[i], "phone_number": phones[i]}).Error
		if err != nil {
			return err
		}
	}
	return nil
}

// numberAgain is like numberDigests. If the identifier was searched for, the digests with the number 1 keep it.
func numberAgain(searched bool, digests [][]byte, numbers []int) []int {
	if !searched {
		return numberDigests(nil, digests)
	}
	found := [][]byte{}
	for i, d := range digests {
		if d != nil && numbers[i] == 1 {
			found = append(found, d)
		}
	}
	return numberDigests(found, digests)
}

// Leads returns at most limit leads of a request. Those with a different email address or phone number
// come first. Apart from that, the newest come first.
func (s *Service) Leads(
	ctx context.Context, request uuid.UUID, limit int,
) (all []models.PrivacyRequestLead, err error) {
	err = s.db.Gorm.WithContext(ctx).Where("request_id = ?", request).
		Order("(email_number > 1 OR phone_number > 1) DESC, lead_id DESC").Limit(limit).Find(&all).Error
	return all, postgres.Translate(err)
}

// LeadExceptions lists the reasons for adding a lead that shares nothing with the other leads of a request.
var LeadExceptions = choice.List[models.LeadException]{
	{Code: models.ExceptionProved, Label: "the consumer proved that the lead is about them"},
	{Code: models.ExceptionErased, Label: "the lead was erased, so it cannot be compared"},
	{Code: models.ExceptionOther, Label: "for another reason"},
}

// Addition is a choice of leads to add to a request by id.
type Addition struct {
	Leads     []uuid.UUID
	Exception models.LeadException
	Note      string // must not identify the consumer; required if Exception is models.ExceptionOther
}

func (a Addition) valid() (Addition, error) {
	var err error
	if a.Note, err = plaintext.CheckNote(a.Note); err != nil {
		return a, err
	}
	switch {
	case len(a.Leads) == 0:
		err = apperr.InvalidField("leads", apperr.Required, "Enter the IDs of the leads to add.")
	case LeadExceptions.Label(a.Exception) == "":
		err = apperr.InvalidField("exception", apperr.InvalidValue, "Choose one of the reasons.")
	case a.Exception == models.ExceptionOther && a.Note == "":
		err = apperr.InvalidField("note", apperr.Required, "Describe the reason.")
	}
	return a, err
}

var errLeadsFixed = apperr.New(apperr.Conflict, "leads_fixed",
	"Some of this request's leads have been erased, so its list of leads can no longer be changed. Create another privacy request.")

var errLeadsChanged = apperr.New(apperr.Conflict, "leads_changed",
	"The leads of this request have just changed. Reload the page and try again.")

// AddLeads adds leads to an open request. They need not share anything with its other leads. The audit log records
// their ids with the reason, but without the note. The identity check is removed, because it did not cover these leads,
// and because the user who records it must have seen all leads (see checkSecondUser).
//
// Errors: Invalid at the field leads, exception or note, NotFound, and Conflict if the request is closed or has
// erased leads.
func (s *Service) AddLeads(ctx context.Context, request uuid.UUID, a Addition) error {
	a, err := a.valid()
	if err != nil {
		return err
	}
	return s.changeLeads(ctx, request, "privacy_request.add_leads", a.Leads, map[string]any{"exception": a.Exception}, func(tx *gorm.DB) error {
		var known []uuid.UUID
		if err := tx.Model(&models.PrivacyRequestLead{}).Where("request_id = ? AND lead_id IN ?", request, a.Leads).Limit(1).Pluck("lead_id", &known).Error; err != nil {
			return err
		}
		if len(known) > 0 {
			return apperr.InvalidField("leads", apperr.InvalidValue,
				"The lead "+id.Format(id.Lead, known[0])+" already belongs to this request.")
		}
		added, err := leadsWithIDs(tx, a.Leads)
		if err != nil {
			return err
		}
		var rows []models.PrivacyRequestLead
		for _, l := range added {
			rows = append(rows, models.PrivacyRequestLead{
				RequestID: request, LeadID: l.ID, PartnerID: l.Partner, Matched: models.MatchID, Exception: a.Exception, ExceptionNote: a.Note,
			})
		}
		if err := tx.CreateInBatches(rows, postgres.Batch).Error; err != nil {
			return err
		}
		return tx.Model(&models.PrivacyRequest{ID: request}).Updates(noIdentity).Error
	})
}

// RemoveLeads removes leads from an open request, for example because they are about another person.
//
// Errors: Invalid at the field leads, NotFound, and Conflict if the request is closed or has erased leads.
func (s *Service) RemoveLeads(ctx context.Context, request uuid.UUID, ids []uuid.UUID) error {
	if len(ids) == 0 {
		return apperr.InvalidField("leads", apperr.Required, "Choose the leads to remove.")
	}
	return s.changeLeads(ctx, request, "privacy_request.remove_leads", ids, map[string]any{}, func(tx *gorm.DB) error {
		known, err := leadsOf(tx, request)
		if err != nil {
			return err
		}
		for _, lead := range ids {
			if _, found := slices.BinarySearchFunc(known, lead, id.Compare); !found {
				return apperr.InvalidField("leads", apperr.InvalidValue,
					"The lead "+id.Format(id.Lead, lead)+" does not belong to this request.")
			}
		}
		err = tx.Where("request_id = ? AND lead_id IN ?", request, ids).Delete(&models.PrivacyRequestLead{}).Error
		if err != nil || !s.settings.RequireApproval {
			return err
		}
		return tx.Model(&models.PrivacyRequest{ID: request}).Updates(noIdentity).Error
	})
}

// changeLeads changes which leads an open request has, compares all of them again, and records the ids of the changed
// ones in the audit log. It deletes a prepared export, because its leads are no longer those of the request.
func (s *Service) changeLeads(
	ctx context.Context, request uuid.UUID, action string, ids []uuid.UUID, after map[string]any,
	change func(tx *gorm.DB) error,
) error {
	return s.db.Transaction(ctx, func(tx *gorm.DB) error {
		r, err := lockWithExport(tx, request)
		switch {
		case err != nil:
			return err
		case r.Outcome != nil:
			return errClosed
		}
		if erased, err := hasErased(tx, request); err != nil || erased {
			return cmp.Or(err, error(errLeadsFixed))
		}
		if err := change(tx); err != nil {
			return err
		}
		if err := compareAgain(tx, r); err != nil {
			return err
		}
		if err := deleteExport(tx, r.FileID); err != nil {
			return err
		}
		return s.logLeads(tx, request, action, ids, after)
	})
}

// hasErased reports whether a request has erased leads.
func hasErased(tx *gorm.DB, request uuid.UUID) (erased bool, err error) {
	err = tx.Raw(`SELECT EXISTS (SELECT FROM privacy_request_leads WHERE request_id = ? AND erased)`, request).
		Scan(&erased).Error
	return erased, err
}

// leadsPerEvent is the maximum number of lead ids in an audit event.
const leadsPerEvent = 500

// logLeads records an action on leads of a request in the audit log. The request, which also contains the ids, is
// deleted after some time.
func (s *Service) logLeads(tx *gorm.DB, request uuid.UUID, action string, ids []uuid.UUID, after map[string]any) error {
	for batch := range slices.Chunk(ids, leadsPerEvent) {
		names := make([]string, len(batch))
		for i, lead := range batch {
			names[i] = id.Format(id.Lead, lead)
		}
		event := map[string]any{"leads": names}
		for name, value := range after {
			event[name] = value
		}
		if err := s.logRequest(tx, request, action, event); err != nil {
			return err
		}
	}
	return nil
}
