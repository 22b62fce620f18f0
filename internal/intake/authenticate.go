package intake

import (
	"context"
	"errors"

	"github.com/google/uuid"

	"github.com/pingpost/pingpost/internal/apperr"
	"github.com/pingpost/pingpost/internal/partners"
	"github.com/pingpost/pingpost/internal/payload"
	"github.com/pingpost/pingpost/internal/quote"
	"github.com/pingpost/pingpost/internal/signing"
	"github.com/pingpost/pingpost/models"
)

// authenticated is a post whose owner is known. If the post is signed, its signature is valid.
type authenticated struct {
	post
	owner owner
}

// authenticate finds the owner of a post and checks its signature. Unsigned posts and invalid
// signatures count towards the rate limits of the client address. Posts with a valid signature
// count towards the partner's rate limit (decision 28). authenticate returns an owner even if it
// returns an error, because rejections are counted by owner.
func (in *Intake) authenticate(ctx context.Context, p post) (owner, error) {
	if !p.claim.Signed {
		return in.authenticateUnsigned(ctx, p)
	}
	if ok, wait := in.wrongSignatures.left(p.Address, p.start); !ok {
		return owner{base: p.base}, errTooMany.Retry(wait)
	}
	who, err := in.findOwner(ctx, p)
	if err == nil {
		who.secret, err = in.checkSignature(p, who)
	}
	if errors.Is(err, signing.ErrSignature) {
		in.wrongSignatures.spend(p.Address, p.start)
	}
	return who, err
}

func (in *Intake) authenticateUnsigned(ctx context.Context, p post) (owner, error) {
	if ok, wait := in.unsigned.take(p.Address, p.start); !ok {
		return owner{base: p.base}, errTooMany.Retry(wait)
	}
	who, err := in.findOwner(ctx, p)
	switch {
	case err != nil:
		return who, err
	case required(who.account.Mode(in.settings.DefaultMode)):
		return who, signing.ErrNoSignature
	}
	return who, p.claimErr
}

// findOwner finds the account that a post belongs to. The owner is determined by the first of
// these that is present: partnerId, base URL, the quote's partner. If none is present, a signed
// post belongs to the partner whose secret signed it, and an unsigned post belongs to the
// platform account (decision 13).
func (in *Intake) findOwner(ctx context.Context, p post) (owner, error) {
	var account *partners.Account
	switch quoted := quotedPartner(p); {
	case p.payload.PartnerID != "":
		account = p.directory.Account(p.payload.PartnerID)
		if account != nil && p.base != nil && account.Partner != p.base {
			account = nil
		}
	case p.base != nil:
		account = p.base.Default
	case quoted != uuid.Nil:
		if partner := p.directory.ByID(quoted); partner != nil {
			account = partner.Default
		}
	case p.claim.Signed:
		return in.matchSecret(ctx, p)
	default:
		account = p.directory.PlatformAccount()
	}
	who := owner{base: p.base, account: account}
	if account == nil || !account.Active() {
		who.inactive = account != nil
		in.verifyDummy(p)
		return who, in.rejectUnknownOwner(p)
	}
	return who, nil
}

func quotedPartner(p post) uuid.UUID {
	if p.quoteErr != nil && !errors.Is(p.quoteErr, quote.ErrExpired) {
		return uuid.Nil
	}
	return p.quote.Partner
}

// rejectUnknownOwner returns the error for a post whose owner is unknown or not active. It
// does not reveal which partners exist.
func (in *Intake) rejectUnknownOwner(p post) error {
	switch {
	case p.claim.Signed:
		return signing.ErrSignature
	case required(in.settings.DefaultMode):
		return signing.ErrNoSignature
	}
	return payload.ErrPost.WithFields(apperr.Field{
		Code: apperr.InvalidValue, Path: []string{"partnerId"},
		Message: "is not an active account. Send the partnerId of an active account, or post to your own base URL",
	})
}

func required(m models.SigningMode) bool {
	return m != models.SigningReportOnly && m != models.SigningOff
}
