package payload

type locationFields struct {
	postcode, postalCode, address, streetAddress, country raw
}

// location reads the location of the job. It checks the postcode and the country in the same way as
// in a ping (decision 9). An empty country is treated as absent (decision 7), but an empty postcode
// is rejected.
func (p *problems) location(f *postFields) (l Location, warnings []Warning) {
	var in locationFields
	if object, ok := p.object(field{raw: f.location, name: "location"}); ok {
		in = pickLocation(object)
	}
	postcode := p.postcode(first(
		field{raw: in.postcode, parent: "location", name: "postcode"},
		field{raw: in.postalCode, parent: "location", name: "postal_code"},
		field{raw: f.postcode, name: "postcode"},
		field{raw: f.postalCode, name: "postal_code"},
	))
	l.Postcode = string(postcode)
	l.Address = p.copied(first(
		field{raw: in.address, parent: "location", name: "address"},
		field{raw: in.streetAddress, parent: "location", name: "street_address"},
		field{raw: f.address, name: "address"},
	), maxAddress)
	country := first(
		field{raw: in.country.filled(), parent: "location", name: "country"},
		field{raw: f.country.filled(), name: "country"},
	)
	if code, ok := p.country(country); ok {
		code, warnings = resolveAlias(code, country)
		l.Country = string(code[:])
	}
	return l, warnings
}

func pickLocation(object members) locationFields {
	var f locationFields
	for object.next() {
		value := object.value.given()
		switch string(object.name) {
		case "postcode":
			f.postcode = value
		case "postal_code":
			f.postalCode = value
		case "address":
			f.address = value
		case "street_address":
			f.streetAddress = value
		case "country":
			f.country = value
		}
	}
	return f
}
