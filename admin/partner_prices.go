package admin

import "github.com/pingpost/pingpost/models"

func (k *call) setPrices() error                 { return errNoPage }
func (k *call) pricesTab(p models.Partner) error { return errNoPage }
