package reconciliation

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/reconcile"
	"github.com/pingpost/pingpost/models"
	view "github.com/pingpost/pingpost/templates/reconciliation"
	"github.com/pingpost/pingpost/templates/ui"
)

// MaxUpload is the largest upload request in bytes: the file and the other fields.
const MaxUpload = reconcile.MaxFile + web.MaxForm

var (
	errFileSize = atField("file", apperr.TooLarge, "file_size",
		fmt.Sprintf("The file is larger than %d MiB. Split it by date and upload each part.", reconcile.MaxFile>>20))
	errNoPartner = atField("partner", apperr.Invalid, "partner", "Choose a partner.")
	errNoFile    = atField("file", apperr.Invalid, "file", "Choose a file.")
)

// atField returns an error that is shown next to a field of the form.
func atField(field string, code apperr.Code, reason, message string) *apperr.Error {
	return apperr.New(code, reason, message).WithFields(apperr.Field{
		Code:    apperr.InvalidValue,
		Path:    []string{field},
		Message: message,
	})
}

func (h *Handlers) newReconciliationPage(k *web.Request) error {
	return h.showReconciliationNew(k, http.StatusOK, k.R.URL.Query().Get("partner"), nil)
}

func (h *Handlers) showReconciliationNew(k *web.Request, status int, partner string, mistakes ui.Errors) error {
	partners, err := h.partnerOptions(k)
	if err != nil {
		return err
	}
	first := []ui.Option{{Label: "Choose a partner"}}
	return k.Show(status, view.New(view.NewView{
		Shell:    k.Shell("Reconcile a file", allReconciliations),
		Partners: web.SelectOption(append(first, partners...), partner),
		Errors:   mistakes,
		MaxBytes: reconcile.MaxFile,
		TooLarge: errFileSize.Message,
		Limits: fmt.Sprintf("The file can have at most %d MiB and %s rows.", reconcile.MaxFile>>20,
			ui.Number(reconcile.MaxRows)),
	}))
}

// reconciliationNew stores an uploaded file while reading it, so that the whole file is never in
// memory.
func (h *Handlers) reconciliationNew(k *web.Request) error {
	slug := ""
	made, err := models.Reconciliation{}, error(errFileSize)
	if k.R.ContentLength <= MaxUpload {
		slug, made, err = h.readUpload(k)
		// Read the rest, because browsers show no response if the connection closes during an upload.
		_, _ = io.Copy(io.Discard, k.R.Body)
	}
	if err == nil {
		return k.Redirect(reconciliationURL(made.ID))
	}
	if errors.Is(err, web.ErrForm) || errors.Is(err, web.ErrFormKey) {
		return err
	}
	return k.Reject(err, web.Form{
		Show: func(r web.Rejected) error { return h.showReconciliationNew(k, r.Status, slug, r.Errors) },
	})
}

// readUpload reads the parts of the form in order: form key, partner, file.
func (h *Handlers) readUpload(k *web.Request) (slug string, made models.Reconciliation, err error) {
	k.AllowSlowBody()
	parts, err := k.R.MultipartReader()
	if err != nil {
		return "", made, web.ErrForm.WithCause(err)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return slug, made, errNoFile
		}
		if err != nil {
			return slug, made, formError(err)
		}
		switch part.FormName() {
		case "partner":
			text, err := io.ReadAll(io.LimitReader(part, 300))
			if err != nil {
				return slug, made, formError(err)
			}
			slug = string(text)
		case ui.FormKeyField:
			key, err := io.ReadAll(io.LimitReader(part, 300))
			if err != nil {
				return slug, made, formError(err)
			}
			if err := k.UseFormKey(string(key)); err != nil {
				return slug, made, err
			}
		case "file":
			if k.By.Form.Key == uuid.Nil {
				return slug, made, web.ErrFormKey
			}
			made, err = h.storeFile(k, slug, part)
			return slug, made, uploadError(err)
		}
	}
}

func (h *Handlers) storeFile(
	k *web.Request, slug string, part *multipart.Part,
) (made models.Reconciliation, err error) {
	if !web.ValidText(slug) || slug == "" {
		return made, errNoPartner
	}
	p, err := h.Partners.Find(k.R.Context(), k.Scope, slug)
	if f := apperr.As(err); f != nil && f.Code == apperr.NotFound {
		return made, errNoPartner
	}
	if err != nil {
		return made, err
	}
	if part.FileName() == "" {
		return made, errNoFile
	}
	return h.reconciliations(k).Upload(k.R.Context(), k.Scope, p.ID, part.FileName(), part)
}

func formError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return errFileSize
	}
	return web.ErrForm.WithCause(err)
}

// uploadError returns the error to show in the form. If the upload was too large or was cut off, this is
// a new error. Otherwise, it is the given error.
func uploadError(err error) error {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) || errors.Is(err, io.ErrUnexpectedEOF) {
		return formError(err)
	}
	return err
}
