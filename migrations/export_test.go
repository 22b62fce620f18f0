package migrations

// Explain is what a refused step's error becomes.
var Explain = explain
