package point

import "fmt"

// Grants gives statements that make a role with the least rights of each verb. version
// may be empty; then the text is for 15 and later.
func Grants(version string) string {
	start, stop := "pg_backup_start(text, boolean)", "pg_backup_stop(boolean)"
	if v := major(version); v > 0 && v < 15 {
		start, stop = "pg_start_backup(text, boolean, boolean)", "pg_stop_backup(boolean, boolean)"
	}
	return fmt.Sprintf(`-- PostgreSQL, for snapshot and protect. The operating-system user plumb logs in over
-- the socket (peer in pg_hba.conf); as root Plumb logs in as the server's own user, and needs none of this.
CREATE ROLE plumb LOGIN CONNECTION LIMIT 3;
-- snapshot: which settings a copy needs; without it shared_preload_libraries is missing in copies
GRANT pg_monitor TO plumb;
-- snapshot --mode backup-api: volumes that are not of one moment; without it there is no such mode
GRANT EXECUTE ON FUNCTION pg_catalog.%s TO plumb;
GRANT EXECUTE ON FUNCTION pg_catalog.%s TO plumb;
-- the same: keeps the WAL of a long backup; without it a point fails when the WAL was recycled meanwhile
ALTER ROLE plumb REPLICATION;
-- clone --replica: for the account with which the copy follows, not for plumb
-- CREATE ROLE replica LOGIN REPLICATION PASSWORD '…';
-- Drills, clones, rollback and prune ask nothing more of this server: copies let nobody in but Plumb,
-- as a superuser of their own.
`, start, stop)
}
