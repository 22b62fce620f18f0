package jobs

// Quiet is the log for River.
var Quiet = riverLog
