package staff

// Constraints exports constraints for tests.
var Constraints = constraints

// CompareWith replaces the function that compares a password with its hash.
func (s *Service) CompareWith(compare func(password, hash string) (match bool, err error)) {
	s.compare = compare
}
