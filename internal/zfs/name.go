package zfs

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// isName tells what may be the name of a pool or dataset from what cannot:
// an answer that is none must not make one.
func isName(s string) bool {
	return s != "" && s[0] != '/' && utf8.ValidString(s) && !strings.ContainsFunc(s, unicode.IsControl)
}

// IsDataset tells whether a name may be that of a filesystem or volume: no
// option, no path and no snapshot.
func IsDataset(name string) bool {
	return isName(name) && !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "/") && !strings.ContainsAny(name, "@#% ")
}

// IsPool tells whether a name may be that of a pool.
func IsPool(name string) bool { return IsDataset(name) && !strings.Contains(name, "/") }

// Within tells whether a dataset is another, or lies below it.
func Within(name, above string) bool {
	return name == above || strings.HasPrefix(name, above+"/")
}

// PoolOf gives the pool of a dataset or snapshot.
func PoolOf(name string) string {
	pool, _, _ := strings.Cut(name, "/")
	pool, _, _ = strings.Cut(pool, "@")
	return pool
}

// Names reads one name a line. A name may hold blanks; a last line that was cut
// is passed over.
func Names(text []byte) (all []string) {
	for _, row := range ParseRows(text, 1) {
		all = append(all, row[0])
	}
	return all
}
