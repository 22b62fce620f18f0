package admin

import "github.com/pingpost/pingpost/internal/ratecard"

func (k *call) pricingPage() error              { return errNoPage }
func (k *call) versionExport() error            { return errNoPage }
func (k *call) draftNewPage() error             { return errNoPage }
func (k *call) draftNew() error                 { return errNoPage }
func (k *call) draftExport() error              { return errNoPage }
func (k *call) draftTitle() error               { return errNoPage }
func (k *call) discardPage() error              { return errNoPage }
func (k *call) discard() error                  { return errNoPage }
func (k *call) draftCell() error                { return errNoPage }
func (k *call) draftCells() error               { return errNoPage }
func (k *call) draftUndo() error                { return errNoPage }
func (k *call) ruleNewPage() error              { return errNoPage }
func (k *call) ruleNew() error                  { return errNoPage }
func (k *call) rulePage() error                 { return errNoPage }
func (k *call) changeRule() error               { return errNoPage }
func (k *call) removeRule() error               { return errNoPage }
func (k *call) importPage() error               { return errNoPage }
func (k *call) importFile() error               { return errNoPage }
func (k *call) gridTab(d ratecard.Draft) error  { return errNoPage }
func (k *call) rulesTab(d ratecard.Draft) error { return errNoPage }
func (k *call) editsTab(d ratecard.Draft) error { return errNoPage }
