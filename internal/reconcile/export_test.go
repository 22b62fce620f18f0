package reconcile

// Constraints exports constraints for tests.
var Constraints = constraints

// SetMaxFile lowers MaxFile.
func (s *Service) SetMaxFile(bytes int) { s.maxFile = bytes }
