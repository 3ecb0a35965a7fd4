package mysql

import (
	"fmt"
	"strings"

	"plumb/internal/host"
	"plumb/internal/stack"
)

// maxIncrements bounds the tables whose counters are asked: the server opens
// each of them, MariaDB in half a millisecond where it lies in memory.
const maxIncrements = 1000

func incrementFacts() []string { return []string{"autoincrement_used", "autoincrement_used_column"} }

// incrementQuery asks for counters that can be near the end of the smallest
// type. MySQL 8.0 and later answers from its cache where that is younger than
// information_schema_stats_expiry, and writes nothing to it in a session that
// is read-only. The types are asked apart: MariaDB joins the two tables row by
// row, in nine seconds where each alone takes one.
const (
	incrementQuery = "SELECT TABLE_SCHEMA, TABLE_NAME, AUTO_INCREMENT FROM information_schema.TABLES WHERE AUTO_INCREMENT > 100 AND TABLE_SCHEMA NOT IN " + OwnSchemas
	columnQuery    = "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE FROM information_schema.COLUMNS WHERE EXTRA LIKE '%auto_increment%' AND TABLE_SCHEMA NOT IN " + OwnSchemas
)

// increments finds the AUTO_INCREMENT column that is nearest to its end.
func (l *look) increments() {
	facts := incrementFacts()
	n, ok := l.t.Int("innodb_tablespaces")
	if !ok || n > maxIncrements {
		l.gap(fmt.Sprintf("more than %d tables are too many to ask for their counters", maxIncrements), "look for columns near their end with a query of your own", facts...)
		return
	}
	counters, ok := l.query(incrementQuery, facts...)
	if !ok {
		return
	}
	var columns host.Rows
	if len(counters.Values) > 0 {
		if columns, ok = l.query(columnQuery, facts...); !ok {
			return
		}
	}
	used, column := parseIncrements(counters, columns)
	l.t.Set("autoincrement_used", stack.Float(rounded(used)), "information_schema.TABLES")
	l.t.Set("autoincrement_used_column", stack.Text(column), "information_schema.COLUMNS")
}

// parseIncrements gives the share of its range that the most used column has
// used, and its name and type.
func parseIncrements(counters, columns host.Rows) (used float64, column string) {
	column = "none"
	next := map[string]float64{}
	for _, row := range counters.Values {
		if n, ok := whole(host.Text(row, 2)); ok {
			next[host.Text(row, 0)+"."+host.Text(row, 1)] = float64(n)
		}
	}
	for _, row := range columns.Values {
		table, kind := host.Text(row, 0)+"."+host.Text(row, 1), host.Text(row, 3)
		most, ok := largest(kind)
		if n, have := next[table]; ok && have && min(1, (n-1)/most) > used {
			used, column = min(1, (n-1)/most), table+"."+host.Text(row, 2)+" "+kind
		}
	}
	return used, column
}

// largest gives the largest number of a type such as "int(11) unsigned".
func largest(kind string) (float64, bool) {
	word, _, _ := strings.Cut(strings.ToLower(kind), " ")
	word, _, _ = strings.Cut(word, "(")
	bits, ok := map[string]int{"tinyint": 7, "smallint": 15, "mediumint": 23, "int": 31, "bigint": 63}[word]
	if !ok {
		return 0, false
	}
	if strings.Contains(strings.ToLower(kind), "unsigned") {
		bits++
	}
	return float64(uint64(1)<<(bits-1))*2 - 1, true
}
