package pricing

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/base/money"
	"github.com/pingpost/pingpost/internal/ratecard"
	pricingrules "github.com/pingpost/pingpost/pricing_rules"
	view "github.com/pingpost/pingpost/templates/pricing"
	"github.com/pingpost/pingpost/templates/ui"
)

const (
	// maxUpload is well above pricingrules.MaxFile, so that a file that is too large is read to its end.
	// Browsers do not show the response if the server closes the connection during the upload.
	maxUpload = 64 << 20
	// shownCells and shownProblems are the maximum lengths of the lists in a preview.
	shownCells    = 200
	shownProblems = 50
	// importTimeout is how long an import waits for the previous one to be read.
	importTimeout = 3 * time.Second
)

var errImporting = apperr.New(apperr.Unavailable, "file", "Another import is being read.").
	WithRetryAfter(5 * time.Second)

var errUpload = apperr.New(apperr.TooLarge, "file",
	fmt.Sprintf("The file is larger than %d MB. Split it into smaller files.", pricingrules.MaxFile>>20))

// uploadFields are the form's fields other than the file.
var uploadFields = []string{"kind", "name", "text", "apply", "version"}

// upload is a submitted file.
type upload struct {
	kind, name, text string
	pasted           bool
	apply            bool
	version          string
}

func (h *Handlers) importPage(k *web.Request) error {
	d, err := h.editable(k)
	if err != nil {
		return err
	}
	return h.showImport(k, http.StatusOK, d, upload{kind: kindCSV}, view.ImportView{})
}

func (h *Handlers) showImport(k *web.Request, status int, d ratecard.Draft, u upload, v view.ImportView) error {
	address := web.DraftURL(d.ID)
	v.Shell, v.Action, v.Cancel, v.Version = h.draftShell(k, d, "Import prices", "grid"), address+"/import", address, d.RowVersion
	v.Kinds = web.SelectOption([]ui.Option{
		{
			Value: kindCSV,
			Label: "Base prices (CSV)",
			Hint:  "Use UTF-8 and the same columns as the grid's CSV export. Base prices that are not in the file stay the same. In a row without a base price, the price is inherited from a broader rule.",
		},
		{Value: kindYAML, Label: "Complete rate card (YAML)", Hint: "Replaces all rules in the draft."},
	}, u.kind)
	if u.pasted {
		v.Text = strings.ToValidUTF8(strings.ReplaceAll(u.text, "\x00", "\ufffd"), "\ufffd")
	}
	return k.Show(status, view.Import(v))
}

func (h *Handlers) importFile(k *web.Request) error {
	d, err := h.draft(k)
	if err != nil {
		return err
	}
	u, i, err := h.readUpload(k, d)
	var problems pricingrules.Problems
	if errors.As(err, &problems) {
		return h.showProblems(k, d, u, problems)
	}
	if f := apperr.As(err); err != nil && (f == nil || f.Reason != "file" && f.Reason != "kind") {
		return err
	}
	if err != nil {
		return k.Reject(err, web.Form{
			FieldOf: func(f *apperr.Error) string { return f.Reason },
			Show: func(r web.Rejected) error {
				return h.showImport(k, r.Status, d, u, view.ImportView{Errors: r.Errors})
			},
		})
	}
	if u.apply {
		return h.applyImport(k, d, u, i)
	}
	return h.showPreview(k, http.StatusOK, d, u, i, nil)
}

// importGC is the value of GOGC while a file is read. Otherwise, the garbage of a large file would take more
// memory than the file's rules.
const importGC = 10

// acquireImport waits until no other file is being read, because a large file needs a lot of memory.
func (h *Handlers) acquireImport(k *web.Request) (release func(), err error) {
	timer := time.NewTimer(importTimeout)
	defer timer.Stop()
	select {
	case h.importing <- struct{}{}:
		before := debug.SetGCPercent(importGC)
		return func() {
			debug.SetGCPercent(before)
			<-h.importing
		}, nil
	case <-timer.C:
	case <-k.R.Context().Done():
	}
	return nil, errImporting
}

