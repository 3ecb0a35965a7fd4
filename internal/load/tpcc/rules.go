package tpcc

import (
	"fmt"
	"regexp"
	"strings"
)

// rule is a condition as a question for its violations.
//
// Every rule is one merge of all the tables it is about: their rows side by
// side (UNION ALL), then grouped by key. So a group that one of the tables
// lacks altogether is seen, where a join would drop it.
type rule struct {
	number int
	says   string
	group  string   // what violates
	keys   []string // of groups, as named in keyNames
	parts  []string // the sides: <table> is a table's name, [column] limits the column to a range of warehouses
	having string   // violates; S(x) is the sum of x, no rows giving 0
	shows  []string // pairs of words and expression for examples
	ranges bool     // asked for some warehouses at a time, so that groups fit in memory
	fresh  bool     // holds only until the first transaction
	exact  bool     // holds only where transactions keep all the counters, which compat mode does not
	purged bool     // purging old orders and history breaks it
}

var keyNames = map[string]string{"what": "", "w": "warehouse", "d": "district", "o": "order", "c": "customer"}

// question is the statement that gives the violating groups; unordered.
func (r rule) question(c Config, set int, from, to int64) string {
	all := fmt.Sprintf("SELECT %s%s FROM (%s) u GROUP BY %[1]s HAVING %[4]s",
		strings.Join(r.keys, ", "), r.shown(), strings.Join(r.parts, " UNION ALL "), r.having)
	z := c.sizes()
	for _, d := range definitions {
		all = strings.ReplaceAll(all, "<"+d.name+">", c.table(d.name, set))
	}
	for name, n := range map[string]int64{
		"scale": c.Warehouses, "districts": districts, "customers": z.customers,
		"items": z.items, "orders loaded": z.orders, "orders delivered": z.orders - z.undelivered,
	} {
		all = strings.ReplaceAll(all, "{"+name+"}", fmt.Sprint(n))
	}
	all = limited.ReplaceAllStringFunc(all, func(s string) string { return within(strings.Trim(s, "[]"), from, to) })
	return summed.ReplaceAllString(all, "COALESCE(SUM($1), 0)")
}

var (
	limited = regexp.MustCompile(`\[\w+\]`)
	summed  = regexp.MustCompile(`\bS\((\w+)\)`)
)

// within limits a column to the warehouses from and below to; 0 is no limit,
// so that the ranges of all warehouses leave no number out.
func within(column string, from, to int64) string {
	var both []string
	if from > 0 {
		both = append(both, fmt.Sprintf("%s >= %d", column, from))
	}
	if to > 0 {
		both = append(both, fmt.Sprintf("%s < %d", column, to))
	}
	if both == nil {
		return "1 = 1"
	}
	return strings.Join(both, " AND ")
}

func (r rule) shown() string {
	var all strings.Builder
	for i := 1; i < len(r.shows); i += 2 {
		fmt.Fprintf(&all, ", %s", r.shows[i])
	}
	return all.String()
}

// skipped says why a rule does not apply; "" when it does.
func (r rule) skipped(c Config, o CheckOptions) string {
	switch {
	case r.fresh && !o.Fresh:
		return "holds only before the first transaction"
	case r.exact && c.Compat:
		return "sysbench-tpcc does not keep these counters"
	case r.purged && c.Purge:
		return "purge removes the rows that it is about"
	}
	return ""
}
