package testkit

import (
	"sync"
	"testing"
)

// Prepared is a database with rows that many tests of a process need. The first test fills it. Each test gets a copy,
// which takes a fraction of the time. Fill returns a value of type T, such as the rows. Tests must not change this
// value.
type Prepared[T any] struct {
	Fill func(t testing.TB, d *Database) T

	once   sync.Once
	name   string // of the database; empty if filling it failed
	filled T
}

// Copy returns a copy of the database for one test, and what Fill returned.
func (p *Prepared[T]) Copy(t testing.TB) (*Database, T) {
	t.Helper()
	p.once.Do(func() { p.fill(t) })
	if p.name == "" {
		t.Fatal("the prepared database could not be filled")
	}
	d := newDatabaseFrom(t, p.name)
	d.DB = Open(t, d.AppURL)
	return d, p.filled
}

func (p *Prepared[T]) fill(t testing.TB) {
	t.Helper()
	name := createDatabase(t, templateName)
	d := databaseNamed(t, name)
	d.DB = Open(t, d.AppURL)
	p.filled = p.Fill(t, d)
	d.DB.Close() // a database with open connections cannot be copied
	d.root.close()
	p.name = name
}