// readUpload reads the submitted file and computes its effect on a draft.
func (h *Handlers) readUpload(k *web.Request, d ratecard.Draft) (u upload, i imported, err error) {
	release, err := h.acquireImport(k)
	if err != nil {
		io.Copy(io.Discard, k.R.Body) //nolint:errcheck // read the body, or browsers do not show the response
		return u, i, err
	}
	defer release()
	u, err = h.upload(k)
	if err == nil && strings.TrimSpace(u.text) == "" {
		err = apperr.New(apperr.Invalid, "file", "Choose a file or paste its text.")
	}
	if err == nil && u.kind != kindCSV && u.kind != kindYAML {
		err = apperr.New(apperr.Invalid, "kind", "Choose a file type.")
	}
	if err == nil {
		i, err = h.read(k, d, u)
	}
	return u, i, err
}

// upload reads a multipart or URL-encoded form. It rejects files larger than pricingrules.MaxFile.
func (h *Handlers) upload(k *web.Request) (u upload, err error) {
	fields := map[string]string{}
	if kind, _, _ := mime.ParseMediaType(k.R.Header.Get("Content-Type")); kind == "multipart/form-data" {
		err = h.parts(k, fields)
	} else {
		k.R.Body = http.MaxBytesReader(k.W, k.R.Body, web.MaxForm)
		err = k.ParseForm()
		for _, name := range uploadFields {
			fields[name] = k.R.PostForm.Get(name)
		}
	}
	u = upload{
		kind:    fields["kind"],
		name:    fields["name"],
		text:    fields["text"],
		apply:   fields["apply"] == "yes",
		version: fields["version"],
		pasted:  fields["file"] == "",
	}
	if !u.pasted {
		u.text, u.name = fields["file"], fields["filename"]
		u.kind = kindOf(u.name, u.kind)
	}
	// Browsers send CRLF line endings.
	u.text = strings.TrimPrefix(strings.ReplaceAll(u.text, "\r\n", "\n"), "\ufeff")
	u.name = fileName(u.name)
	if err == nil && len(u.text) > pricingrules.MaxFile {
		err = errUpload
	}
	if errors.Is(err, errUpload) {
		u.text = "" // never import part of a file
	}
	return u, err
}

func (h *Handlers) parts(k *web.Request, fields map[string]string) error {
	r, err := k.R.MultipartReader()
	if err != nil {
		return web.ErrForm.WithCause(err)
	}
	tooLarge := false
	for {
		part, err := r.NextPart() // discards the rest of the previous part
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return badUpload(err)
		}
		if !slices.Contains(uploadFields, part.FormName()) && part.FormName() != "file" {
			continue
		}
		most := int64(web.MaxForm)
		if name := part.FormName(); name == "file" || name == "text" {
			most = 2 * pricingrules.MaxFile // CRLF line endings can make the upload larger than the file
		}
		text, err := io.ReadAll(io.LimitReader(part, most+1))
		if err != nil {
			return badUpload(err)
		}
		tooLarge = tooLarge || int64(len(text)) > most
		fields[part.FormName()] = string(text)
		if part.FormName() == "file" {
			fields["filename"] = part.FileName()
		}
	}
	if tooLarge {
		return errUpload
	}
	return nil
}

func badUpload(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errUpload
	}
	return web.ErrForm.WithCause(err)
}

// kindOf returns the format of a file. A known file extension takes precedence over the format that the
// user chose, because the user may not have changed the form's default.
func kindOf(name, chosen string) string {
	switch lower := strings.ToLower(name); {
	case strings.HasSuffix(lower, ".csv"):
		return kindCSV
	case strings.HasSuffix(lower, ".yaml"), strings.HasSuffix(lower, ".yml"):
		return kindYAML
	}
	return chosen
}

