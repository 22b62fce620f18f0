package jobs

// RiverLog is riverLog for tests.
var RiverLog = riverLog
