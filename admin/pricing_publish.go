package admin

import "github.com/pingpost/pingpost/internal/ratecard"

func (k *call) explainPage() error                { return errNoPage }
func (k *call) versionsPage() error               { return errNoPage }
func (k *call) versionPage() error                { return errNoPage }
func (k *call) comparePage() error                { return errNoPage }
func (k *call) updateDraft() error                { return errNoPage }
func (k *call) startReplay() error                { return errNoPage }
func (k *call) replayLive() error                 { return errNoPage }
func (k *call) publishDraft() error               { return errNoPage }
func (k *call) approveDraft() error               { return errNoPage }
func (k *call) takeBack() error                   { return errNoPage }
func (k *call) previewTab(d ratecard.Draft) error { return errNoPage }
func (k *call) replayTab(d ratecard.Draft) error  { return errNoPage }
func (k *call) publishTab(d ratecard.Draft) error { return errNoPage }
