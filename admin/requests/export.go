package requests

import (
	"io"
	"net/http"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/admin/web"
	"github.com/pingpost/pingpost/internal/base/apperr"
	"github.com/pingpost/pingpost/internal/platform/audit"
	"github.com/pingpost/pingpost/internal/requests"
	view "github.com/pingpost/pingpost/templates/requests"
)

func (h *Handlers) exportPage(k *web.Request) error {
	r, err := h.request(k)
	if err != nil {
		return err
	}
	return h.showExport(k, r, web.Rejected{Status: http.StatusOK, StepUp: k.StepUpAgain()})
}

func (h *Handlers) showExport(k *web.Request, r requests.Request, shown web.Rejected) error {
	return k.Show(shown.Status, view.Export(h.stepView(k, r, "export", "Export data", shown)))
}

// export writes the export and responds with its passphrase. It does not redirect, because the passphrase is
// shown only once.
func (h *Handlers) export(k *web.Request) error {
	r, err := h.request(k)
	if err != nil {
		return err
	}
	return k.Submit(web.Form{
		StepUp: web.StepUpAlways,
		Do: func() (string, error) {
			exported, err := h.Requests.By(k.By).Export(k.R.Context(), r.ID)
			if f := apperr.As(err); err != nil && (f == nil || f.Reason != "submitted") {
				k.By.Form = audit.Submission{} // so that the form can be submitted again
			}
			if err != nil {
				return "", err
			}
			return "", k.ShowSecret(http.StatusOK, view.Exported(view.ExportedView{
				Shell:       k.Shell("Exported data", allRequests, requestLink(r.ID)),
				Passphrase:  exported.Passphrase,
				DownloadURL: web.RequestURL(r.ID) + "/export.zip?file=" + exported.File.String(),
				Request:     requestLink(r.ID),
				Until:       k.Now.Add(requests.ExportRetention),
			}))
		},
		KeepAfterFailure: true,
		Show:             func(rejected web.Rejected) error { return h.showExport(k, r, rejected) },
	})
}

func (h *Handlers) download(k *web.Request) error {
	r, err := h.request(k)
	if err != nil {
		return err
	}
	file, err := uuid.Parse(k.R.URL.Query().Get("file"))
	if err != nil && r.FileID != nil {
		file = *r.FileID
	}
	s := h.Requests.By(k.By)
	archive, err := s.OpenExport(k.R.Context(), r.ID, file)
	if err != nil {
		return web.OrNotFound(err)
	}
	defer archive.Close()
	return k.SendZIP(requests.ID(r.ID), func(to io.Writer) error {
		if _, err := io.Copy(to, archive); err != nil {
			return err
		}
		return s.RecordDownload(k.R.Context(), r.ID, file)
	})
}
