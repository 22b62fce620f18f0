package pricingrules

import "embed"

//go:embed taxonomy.yaml markets.yaml rate_card.yaml
var files embed.FS

// Shipped parses the embedded taxonomy, markets and rate card. A new installation publishes this rate
// card as its first version, and stores later versions in the database. Shipped returns an error only if
// an embedded file is not valid.
func Shipped() (*Taxonomy, *Markets, Card, error) {
	tax, err := read("taxonomy.yaml", ParseTaxonomy)
	if err != nil {
		return nil, nil, Card{}, err
	}
	markets, err := read("markets.yaml", ParseMarkets)
	if err != nil {
		return nil, nil, Card{}, err
	}
	card, err := read("rate_card.yaml", ParseCard)
	if err != nil {
		return nil, nil, Card{}, err
	}
	return tax, markets, card, nil
}

func read[T any](name string, parse func(file string, data []byte) (T, error)) (T, error) {
	data, err := files.ReadFile(name)
	if err != nil {
		var none T
		return none, err
	}
	return parse(name, data)
}
