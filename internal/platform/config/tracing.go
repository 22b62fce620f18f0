package config

import (
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Tracing holds the settings of the section `tracing`. Traces contain the text of SQL statements without their
// arguments, and IDs of partners and leads, but no personal data.
type Tracing struct {
	// The base URL of an OpenTelemetry collector that accepts OTLP over HTTP, such as
	// `http://127.0.0.1:4318`. If this setting is empty, there are no traces.
	Endpoint string

	// A header of the requests to the collector, such as `Authorization: Bearer …`.
	Header Secret

	// The share of requests that are traced, from `0` to `1`. If a proxy in `http.trusted_proxies` sends
	// the header `traceparent`, this header decides instead.
	SampleRatio float64
}

func defaultTracing() Tracing { return Tracing{SampleRatio: 0.01} }

func (t *Tracing) fields() []field {
	return []field{
		text("endpoint", &t.Endpoint),
		secret(text("header", &t.Header)),
		fraction("sample_ratio", &t.SampleRatio),
	}
}

// Validate checks the section. Its error has the type Problems and contains all problems.
func (t *Tracing) Validate() error {
	var ps Problems
	if t.Endpoint != "" {
		u, err := url.Parse(t.Endpoint)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil ||
			u.RawQuery != "" {
			ps.add("tracing.endpoint", "must be a URL, such as http://127.0.0.1:4318")
		}
	}
	name, value := t.HeaderField()
	valid := httpguts.ValidHeaderFieldName(name) && value != "" && httpguts.ValidHeaderFieldValue(value)
	if t.Header != "" && !valid {
		ps.add("tracing.header", "must be the name and the value of a header, such as Authorization: Bearer …")
	}
	if !(t.SampleRatio >= 0 && t.SampleRatio <= 1) {
		ps.add("tracing.sample_ratio", "must be between 0 and 1")
	}
	return ps.asError()
}

// HeaderField returns the name and the value of Header.
func (t *Tracing) HeaderField() (name, value string) {
	name, value, _ = strings.Cut(t.Header.Reveal(), ":")
	return name, strings.TrimSpace(value)
}
