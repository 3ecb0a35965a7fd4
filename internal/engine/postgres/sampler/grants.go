package sampler

// Grants gives statements for a role with the least rights that watching needs,
// and says what is lost without them.
func Grants() string {
	return `-- PostgreSQL 10 and later, for plumb watch. The operating-system user plumb logs in over
-- the socket (peer in pg_hba.conf).
CREATE ROLE plumb LOGIN CONNECTION LIMIT 5;
-- what sessions and statements of others do; without it there are no sessions and no statements
GRANT pg_read_all_stats TO plumb;
-- statements: pg_stat_statements must be in shared_preload_libraries; in the database postgres:
-- CREATE EXTENSION pg_stat_statements;
`
}
