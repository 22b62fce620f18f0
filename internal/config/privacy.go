package config

import "path/filepath"

// Privacy holds the settings of the section `privacy`. These settings determine how staff handle
// consumers' personal data.
type Privacy struct {
	// How many fields of contact records each user may view per day (UTC), `1` to `10000`. All uses of
	// `pingpost lead reveal`, on any machine, together count as one user. When a user reaches 80% of the
	// limit, a warning is added to the audit log.
	RevealsPerDay int

	// The folder of the erasure journal, as an absolute path. The journal lists the erased leads, without
	// personal data. All nodes must share the folder, and it must not be restored together with the
	// database (see docs/how-to/erase-contact-data.md). The folder must exist. If this setting is empty,
	// leads cannot be erased.
	ErasureJournal string

	// Whether a privacy request needs two users: `true` or `false`. If it is `true`, the user who checked
	// the consumer's identity cannot also export or erase the data. All uses of the command line together
	// count as one user.
	RequireApproval bool

	// The name and address of the company that is responsible for the data (the controller), as exports for
	// consumers contain them.
	Controller string

	// What the data is used for, as exports for consumers contain it.
	Purposes string

	// Who receives the data, as exports for consumers contain it.
	Recipients string
}

func defaultPrivacy() Privacy {
	return Privacy{
		RevealsPerDay: 50,
		Purposes:      "To pass your enquiry on to companies that offer what you asked for, and to pay the company that sent it to us.",
		Recipients:    "Companies that offer what you asked for.",
	}
}

// maxExportText is the maximum number of bytes in a text that exports contain.
const maxExportText = 2000

func (p *Privacy) fields() []field {
	return []field{
		whole("reveals_per_day", &p.RevealsPerDay),
		text("erasure_journal", &p.ErasureJournal),
		flag("require_approval", &p.RequireApproval),
		text("controller", &p.Controller),
		text("purposes", &p.Purposes),
		text("recipients", &p.Recipients),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (p *Privacy) Validate() error {
	var ps Problems
	between(&ps, "privacy.reveals_per_day", p.RevealsPerDay, 1, 10_000)
	if p.ErasureJournal != "" && !filepath.IsAbs(p.ErasureJournal) {
		ps.add("privacy.erasure_journal", "must be an absolute path, such as /var/lib/pingpost-erasures")
	}
	for name, value := range map[string]string{"controller": p.Controller, "purposes": p.Purposes, "recipients": p.Recipients} {
		if len(value) > maxExportText {
			ps.add("privacy."+name, "must have at most %d bytes", maxExportText)
		}
	}
	return ps.asError()
}