// fileName shortens a file's name for messages and removes control characters.
func fileName(name string) string {
	const most = 60
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, web.Short(name))
	if runes := []rune(name); len(runes) > most {
		name = string(runes[:most])
	}
	return orWord(name, "the pasted text")
}

// imported is the effect of a file on a draft.
type imported struct {
	bases   []ratecard.BaseChange // from a CSV file
	card    pricingrules.Card     // from a YAML file
	changes []view.CellChange
	rules   int // for YAML: the number of rules added and removed
}

func (i imported) isEmpty() bool { return len(i.changes) == 0 && i.rules == 0 }

// read computes the effect of a file on a draft. The error is pricingrules.Problems if the file is
// not valid.
func (h *Handlers) read(k *web.Request, d ratecard.Draft, u upload) (i imported, err error) {
	sheet, err := h.Prices.ExamineCard(k.R.Context(), d.RateCard)
	if err != nil {
		return i, err
	}
	if u.kind == kindYAML {
		card, table, err := pricingrules.Load(u.name, []byte(u.text), h.Prices.Taxonomy(), h.Prices.Markets())
		if err != nil {
			return i, err
		}
		i.card, i.rules = card, ruleChanges(sheet.Card, card)
		for _, c := range pricingrules.Diff(sheet.Table, table) {
			i.changes = append(i.changes, view.CellChange{
				Cell: fmt.Sprintf("%s, %s, %s", c.Industry.Slug, c.Market.Code, c.Class),
				Old:  c.Old.String(),
				New:  c.New.String(),
			})
		}
		return i, nil
	}
	lines, err := pricingrules.ParseBases(u.name, []byte(u.text), h.Prices.Taxonomy(), h.Prices.Markets())
	if err != nil {
		return i, err
	}
	for _, line := range lines {
		if own := sheet.Table.BaseOf(line.Target); own.Direct && own.Minor == line.Minor || !own.Direct && line.Minor == 0 {
			continue
		}
		i.bases = append(i.bases, ratecard.BaseChange{Target: line.Target, Minor: line.Minor})
	}
	i.changes, err = h.baseChanges(sheet, i.bases)
	return i, err
}

// baseChanges returns the old and the new base price of each changed target, with the amounts that it inherits.
func (h *Handlers) baseChanges(
	sheet *ratecard.ExaminedCard, changes []ratecard.BaseChange,
) (all []view.CellChange, err error) {
	table, err := h.Prices.PreviewBases(sheet, changes)
	if err != nil {
		return nil, err
	}
	for _, edit := range changes {
		at, _ := h.Prices.Markets().ByCode(edit.Target.Country)
		currency := h.Prices.Markets().At(at).Currency
		old, is := sheet.Table.BaseOf(edit.Target), table.BaseOf(edit.Target)
		change := view.CellChange{
			Cell:         edit.Target.String(),
			Old:          basePriceText(old, currency),
			New:          basePriceText(is, currency),
			Inherited:    inherits(old),
			NewInherited: inherits(is),
		}
		if ceiling := table.CeilingOf(edit.Target); ceiling != 0 && is.Minor > ceiling {
			change.Ceiling = money.Amount{Minor: ceiling, Currency: currency}.String()
		}
		all = append(all, change)
	}
	return all, nil
}

func inherits(b pricingrules.Base) bool { return b.Rule >= 0 && !b.Direct }

func basePriceText(b pricingrules.Base, c money.Currency) string {
	if b.Rule < 0 {
		return "none"
	}
	return money.Amount{Minor: b.Minor, Currency: c}.String()
}

// ruleChanges counts the rules that are in only one of two rate cards.
func ruleChanges(old, new pricingrules.Card) (n int) {
	count := map[pricingrules.Rule]int{}
	for _, rule := range old.Rules {
		rule.Line = 0
		count[rule]++
	}
	for _, rule := range new.Rules {
		rule.Line = 0
		count[rule]--
	}
	for _, more := range count {
		n += max(more, -more)
	}
	return n
}
