package partners

import (
	"context"
	"fmt"

	"gorm.io/gorm"

	"github.com/pingpost/pingpost/internal/postgres"
	"github.com/pingpost/pingpost/models"
)

// MaxSharedAddress bounds how many partners may be recognised by their secret
// alone (decision 13): each costs every anonymous post one comparison.
const MaxSharedAddress = 100

var errAddressFull = clash("shared_address_full", "shared_address",
	fmt.Sprintf("All %d places at the shared address are taken: let the partner post to its own base URL, or take another partner off the shared address first.",
		MaxSharedAddress))

// SharedAddresses is how many of the MaxSharedAddress places are taken, on the whole
// platform: the number says nothing of any partner.
func (s *Service) SharedAddresses(ctx context.Context) (int, error) {
	n, err := sharedAddresses(s.db.Gorm.WithContext(ctx))
	return n, postgres.Translate(err)
}

func sharedAddresses(db *gorm.DB) (int, error) {
	var n int64
	err := db.Model(&models.Partner{}).Where("shared_address").Count(&n).Error
	return int(n), err
}

// sharedAddressHasSlot counts under a lock, so that two at once do not both take the
// last place.
func sharedAddressHasSlot(tx *gorm.DB) (bool, error) {
	if err := tx.Exec(`SELECT pg_advisory_xact_lock(hashtext('partners shared address'))`).Error; err != nil {
		return false, err
	}
	n, err := sharedAddresses(tx)
	return n < MaxSharedAddress, err
}
