package series

import (
	"net/url"
	"strings"

	"plumb/internal/stack"
)

// DatabaseKind is the kind of what a server counts for each of its databases.
const DatabaseKind = "database"

// MostDatabases is how many databases of a server are read apart.
const MostDatabases = 50

// Database names a database of a server. Whoever may make a database chooses its name: it is escaped, so that it is what
// follows the last slash.
func Database(server stack.Ref, name string) stack.Ref {
	return stack.Ref{Kind: DatabaseKind, Name: server.String() + "/" + url.PathEscape(name)}
}

// SplitDatabase gives the server of a database, and its name there.
func SplitDatabase(of stack.Ref) (server stack.Ref, name string, ok bool) {
	slash := strings.LastIndexByte(of.Name, '/')
	if of.Kind != DatabaseKind || slash < 0 {
		return stack.Ref{}, "", false
	}
	server, err := stack.ParseRef(of.Name[:slash])
	if err != nil {
		return stack.Ref{}, "", false
	}
	name, err = url.PathUnescape(of.Name[slash+1:])
	return server, name, err == nil
}
