package models_test

import (
	"testing"

	"github.com/pingpost/pingpost/models"
)

func TestKindOf(t *testing.T) {
	for kind, outcomes := range map[models.OutcomeKind][]models.Outcome{
		models.KindPriced:    {models.OutcomePriced},
		models.KindUnpriced:  {models.OutcomeExcluded, models.OutcomePaused, models.OutcomeCapped},
		models.KindDelivered: {models.OutcomeDelivered, models.OutcomeDeliveredUnsigned, models.OutcomeDeliveredReportOnly},
		models.KindReplayed:  {models.OutcomeReplayed, models.OutcomeReplayedUnsigned, models.OutcomeReplayedReportOnly},
		models.KindRejected:  {models.OutcomeInactive, "already_delivered", "delivered_", "signature", ""},
	} {
		for _, outcome := range outcomes {
			if got := models.KindOf(string(outcome)); got != kind {
				t.Errorf("%q: kind %d, want %d", outcome, got, kind)
			}
		}
	}
}
