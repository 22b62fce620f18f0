package config

import (
	"net/url"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/pingpost/pingpost/internal/platform/journal"
)

// Privacy holds the settings of the section `privacy`. These settings determine how staff handle
// consumers' personal data.
type Privacy struct {
	// How many fields of contact records each user may view per day (UTC), `1` to `10000`. Each contact record
	// in an export for a consumer or in an evidence pack counts as one. An export that exceeds the limit needs a
	// second user. All uses of the command line, on any machine, together count as one user. When a user reaches
	// 80% of the limit, a warning is added to the audit log.
	RevealsPerDay int

	// How many searches for consumers each user may make per day (UTC), `1` to `100000`. Each email address and
	// phone number counts, in searches for leads and for privacy requests, and so does each search of the notes.
	// All uses of the command line, on any machine, together count as one user. When a user reaches 80% of the
	// limit, a warning is added to the audit log.
	LookupsPerDay int

	// The erasure journal: the absolute path of a folder, or `s3://BUCKET/PREFIX` for an S3-compatible
	// bucket. The journal lists the erased leads, without personal data. All nodes must share it, and it
	// must not be restored together with the database (see docs/how-to/erase-contact-data.md). The folder
	// or the bucket must exist. If this setting is empty, leads cannot be erased.
	ErasureJournal string

	// The fingerprint of the key with which the erasure journal begins: 64 hexadecimal digits. It is needed to
	// replay the journal in a backup from before the first erasure if the platform key of that time is no longer
	// configured. While it is empty, `serve` and `config check` show the value to set.
	ErasureJournalFingerprint string

	// The origin of the service that stores the bucket, such as `https://s3.eu-central-1.amazonaws.com`. It
	// must be `https`; `http` is only allowed for localhost.
	JournalEndpoint string

	// The region of the bucket, as in the service's documentation. Many services other than AWS ignore it.
	JournalRegion string

	// The ID of the access key for the bucket. It is not secret. The key must be allowed to list, read and
	// add objects below the prefix, and should not be allowed to delete any.
	JournalAccessKey string

	// The secret of the access key for the bucket.
	JournalSecretKey Secret

	// Whether exporting or erasing personal data needs two users: `true` or `false`. If it is `true`, the user
	// who checked the consumer's identity cannot also export or erase the data, and users can erase a lead only
	// through a privacy request. `pingpost person` and `pingpost lead erase` can neither export nor erase. The
	// setting does not apply to retention periods: a user who puts a period into effect, in the console or with
	// `pingpost retention run`, needs no second user.
	RequireApproval bool

	// The law that applies to a privacy request unless the user chooses another one: `gdpr`, `uk_gdpr` or `ccpa`.
	// It determines the deadline and the grounds on which the request can be rejected.
	Law string

	// The absolute path of a folder with templates for letters to consumers: `acknowledge.txt`, `extend.txt`,
	// `reject.txt` and `done.txt` (see docs/how-to/answer-privacy-requests.md). For letters that are not
	// in the folder, the built-in ones are used.
	Letters string

	// The name and address of the company that is responsible for the data (the controller), as exports for
	// consumers contain them.
	Controller string

	// What the data is used for, as exports for consumers contain it.
	Purposes string

	// Who receives the data, as exports for consumers contain it. Name the companies. While this is the default, the
	// console shows a warning, and so does `config check` if `privacy.erasure_journal` is set.
	Recipients string
}

// defaultRecipients describes the recipients without naming them.
const defaultRecipients = "Companies that offer what you asked for."

func defaultPrivacy() Privacy {
	return Privacy{
		RevealsPerDay: 50,
		LookupsPerDay: 200,
		Law:           "gdpr",
		JournalRegion: "us-east-1",
		Purposes:      "To pass your enquiry on to companies that offer what you asked for, and to pay the company that sent it to us.",
		Recipients:    defaultRecipients,
	}
}

var fingerprint = regexp.MustCompile(`^[0-9a-f]{64}$`)

// maxExportText is the maximum number of bytes in a text that exports contain.
const maxExportText = 2000

