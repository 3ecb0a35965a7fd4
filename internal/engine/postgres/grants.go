package postgres

// Grants gives statements that make a role which may read what Plumb reads
// and nothing else, for a person to look at and run. It logs in over the
// socket as the operating-system user plumb.
func Grants() string {
	return `-- PostgreSQL 10 and later. The operating-system user plumb logs in over the socket
-- (peer in pg_hba.conf).
CREATE ROLE plumb LOGIN CONNECTION LIMIT 3;
GRANT pg_monitor TO plumb;
-- what the next start would read; without it Plumb reads the files, as root
GRANT SELECT ON pg_catalog.pg_file_settings TO plumb;
GRANT EXECUTE ON FUNCTION pg_catalog.pg_show_all_file_settings() TO plumb;
-- how far the members of multixacts have come: names of files below the data
-- directory, not what is in them
GRANT EXECUTE ON FUNCTION pg_catalog.pg_ls_dir(text) TO plumb;
`
}
