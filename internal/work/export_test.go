package work

// Quiet is the log for River.
var Quiet = quiet
