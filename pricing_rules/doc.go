// Package pricingrules calculates the prices of leads from the taxonomy, the markets and the rules of a
// rate card. Results depend only on the arguments and on three embedded files.
//
// A cell is a combination of an industry, a market and an urgency class. A rule selects cells and sets
// effects on their price. A selector field that is not set matches everything:
//
//	industry, category or any  ×  country or any  ×  urgency or any
//
// For each effect, the most specific rule wins. A rule for an industry overrides a rule for its
// category, and both override a rule for any industry. If rules are equally specific in this
// respect, one that names a country wins. If they are still equal, one that names an urgency wins.
// A cell's price is calculated in this order:
//
//   - Exclusion: true excludes the cell (decision 4), and false overrides a broader exclusion.
//   - Base price, in the currency of the cell's market. Base prices in other currencies are ignored.
//   - Multipliers, at most one of each kind: an urgency multiplier (the selector has an urgency), a
//     country multiplier (a country and no urgency) and an industry multiplier (neither).
//   - Floor and ceiling, in the cell's currency.
//   - The partner's adjustment, if there is one (PriceFor).
//   - Rounding to the minor unit, half to even. All steps before this are exact.
//
// Compile rejects a rate card if two rules with the same selector set the same effect, if a cell is
// neither excluded nor priced above 0, or if a cell's floor is above its ceiling. It reports every
// problem that it finds.
//
// docs/explanation/pricing.md contains examples, which a test runs.
package pricingrules
