package reconcile

import (
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/id"
)

// Why a row cannot be read, or differs; what a line holds instead of the row's texts.
const (
	problemCells      = "cells"
	problemHead       = "head_again"
	problemQuotes     = "quotes"
	problemNoLead     = "lead_id_missing"
	problemLead       = "lead_id"
	problemLeadBlanks = "lead_id_blanks"
	problemLeadPrefix = "lead_id_prefix"
	problemLeadLength = "lead_id_length"
	problemFormula    = "formula"
	problemNoAmount   = "amount_missing"
	problemAmount     = "amount"
	problemDecimals   = "amount_decimals"
	problemLarge      = "amount_large"
	problemSign       = "amount_currency"
	problemNoCurrency = "currency_missing"
	problemCurrency   = "currency_unknown"
	problemDiffers    = "currency" // not unreadable: the amounts are in two currencies

	problemOtherCurrency = "currency_not_in_file" // why a lead was left out
	problemOtherAccount  = "account_not_in_file"
)

var problemWords = map[string]string{
	problemCells:      "The row has another number of cells than the first row: put quotes around texts that hold the delimiter.",
	problemHead:       "The row repeats the names of the columns: take it out.",
	problemQuotes:     "A quotation mark stands where none can: write it twice inside a quoted text.",
	problemNoLead:     "There is no leadId: give it as the API answered it.",
	problemLead:       "The leadId has a character that none has: give it as the API answered it.",
	problemLeadBlanks: "There are blanks within the leadId: take them out.",
	problemLeadPrefix: "This is not a leadId: one begins with ld_.",
	problemLeadLength: "The leadId is cut off or too long: ld_ is followed by 26 letters and digits.",
	problemFormula:    "The cell is a formula: save the list with values only.",
	problemNoAmount:   "There is no amount: give one, 0 where the lead earned nothing.",
	problemAmount:     "The amount cannot be read in the form that was chosen for its column: write it as the others.",
	problemDecimals:   "The amount has more than two decimals: round it as it was invoiced.",
	problemLarge:      "The amount is too large to be one: look whether another number is in its place.",
	problemSign:       "The sign beside the amount is another currency's than the row's: mend the one that is wrong.",
	problemNoCurrency: "There is no currency: give its code, like GBP.",
	problemCurrency:   "The currency is none of GBP, EUR, USD, CAD, AUD: give its code.",
	problemDiffers:    "The amounts are in two currencies: agree with the partner which it is.",

	problemOtherCurrency: "The file has no readable amount in this currency.",
	problemOtherAccount:  "The file has no lead on this account.",
}

// ProblemText says why a row could not be read, with the mend.
func ProblemText(problem string) string {
	if words, ok := problemWords[problem]; ok {
		return words
	}
	return problem
}

// shapeProblem is of a text that is no amount.
func shapeProblem(text string) string {
	switch text = strings.TrimSpace(text); {
	case text == "":
		return problemNoAmount
	case formula(text):
		return problemFormula
	}
	return problemAmount
}

// isLead reports whether a text is a leadId. Most texts of a list are none, and told so
// by their length.
func isLead(text string) bool {
	if text = strings.TrimSpace(text); len(text) != leadLength {
		return false
	}
	_, err := id.Parse(id.Lead, text)
	return err == nil
}

// leadLength is how long every leadId is.
var leadLength = len(id.Format(id.Lead, uuid.Nil))

// formula reports whether a spreadsheet would reckon with a text that is no number.
func formula(text string) bool { return text != "" && strings.ContainsRune("=+-@", rune(text[0])) }

// parseLead reads a leadId, in either case, with blanks around it.
func parseLead(text string) (lead uuid.UUID, problem string) {
	text = strings.TrimSpace(text)
	lead, err := id.Parse(id.Lead, text)
	if err == nil {
		return lead, ""
	}
	switch {
	case text == "":
		return lead, problemNoLead
	case formula(text):
		return lead, problemFormula
	case len(text) < len(id.Lead) || !strings.EqualFold(text[:len(id.Lead)], string(id.Lead)):
		return lead, problemLeadPrefix
	case strings.ContainsAny(text, " \t\r\n\u00a0"):
		return lead, problemLeadBlanks
	case len(text) != leadLength:
		return lead, problemLeadLength
	}
	return lead, problemLead
}