func (p *Privacy) fields() []field {
	return []field{
		whole("reveals_per_day", &p.RevealsPerDay),
		whole("lookups_per_day", &p.LookupsPerDay),
		text("erasure_journal", &p.ErasureJournal),
		text("erasure_journal_fingerprint", &p.ErasureJournalFingerprint),
		text("journal_endpoint", &p.JournalEndpoint),
		text("journal_region", &p.JournalRegion),
		reread(text("journal_access_key", &p.JournalAccessKey)),
		secret(text("journal_secret_key", &p.JournalSecretKey)),
		flag("require_approval", &p.RequireApproval),
		text("law", &p.Law),
		text("letters", &p.Letters),
		text("controller", &p.Controller),
		text("purposes", &p.Purposes),
		text("recipients", &p.Recipients),
	}
}

// NamesRecipients reports whether the setting Recipients was changed, so that it can name the recipients.
func (p *Privacy) NamesRecipients() bool { return p.Recipients != defaultRecipients }

// warn warns of exports for consumers that would be incomplete. Without an erasure journal, the platform does not answer
// privacy requests yet.
func (p *Privacy) warn(ps *Problems) {
	if p.ErasureJournal == "" {
		return
	}
	if p.Controller == "" {
		ps.add("privacy.controller",
			"is empty: exports for consumers do not name the company that is responsible for the data")
	}
	if !p.NamesRecipients() {
		ps.add("privacy.recipients",
			"is the default: exports for consumers describe the recipients of the data, but do not name them")
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (p *Privacy) Validate() error {
	var ps Problems
	between(&ps, "privacy.reveals_per_day", p.RevealsPerDay, 1, 10_000)
	between(&ps, "privacy.lookups_per_day", p.LookupsPerDay, 1, 100_000)
	for name, value := range map[string]string{"controller": p.Controller, "purposes": p.Purposes, "recipients": p.Recipients} {
		if len(value) > maxExportText {
			ps.add("privacy."+name, "must have at most %d bytes", maxExportText)
		}
	}
	if p.ErasureJournalFingerprint != "" && !fingerprint.MatchString(p.ErasureJournalFingerprint) {
		ps.add("privacy.erasure_journal_fingerprint", "must have 64 hexadecimal digits in lower case")
	}
	if !slices.Contains([]string{"gdpr", "uk_gdpr", "ccpa"}, p.Law) {
		ps.add("privacy.law", "must be gdpr, uk_gdpr or ccpa")
	}
	if p.Letters != "" && !filepath.IsAbs(p.Letters) {
		ps.add("privacy.letters", "must be an absolute path, such as /etc/pingpost/letters")
	}
	if journal.IsBucket(p.ErasureJournal) {
		p.validateBucket(&ps)
		return ps.asError()
	}
	if p.ErasureJournal != "" && !filepath.IsAbs(p.ErasureJournal) {
		ps.add("privacy.erasure_journal",
			"must be an absolute path, such as /var/lib/pingpost-erasures, or a bucket, such as s3://erasures/pingpost")
	}
	for _, given := range []struct {
		path string
		set  bool
	}{
		{"privacy.journal_endpoint", p.JournalEndpoint != ""},
		{"privacy.journal_access_key", p.JournalAccessKey != ""},
		{"privacy.journal_secret_key", p.JournalSecretKey != ""},
	} {
		if given.set {
			ps.add(given.path, "has no effect unless privacy.erasure_journal is a bucket")
		}
	}
	return ps.asError()
}

func (p *Privacy) validateBucket(ps *Problems) {
	if _, _, ok := journal.ParseBucket(p.ErasureJournal); !ok {
		ps.add("privacy.erasure_journal", "must be s3://, the name of a bucket and, optionally, a prefix with letters, digits, hyphens, underscores, dots and slashes, such as s3://erasures/pingpost")
	}
	ps.require("privacy.journal_region", p.JournalRegion != "")
	ps.require("privacy.journal_access_key", p.JournalAccessKey != "")
	ps.require("privacy.journal_secret_key", p.JournalSecretKey != "")
	const path = "privacy.journal_endpoint"
	u, err := url.Parse(p.JournalEndpoint)
	switch {
	case p.JournalEndpoint == "":
		ps.require(path, false)
	case err != nil || !validHost(u.Hostname()) || !validPort(u.Port(), true) || u.Scheme != "http" && u.Scheme != "https" || p.JournalEndpoint != u.Scheme+"://"+u.Host:
		ps.add(path, "must be an origin, such as https://s3.example.com")
	case u.Scheme != "https" && !loopback(u.Hostname()):
		ps.add(path, "must use https; http is only allowed for localhost")
	}
}
