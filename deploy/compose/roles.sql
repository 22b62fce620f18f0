-- Creates the database and its roles, if they are missing, and sets the passwords (docs/how-to/deploy.md, step 1).
\set ON_ERROR_STOP on
\set owner `cat /secrets/owner-password`
\set app `cat /secrets/app-password`
SELECT format('CREATE ROLE %I LOGIN', name) FROM unnest(ARRAY['pingpost_owner', 'pingpost_app']) AS wanted (name)
	WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec
ALTER ROLE pingpost_owner PASSWORD :'owner';
ALTER ROLE pingpost_app PASSWORD :'app';
SELECT $$CREATE DATABASE pingpost OWNER pingpost_owner ENCODING 'UTF8' TEMPLATE template0$$
	WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'pingpost') \gexec
