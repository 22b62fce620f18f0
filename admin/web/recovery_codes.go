package web

import (
	"net/http"

	"github.com/pingpost/pingpost/templates/ui"
)

// ShowRecoveryCodes shows recovery codes, this once: the page cannot be had again.
func ShowRecoveryCodes(k *Request, codes []string) error {
	return k.ShowSecret(http.StatusOK, ui.RecoveryCodes(ui.RecoveryCodesView{
		Shell:  k.Shell("Recovery codes"),
		Codes:  codes,
		Action: "/account/recovery-codes/kept",
	}))
}
