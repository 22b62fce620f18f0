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
}

func defaultPrivacy() Privacy { return Privacy{RevealsPerDay: 50} }

func (p *Privacy) fields() []field {
	return []field{
		whole("reveals_per_day", &p.RevealsPerDay),
		text("erasure_journal", &p.ErasureJournal),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (p *Privacy) Validate() error {
	var ps Problems
	between(&ps, "privacy.reveals_per_day", p.RevealsPerDay, 1, 10_000)
	if p.ErasureJournal != "" && !filepath.IsAbs(p.ErasureJournal) {
		ps.add("privacy.erasure_journal", "must be an absolute path, such as /var/lib/pingpost-erasures")
	}
	return ps.asError()
}
