package reconcile

// Constraints are the errors for what the schema rejects.
var Constraints = constraints

// SetMaxFile lowers MaxFile.
func (s *Service) SetMaxFile(bytes int) { s.maxFile = bytes }
