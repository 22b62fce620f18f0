package ui

import (
	"strings"
	"testing"
)

func TestConfirmFormLabelsItsCancelLink(t *testing.T) {
	for label, want := range map[string]string{"": ">Cancel</a>", "Keep payout run": ">Keep payout run</a>"} {
		var page strings.Builder
		v := ConfirmView{Submit: "Cancel payout run", Cancel: "/payouts", CancelLabel: label}
		if err := ConfirmForm(v).Render(t.Context(), &page); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(page.String(), want) {
			t.Errorf("CancelLabel %q: the form does not contain %q: %s", label, want, page.String())
		}
	}
}
