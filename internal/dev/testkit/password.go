package testkit

import "github.com/alexedwards/argon2id"

// CheapPasswords returns cheap parameters for hashing passwords. With the production
// parameters, hashing would take most of the time of tests that sign in.
func CheapPasswords() *argon2id.Params {
	return &argon2id.Params{Memory: 64, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}
}
