// Package pricingrules prices leads: which industries there are, which markets,
// and what a rate card pays for each industry in each market at each urgency. It
// is pure: it reads no clock and does no I/O but for the three embedded files.
//
// A cell is an industry × a market × an urgency class. A rule selects cells and
// gives them effects. What a rule does not name, it takes any of:
//
//	industry or category or any  ×  country or any  ×  urgency or any
//
// The most specific rule wins, for each effect by itself: an industry before a
// category before any; between equals, a country before any; between equals
// again, an urgency before any. A cell's price is made in this order:
//
//   - Exclude: the most specific rule that sets it decides. true means that the
//     cell is not bought (decision 4); false takes it back below a broader exclusion.
//   - Base: the most specific rule that gives one in the currency of the cell's
//     market. Bases in other currencies are passed over.
//   - Multipliers, at most three, one of each kind, each the most specific of its
//     kind: an urgency multiplier (the selector names an urgency), a country
//     multiplier (a country and no urgency), an industry multiplier (neither).
//   - Floor and ceiling, the most specific of each in the cell's currency.
//   - The adjustment of a partner, where it has one (PriceFor).
//   - Rounding to the minor unit, half to even. It happens once; all before is exact.
//
// Two rules of the same selector that set the same effect are a problem, and so
// are a cell that is neither excluded nor priced above 0, and one with its floor
// above its ceiling. Compile refuses such a card and reports every problem.
//
// docs/pricing.md has worked examples, which a test executes.
package pricingrules
