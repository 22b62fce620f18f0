// Package pricingrules prices leads. It has the taxonomy, the markets and the rules of rate cards. It
// reads no clock and does no I/O except for three embedded files.
//
// A cell is an industry × a market × an urgency class. A rule selects cells and sets effects on their
// price. A selector field that is not set matches everything:
//
//	industry, category or any  ×  country or any  ×  urgency or any
//
// For each effect, the most specific rule wins: first by industry, category or any; then by country or
// any; then by urgency or any. A cell's price is calculated in this order:
//
//   - Exclude: true excludes the cell (decision 4). false overrides a broader exclusion.
//   - Base price, in the currency of the cell's market. Base prices in other currencies are ignored.
//   - Multipliers, at most one of each kind: an urgency multiplier (the selector has an urgency), a
//     country multiplier (a country and no urgency) and an industry multiplier (neither).
//   - Floor and ceiling, in the cell's currency.
//   - The partner's adjustment, if there is one (PriceFor).
//   - Rounding to the minor unit, half to even. All steps before this are exact.
//
// Compile rejects a rate card and reports every problem if two rules with the same selector set the same
// effect, if a cell is neither excluded nor priced above 0, or if a floor is above its ceiling.
//
// docs/explanation/pricing.md has worked examples, which a test runs.
package pricingrules
