package migrations

// Explain exports explain for tests.
var Explain = explain
