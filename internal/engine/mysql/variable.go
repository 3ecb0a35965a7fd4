package mysql

import (
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
)

// variable is what the server says of one of its variables.
type variable struct {
	value     string
	kind      string // MariaDB: BOOLEAN, ENUM, BIGINT UNSIGNED, DOUBLE, VARCHAR ...; "" elsewhere
	least     string // "" for no bound
	most      string
	block     string
	words     []string // of an enumeration
	static    bool     // can only be set at start
	noOption  bool     // cannot be set at start
	catalogue catalog.Type
}

// number tells whether a value is written without quotes.
func (v variable) number() bool {
	switch {
	case strings.Contains(v.kind, "INT"), v.kind == "DOUBLE":
		return true
	case v.kind != "":
		return false
	}
	switch v.catalogue {
	case catalog.Text, catalog.List, catalog.Bool:
		return false
	}
	return true
}

// before stands in a statement for the value found: numbers are not quoted.
func (v variable) before() string {
	if v.number() {
		return "{before}"
	}
	return "{before:sql}"
}

// question asks for the value in force, in the form in which it is compared.
func (a *alteration) question() string {
	if a.in.flavor == flavorMariaDB {
		return "SELECT GLOBAL_VALUE FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = '" + strings.ToUpper(a.name) + "'"
	}
	return "SELECT VARIABLE_VALUE FROM performance_schema.global_variables WHERE VARIABLE_NAME = '" + a.name + "'"
}

// readVariable asks what the variable is.
func (a *alteration) readVariable() error {
	if strings.Trim(a.name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return &change.Refusal{Why: a.name + " is not the name of a variable"}
	}
	a.v = variable{catalogue: a.want.Fact.Type, static: a.want.Fact.EffectOn(a.thing) == catalog.Restart}
	switch {
	case a.want.Fact.Knob.Effect == catalog.Recreate:
		return &change.Refusal{Why: a.name + " is fixed when the server is initialised", What: "make a new data directory and move the data"}
	case slices.Contains([]string{"log_bin_index", "relay_log", "relay_log_index"}, a.name):
		return &change.Refusal{Why: a.name + " cannot be set by itself: it names files that are there, and with another name the next start does not find them",
			What: "stop the server, move the files, correct the paths in the index, and then set it in an option file"}
	case a.name == "wsrep_provider_options":
		return &change.Refusal{Why: "wsrep_provider_options contains many options of Galera in one text, and each has to be set separately", What: "set it by hand"}
	}
	if a.in.flavor == flavorMariaDB {
		return a.readMariaDB()
	}
	if slices.Contains(mysqlTells(), a.name) {
		return &change.Refusal{Why: a.name + " only reports what the server detected, or what was set in another way: it cannot be set"}
	}
	row, err := a.row(a.question())
	if err != nil {
		return err
	}
	a.v.value = host.Text(row, 0)
	a.v.static = a.atStart()
	row, err = a.row(boundsQuery(a.name))
	if err == nil { // 5.7 has no such table
		a.v.least, a.v.most = host.Text(row, 0), host.Text(row, 1)
		if a.v.least == "0" && a.v.most == "0" { // no bounds
			a.v.least, a.v.most = "", ""
		}
	}
	return nil
}

// tellsQuery asks MariaDB for all that it tells of a variable.
func tellsQuery(name string) string {
	return "SELECT GLOBAL_VALUE, VARIABLE_TYPE, NUMERIC_MIN_VALUE, NUMERIC_MAX_VALUE, NUMERIC_BLOCK_SIZE, ENUM_VALUE_LIST, READ_ONLY, VARIABLE_SCOPE, COMMAND_LINE_ARGUMENT " +
		"FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = '" + strings.ToUpper(name) + "'"
}

// boundsQuery asks MySQL 8.0 and later between which numbers a variable may lie.
func boundsQuery(name string) string {
	return "SELECT MIN_VALUE, MAX_VALUE FROM performance_schema.variables_info WHERE VARIABLE_NAME = '" + name + "'"
}

// readMariaDB reads information_schema.SYSTEM_VARIABLES, which tells all.
func (a *alteration) readMariaDB() error {
	row, err := a.row(tellsQuery(a.name))
	if err != nil {
		return err
	}
	at := func(i int) string { return host.Text(row, i) }
	a.v.value, a.v.kind, a.v.least, a.v.most, a.v.block = at(0), at(1), at(2), at(3), at(4)
	if at(5) != "" {
		a.v.words = strings.Split(at(5), ",")
	}
	a.v.static = at(6) == "YES" || a.atStart()
	if strings.HasPrefix(at(7), "SESSION ONLY") {
		return &change.Refusal{Why: a.name + " exists for single sessions only"}
	}
	if a.v.noOption = host.Cell(row, 8) == nil && (a.v.static || Optionless(a.name)); a.v.noOption && a.v.static {
		return &change.Refusal{Why: a.name + " only reports what the server detected, or what was set in another way: it cannot be set"}
	}
	return nil
}

