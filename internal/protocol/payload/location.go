package payload

type locationFields struct {
	postcode, postalCode, address, streetAddress, country raw
}

// location reads the location of the job. It checks the postcode and the country in the same way as
// in a ping (decision 9).
func (p *problems) location(f *postFields) (l Location) {
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
		field{raw: in.country, parent: "location", name: "country"},
		field{raw: f.country, name: "country"},
	)
	if code, ok := p.country(country); ok {
		code = p.resolveAlias(code, country)
		l.Country = string(code[:])
	}
	return l
}

func pickLocation(object members) locationFields {
	var f locationFields
	for object.next() {
		value := object.value.given()
		switch string(object.name) {
		case "postcode":
			f.postcode = value.filled()
		case "postal_code":
			f.postalCode = value.filled()
		case "address":
			f.address = value.filled()
		case "street_address":
			f.streetAddress = value.filled()
		case "country":
			f.country = value.filled()
		}
	}
	return f
}
