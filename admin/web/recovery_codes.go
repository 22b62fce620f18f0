package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates/ui"
)

// ShowRecoveryCodes shows new recovery codes. They cannot be shown again.
func (k *Request) ShowRecoveryCodes(codes []string) error {
	return k.ShowSecret(http.StatusOK, ui.RecoveryCodes(ui.RecoveryCodesView{
		Shell:  k.Shell("Recovery codes"),
		Codes:  codes,
		Action: "/account/recovery-codes/kept",
	}))
}
