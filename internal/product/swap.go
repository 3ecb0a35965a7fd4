package product

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Release is a flavour in a version.
type Release struct{ Flavor, Version string }

// String says what people call it.
func (r Release) String() string {
	return strings.TrimSpace(OfFlavor(r.Flavor).Label(r.Flavor) + " " + r.Version)
}

// Way is how the data of one release come under another, and how they come back.
type Way struct {
	How  string
	Back string
	// Steps are what a person types, where only a person knows enough; none where the engine has a way of its own.
	Steps []string
	// No says why there is no way in place, and Else what there is.
	No, Else string
}

const (
	dumped    = "a dump that is loaded into a server beside it; the old one stays until the new one has proven itself"
	pointOnly = "the point that was taken before, or the old cluster, and with either all that was written since is lost: going down is not supported"
)

// Swap says how a server of one release becomes one of another. What nobody has said to be safe has no way.
func Swap(from, to Release) Way {
	a, b := series(from.Version), series(to.Version)
	switch {
	case OfFlavor(from.Flavor).Kind != OfFlavor(to.Flavor).Kind || a == nil || b == nil:
		return Way{No: fmt.Sprintf("nothing is known of a way from %s to %s", from, to), Else: dumped}
	case from.Flavor == Postgres:
		return postgresWay(from, to)
	case from.Flavor == MariaDB && to.Flavor == MariaDB:
		return mariaWay(a, b)
	case from.Flavor == MariaDB || to.Flavor == MariaDB:
		return Way{No: "the data dictionary, GTIDs, accounts and JSON of MySQL from 8.0 on and of MariaDB are not the same", Else: dumped}
	}
	return mysqlWay(from, to, a, b)
}

func postgresWay(from, to Release) Way {
	a, b := major(series(from.Version)), major(series(to.Version))
	switch order := slices.Compare(b, a); {
	case len(b) < len(series(to.Version)):
		return Way{No: to.Version + " is a minor version: packages are of a major version, and have its newest minor one", Else: "its major version, " + numbers(b)}
	case order < 0:
		return Way{No: "pg_upgrade goes to newer versions only", Else: dumped}
	case order == 0:
		return Way{No: "it is of that version: minor versions need no other data", Else: "the system's packages, and a restart"}
	}
	return Way{How: "pg_upgrade copies the data into a new cluster while the server is stopped, and the old one stays as it was", Back: "the old cluster: what was written since is not in it"}
}

// major gives the part of a version of PostgreSQL that packages are called by: the first number, before 10 the first two.
func major(version []int) []int {
	n := 1
	if version[0] < 10 {
		n = 2
	}
	return version[:min(n, len(version))]
}

// numbers writes a version.
func numbers(version []int) string {
	var words []string
	for _, n := range version {
		words = append(words, strconv.Itoa(n))
	}
	return strings.Join(words, ".")
}

func mariaWay(a, b []int) Way {
	switch {
	case less(b, a):
		return Way{No: "MariaDB does not read what a newer one has written", Else: dumped}
	case !less(a, b):
		return Way{No: "it is of that series: within it only the packages change", Else: "the system's packages, and a restart"}
	}
	return Way{How: "the newer server opens the same files, and mariadb-upgrade changes them, once both were tried on a copy",
		Back: "the data as they were when the server was stopped, under the old packages: what was written since is not in them"}
}

// inPlace is a newer package on the same data.
func inPlace() Way {
	return Way{How: "the newer server opens the same files, and changes them", Back: pointOnly,
		Steps: []string{"plumb snapshot, and plumb drill of that point: without a point that starts there is no way back",
			"unpack the package of the new server somewhere (dpkg -x, or rpm2cpio and cpio), and have its mysqld read the options as the server's user: mysqld --validate-config names the first that it does not take",
			"stop the server", "install the packages of the new one, and start it"}}
}

// fromDown are the first of the series within which MySQL says that one may go back: 8.0 from 8.0.35 on, and the long-term 8.4 and
// 9.7 (Reference Manual 8.4, table 4.1). Within an innovation release it may not, whatever its name (26.7, section 4.1).
var fromDown = [][]int{{8, 0, 35}, {8, 4, 0}, {9, 7, 0}}

// goesDown tells whether that is said of a version.
func goesDown(to []int) bool {
	return len(to) > 2 && slices.ContainsFunc(fromDown, func(first []int) bool { return slices.Equal(to[:2], first[:2]) && !less(to, first) })
}

// longTerm are the series of MySQL that an upgrade must not leave out: each reads the data of the one before it, and of what came
// between (Reference Manual 8.4, table 3.1, and of 8.0, 3.2).
var longTerm = [][]int{{5, 6}, {5, 7}, {8, 0}, {8, 4}, {9, 7}}

// leftOut gives the first of them that lies between two versions; nil for none.
func leftOut(a, b []int) []int {
	i := slices.IndexFunc(longTerm, func(s []int) bool { return less(a, s) && less(s, b) })
	if i < 0 {
		return nil
	}
	return longTerm[i]
}

func mysqlWay(from, to Release, a, b []int) Way {
	same := len(a) > 1 && len(b) > 1 && a[0] == b[0] && a[1] == b[1]
	switch {
	case !same && less(b, a):
		return Way{No: "MySQL does not read what a newer series has written", Else: dumped}
	case !same && from.Flavor == to.Flavor && leftOut(a, b) != nil:
		next := numbers(leftOut(a, b))
		return Way{No: "MySQL reads the data of no series before the last long-term one, and " + next + " lies between", Else: next + " first, and from there on, each with its own proof"}
	case !same && from.Flavor == to.Flavor:
		return inPlace()
	case !same:
		return Way{No: "another flavour and another series at once", Else: "one after the other, each with its proof"}
	case less(b, a) && !goesDown(b):
		return Way{No: "that going down is supported is known within 8.0, from 8.0.35 on, within 8.4 and 9.7, and of no other", Else: dumped}
	case from.Flavor == to.Flavor:
		return Way{No: "it is of that series: within it only the packages change", Else: "the system's packages, and a restart"}
	}
	w := inPlace()
	w.How = "the other flavour of the same series opens the same files; features of one alone must not be used"
	w.Back = "the point that was taken before, which loses what was written since, or a replica of the old flavour that reads on by GTID, which loses nothing"
	return w
}

// series reads the numbers of a version; nil for none.
func series(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 {
			return nil
		}
		all = append(all, n)
	}
	return all
}

// less compares as many numbers as both have.
func less(a, b []int) bool {
	n := min(len(a), len(b))
	return slices.Compare(a[:n], b[:n]) < 0
}
