package partners

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/platform/postgres"
	"github.com/pingpost/pingpost/models"
)

// MaxSharedBaseURL is the maximum number of partners that can use the shared base URL, where a
// post's signature identifies the partner (decision 13). A post to the shared base URL is
// checked against the secrets of these partners until one of them matches.
const MaxSharedBaseURL = 100

var errAddressFull = clash("shared_address_full", "shared_base_url",
	fmt.Sprintf("The shared base URL is already on for %d partners, which is the maximum. Let the partner post to its own base URL, or turn off the shared base URL for another partner first.",
		MaxSharedBaseURL))

// SharedAddresses returns the number of partners that can use the shared base URL. The maximum is
// MaxSharedBaseURL. It needs no scope, because it reveals nothing about a single partner.
func (s *Service) SharedAddresses(ctx context.Context) (int, error) {
	n, err := sharedAddresses(s.db.Gorm.WithContext(ctx))
	return n, postgres.Translate(err)
}

func sharedAddresses(db *gorm.DB) (int, error) {
	var n int64
	err := db.Model(&models.Partner{}).Where("shared_base_url").Count(&n).Error
	return int(n), err
}

// sharedAddressHasSlot reports whether one more partner can use the shared base URL. It takes a lock, so
// that two transactions cannot both add the last partner.
func sharedAddressHasSlot(tx *gorm.DB) (bool, error) {
	if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('partners shared address'))`).Error; err != nil {
		return false, err
	}
	n, err := sharedAddresses(tx)
	return n < MaxSharedBaseURL, err
}
