package point

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/engine/mysql"
	"plumb/internal/product"
)

// right is one that a verb needs.
type right struct {
	verbs   string // with | between them
	what    string // "RELOAD ON *.*"
	without string // what it is for, and what is lost without it
}

// Grants gives statements for a user with the least rights that a verb needs, and says what is lost
// without each. flavor and version may be empty; then the text is for MySQL 8.0 and later.
func Grants(flavor, version, verb string) string {
	head, socket, all := "MySQL and Percona Server 8.0 and later", "WITH auth_socket", rightsOfMySQL()
	switch {
	case flavor == product.MariaDB:
		head, socket, all = "MariaDB 10.5 and later (before 10.5 BINLOG MONITOR is called REPLICATION CLIENT)", "VIA unix_socket", rightsOfMariaDB()
	case version != "" && !mysql.AtLeast(version, "8.0"):
		head, all = "MySQL and Percona Server 5.7, from the documentation, never run here", rightsOf57()
	}
	all = slices.DeleteFunc(all, func(r right) bool { return !slices.Contains(strings.Split(r.verbs, "|"), verb) })
	var b strings.Builder
	fmt.Fprintf(&b, "-- %s, for plumb %s.\n", head, verb)
	if len(all) > 0 {
		fmt.Fprintf(&b, "CREATE USER IF NOT EXISTS plumb@localhost IDENTIFIED %s;\n", socket)
	}
	for _, r := range all {
		fmt.Fprintf(&b, "-- %s\nGRANT %s TO plumb@localhost;\n", r.without, r.what)
	}
	if flavor == product.MariaDB && slices.Contains(strings.Split(taking, "|"), verb) {
		b.WriteString("-- locked, on a node of Galera: wsrep_desync; without it there is no locked mode there\n-- GRANT SUPER ON *.* TO plumb@localhost;\n")
	}
	switch {
	case verb == "clone" || verb == "clone refresh":
		b.WriteString("-- Nothing of the server. With --replica the account with which the copy follows, which is not Plumb's, needs:\n-- GRANT REPLICATION SLAVE ON *.* TO replica@localhost;\n")
	case len(all) == 0:
		b.WriteString("-- Nothing of the server: copies are started without accounts.\n")
	}
	return b.String()
}

// taking are the verbs that take points.
const taking = "snapshot|protect run"

// Rights that are the same everywhere.
func reload() right {
	return right{taking, "RELOAD ON *.*", "locked: FLUSH ENGINE LOGS and the lock; without it there is no locked mode"}
}

func showView() right {
	return right{taking, "SHOW VIEW ON *.*", "whether all tables are transactional; without it there is no crash mode"}
}

func process() right {
	return right{taking, "PROCESS ON *.*", "which session blocks the lock; without it only the lock's own time limit applies"}
}

func position(name string) right {
	return right{taking, name + " ON *.*", "the position in the binary log; without it a crash point has none, and there is no locked mode"}
}

// stands is for who must tell where the server stands afterwards.
func stands(name string) right {
	return right{"rollback", name + " ON *.*", "the server's position; without it nothing is rolled back"}
}

// ofTable is for the databases whose tables are brought back.
func ofTable() right {
	return right{"rollback", tableRights + " ON shop.*", "--table: the table is made, filled, compared and renamed; without any of them it is refused"}
}

// replicas is what the rights are for by which those are seen.
const replicas = "which replicas are connected; without it a rollback is refused unless --replicas is given"

const tableRights = "SELECT, INSERT, CREATE, ALTER, DROP"

func rightsOfMariaDB() []right {
	return []right{reload(), position("BINLOG MONITOR"), stands("BINLOG MONITOR"), showView(), process(), ofTable()}
}

func rightsOfMySQL() []right {
	seen := "SELECT ON performance_schema.*"
	return []right{reload(), {taking, "BACKUP_ADMIN ON *.*", "locked: LOCK INSTANCE FOR BACKUP; without it there is no locked mode"}, position("REPLICATION CLIENT"), stands("REPLICATION CLIENT"), showView(), process(),
		{taking, seen, "who holds the lock already; without it nobody is named"}, {"rollback", seen, replicas}, {taking, "XA_RECOVER_ADMIN ON *.*", "prepared XA transactions; without it they are neither waited for nor named"}, ofTable()}
}

func rightsOf57() []right {
	return []right{reload(), position("REPLICATION CLIENT"), stands("REPLICATION CLIENT"), showView(), process(), {"rollback", "PROCESS ON *.*", replicas}, ofTable()}
}
