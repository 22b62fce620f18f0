package reconcile

import (
	"strings"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/base/id"
	"github.com/pingpost/pingpost/internal/protocol/quote"
)

// A problem code states why a row cannot be read, why it differs from the ledger, or why a lead was left
// out of the comparison. Lines contain these codes and not the contents of the row.
const (
	problemCells      = "cells"
	problemHead       = "head_again"
	problemQuotes     = "quotes"
	problemNoLead     = "lead_id_missing"
	problemLead       = "lead_id"
	problemLeadBlanks = "lead_id_blanks"
	problemLeadPrefix = "lead_id_prefix"
	problemLeadLength = "lead_id_length"
	problemReference  = "reference_repeated"
	problemFormula    = "formula"
	problemNoAmount   = "amount_missing"
	problemAmount     = "amount"
	problemDecimals   = "amount_decimals"
	problemLarge      = "amount_large"
	problemSign       = "amount_currency"
	problemNoCurrency = "currency_missing"
	problemCurrency   = "currency_unknown"
	problemDiffers    = "currency" // the row is readable, but its currency differs from the ledger's

	ProblemSum      = "sum_of_rows"        // the amount is the sum of several rows
	problemAddend   = "part_of_sum"        // reasons why a row was not compared
	problemLeadless = "entry_without_lead" // with the amount in the row

	problemOtherCurrency = "currency_not_in_file" // reasons why a lead was left out
	problemOtherAccount  = "account_not_in_file"
)

var problemWords = map[string]string{
	problemCells:      "The row has more or fewer cells than the first row. Put quotation marks around cells that contain the separator.",
	problemHead:       "The row repeats the column names. Remove it.",
	problemQuotes:     "A quotation mark is in the wrong place. Inside a quoted cell, write it twice.",
	problemNoLead:     "The leadId is missing. Enter the leadId from the API response.",
	problemLead:       "The leadId contains an invalid character. Enter the leadId from the API response.",
	problemLeadBlanks: "The leadId contains spaces. Remove them.",
	problemLeadPrefix: "This is neither a leadId, which starts with ld_, nor a transactionId, which starts with tx_, nor the reference of a lead near this period.",
	problemReference:  "Several leads have this reference. Enter the leadId.",
	problemLeadLength: "The leadId has the wrong length. It must have 26 letters and digits after ld_.",
	problemFormula:    "The cell contains a formula. Save the file with values only.",
	problemNoAmount:   "The amount is missing. Enter 0 if the lead earned nothing.",
	problemAmount:     "The amount does not match the chosen amount format. Write it like the other amounts.",
	problemDecimals:   "The amount has more than two decimals. Round it to the invoiced amount.",
	problemLarge:      "The amount is too large. Check that this is the amount column.",
	problemSign:       "The amount's currency sign does not match the row's currency. Correct one of them.",
	problemNoCurrency: "The currency is missing. Enter a code such as GBP.",
	problemCurrency:   "The currency is not supported. Enter GBP, EUR, USD, CAD or AUD.",
	problemDiffers:    "The currencies in the file and the ledger differ. Agree on one with the partner.",

	ProblemSum:      "This is the sum of several rows with the same lead.",
	problemAddend:   "The amount is included in the sum of the lead's first row.",
	problemLeadless: "This ledger entry is not for a lead.",

	problemOtherCurrency: "The file has no readable amount in this currency.",
	problemOtherAccount:  "The file has no leads from this account.",
}

// ProblemText explains the problem with the given code and how to fix it.
func ProblemText(problem string) string {
	if words, ok := problemWords[problem]; ok {
		return words
	}
	return problem
}

func shapeProblem(text string) string {
	switch text = strings.TrimSpace(text); {
	case text == "":
		return problemNoAmount
	case formula(text):
		return problemFormula
	}
	return problemAmount
}

func isLead(text string) bool {
	_, problem := parseLead(text)
	return problem == ""
}

var leadLength = len(id.Format(id.Lead, uuid.Nil))

// formula reports whether a spreadsheet program would evaluate text as a formula. The caller must first
// check that text is not a number, because numbers can also start with + or -.
func formula(text string) bool { return text != "" && strings.ContainsRune("=+-@", rune(text[0])) }

// parseLead parses a leadId or a transactionId, and explains a text that is neither.
func parseLead(text string) (lead uuid.UUID, problem string) {
	text = strings.TrimSpace(text)
	lead, err := quote.ParseLead(text)
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
