package devpg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// OwnerRole and AppRole are database roles. OwnerRole owns the tables and migrates them. AppRole is for
// the service and owns nothing.
const (
	OwnerRole = "pingpost_owner"
	AppRole   = "pingpost_app"
)

// Passwords contains the passwords of OwnerRole and AppRole.
type Passwords struct{ Owner, App string }

// Provision creates OwnerRole, AppRole and a database that OwnerRole owns, if they do not exist. It also
// sets the passwords of both roles.
func (s *Server) Provision(ctx context.Context, database string, p Passwords) error {
	return Provision(ctx, s.SuperuserURL("postgres"), database, p)
}

// Provision is like Server.Provision, on the server to which a superuser's URL leads.
func Provision(ctx context.Context, superuserURL, database string, p Passwords) error {
	conn, err := pgx.Connect(ctx, superuserURL)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	for role, password := range map[string]string{OwnerRole: p.Owner, AppRole: p.App} {
		var exists bool
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_roles WHERE rolname = $1)`, role).Scan(&exists); err != nil {
			return err
		}
		verb := "CREATE"
		if exists {
			verb = "ALTER"
		}
		// These statements do not accept parameters, so format() quotes the values.
		var statement string
		if err := conn.QueryRow(ctx, `SELECT format('%s ROLE %I LOGIN PASSWORD %L', $1::text, $2::text, $3::text)`, verb, role, password).Scan(&statement); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("creating role %s: %w", role, err)
		}
	}
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, database).Scan(&exists); err != nil || exists {
		return err
	}
	_, err = conn.Exec(ctx,
		"CREATE DATABASE "+pgx.Identifier{database}.Sanitize()+" OWNER "+OwnerRole+" ENCODING 'UTF8' TEMPLATE template0")
	return err
}
