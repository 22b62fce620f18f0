package jobs

// RiverLog is riverLog for tests.
var RiverLog = riverLog

// HeartbeatTimeout is heartbeatTimeout for tests.
const HeartbeatTimeout = heartbeatTimeout
