package sampler

import (
	"fmt"
	"strings"

	"plumb/internal/engine/mysql"
	"plumb/internal/product"
)

// Grants gives statements for a user with the least rights that watching needs,
// and says what is lost without each. flavor and version may be empty; then the
// text is for MySQL 8.0 and later.
func Grants(flavor, version string) string {
	head, socket := "MySQL and Percona Server 8.0 and later", "WITH auth_socket"
	switch {
	case flavor == product.MariaDB:
		head, socket = "MariaDB 10.5 and later", "VIA unix_socket"
	case version != "" && !mysql.AtLeast(version, "8.0"):
		head = "MySQL and Percona Server 5.7, from the documentation, never run here"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s, for plumb watch.\nCREATE USER IF NOT EXISTS plumb@localhost IDENTIFIED %s;\n", head, socket)
	for _, r := range [][2]string{
		{"PROCESS ON *.*", "sessions and transactions of others; without it there are no sessions and no locks"},
		{"SELECT ON performance_schema.*", "statements, the time of files, what sessions wait for, unread indexes"},
		{"SHOW VIEW ON *.*", "names of tables, indexes and columns, no rows; without it there is no list of redundant and unread indexes"},
	} {
		fmt.Fprintf(&b, "-- %s\nGRANT %s TO plumb@localhost;\n", r[1], r[0])
	}
	return b.String()
}