// row asks for one row; a refusal says that there is none.
func (a *alteration) row(query string) ([]*string, error) {
	rows, err := a.h.Query(a.ctx, a.in.target, query)
	switch {
	case a.ctx.Err() != nil:
		return nil, a.ctx.Err()
	case err != nil:
		return nil, &change.Refusal{Why: err.Error(), What: a.loginHint()}
	case len(rows.Values) == 0:
		why := fmt.Sprintf("this server (%s %s) has no variable %s", a.in.flavor, a.in.version, a.name)
		if removed := a.want.Fact.Knob.Removed; removed != "" {
			why += ": " + removed
		}
		return nil, &change.Refusal{Why: why}
	}
	return rows.Values[0], nil
}

// readValue brings the value into the form in which the server shows it, and
// refuses what the server would bend.
func (a *alteration) readValue() error {
	a.to = a.want.To.String()
	if b, ok := a.want.To.Bool(); ok {
		a.to = map[bool]string{true: "ON", false: "OFF"}[b]
	}
	switch {
	case strings.ContainsFunc(a.to, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return &change.Refusal{Why: fmt.Sprintf("%q contains a character that no setting can have", a.to)}
	case len(a.v.words) > 0 && (a.v.kind == "ENUM" || a.v.kind == "BOOLEAN"):
		i := slices.IndexFunc(a.v.words, func(w string) bool { return strings.EqualFold(w, a.to) })
		if i < 0 {
			return &change.Refusal{Why: fmt.Sprintf("%s is not one of the values of %s: %s", a.to, a.name, strings.Join(a.v.words, ", "))}
		}
		a.to = a.v.words[i]
		return nil
	case len(a.v.words) > 0 && a.v.kind == "SET":
		return a.readSet()
	case !a.v.number():
		if len(a.want.Fact.Knob.Values) > 0 && strings.EqualFold(a.to, a.v.value) {
			a.to = a.v.value
		}
		return nil
	}
	return a.readNumber()
}

// readSet puts the words of a set into the server's order.
func (a *alteration) readSet() error {
	given := strings.Split(strings.ToUpper(strings.ReplaceAll(a.to, " ", "")), ",")
	var out []string
	for _, w := range a.v.words {
		if slices.Contains(given, strings.ToUpper(w)) {
			out = append(out, w)
		}
	}
	if a.to != "" && len(out) != len(given) {
		return &change.Refusal{Why: fmt.Sprintf("%s contains a word that is not a value of %s: %s", a.to, a.name, strings.Join(a.v.words, ", "))}
	}
	a.to = strings.Join(out, ",")
	return nil
}

// readNumber checks a number against the server's bounds and steps.
func (a *alteration) readNumber() error {
	n, ok := new(big.Rat).SetString(a.to)
	if !ok {
		return &change.Refusal{Why: fmt.Sprintf("%s is not a number", a.to)}
	}
	least, hasLeast := new(big.Rat).SetString(a.v.least)
	most, hasMost := new(big.Rat).SetString(a.v.most)
	if hasLeast && n.Cmp(least) < 0 || hasMost && n.Cmp(most) > 0 {
		return &change.Refusal{Why: fmt.Sprintf("%s is outside the range that the server accepts for %s: %s to %s", a.to, a.name, a.v.least, a.v.most)}
	}
	if block, err := strconv.ParseInt(a.v.block, 10, 64); err == nil && block > 1 && n.IsInt() && a.name != "innodb_buffer_pool_size" {
		if whole := n.Num().Int64() / block * block; whole != n.Num().Int64() {
			a.notes = append(a.notes, fmt.Sprintf("the server takes whole steps of %d, so it becomes %d", block, whole))
			a.to = strconv.FormatInt(whole, 10)
		}
	}
	if a.v.kind == "DOUBLE" || strings.Contains(a.v.value, ".") {
		f, _ := n.Float64()
		a.to = strconv.FormatFloat(f, 'f', 6, 64)
	}
	return nil
}

// literal writes a value for a statement.
func (a *alteration) literal(value string) string {
	if a.v.number() {
		return value
	}
	return Literal(value)
}
