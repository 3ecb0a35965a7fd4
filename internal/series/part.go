package series

import (
	"net/url"
	"slices"
	"strings"

	"plumb/internal/stack"
)

// Kinds of what a server tells of a part of it, of which it can have very many.
const (
	DatabaseKind = "database" // what it counts for one of its databases
	TableKind    = "table"    // what the files of one of its largest tables take
)

// How many of them are read apart.
const (
	MostDatabases = 50
	MostTables    = 10
)

// Database names a database of a server.
func Database(server stack.Ref, name string) stack.Ref { return part(DatabaseKind, server, name) }

// Table names a table of a server, as its files do.
func Table(server stack.Ref, name string) stack.Ref { return part(TableKind, server, name) }

// part names a part of a server. Whoever may make one chooses its name: it is escaped, so that it is what follows the last
// slash.
func part(kind string, server stack.Ref, name string) stack.Ref {
	return stack.Ref{Kind: kind, Name: server.String() + "/" + url.PathEscape(name)}
}

// SplitPart gives the server of a database or a table, and its name there.
func SplitPart(of stack.Ref) (server stack.Ref, name string, ok bool) {
	slash := strings.LastIndexByte(of.Name, '/')
	if !slices.Contains([]string{DatabaseKind, TableKind}, of.Kind) || slash < 0 {
		return stack.Ref{}, "", false
	}
	server, err := stack.ParseRef(of.Name[:slash])
	if err != nil {
		return stack.Ref{}, "", false
	}
	name, err = url.PathUnescape(of.Name[slash+1:])
	return server, name, err == nil
}
