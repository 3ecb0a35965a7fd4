package point

import (
	"fmt"
	"strings"
)

// Grants gives statements that make a role with the least rights that a verb needs. version may be empty;
// then the text is for 15 and later.
func Grants(version, verb string) string {
	start, stop := "pg_backup_start(text, boolean)", "pg_backup_stop(boolean)"
	if v := major(version); v > 0 && v < 15 {
		start, stop = "pg_start_backup(text, boolean, boolean)", "pg_stop_backup(boolean, boolean)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `-- PostgreSQL, for plumb %s. As root Plumb logs in as the server's own user, and needs none of this.
`, verb)
	const role = `-- The operating-system user plumb logs in over the socket (peer in pg_hba.conf).
CREATE ROLE plumb LOGIN CONNECTION LIMIT 8;
`
	switch verb {
	case "snapshot", "protect run":
		fmt.Fprintf(&b, role+`-- which settings a copy needs; without it shared_preload_libraries is missing in copies, which a doubt says, and there is no backup-api mode
GRANT pg_monitor TO plumb;
-- --mode backup-api, for volumes that are not of one moment; without them there is no such mode
GRANT EXECUTE ON FUNCTION pg_catalog.%s TO plumb;
GRANT EXECUTE ON FUNCTION pg_catalog.%s TO plumb;
-- the same: keeps the WAL of a long backup; without it a point fails when the WAL was recycled meanwhile
ALTER ROLE plumb REPLICATION;
`, start, stop)
	case "rollback":
		b.WriteString(role + `-- --table, in the database and for the schema of the table; without them it is refused
GRANT USAGE, CREATE ON SCHEMA public TO plumb;
-- --table: the table gets the owner that it had; without it the server refuses
-- GRANT owner TO plumb;
`)
	case "clone", "clone refresh":
		b.WriteString(`-- Nothing of the server. With --replica the account with which the copy follows, which is not Plumb's, needs:
-- CREATE ROLE replica LOGIN REPLICATION PASSWORD '…';
`)
	default:
		b.WriteString("-- Nothing of the server: copies let nobody in but Plumb, as a superuser of their own.\n")
	}
	return b.String()
}
