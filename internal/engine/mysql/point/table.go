package point

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/tables"
)

var _ tables.Engine = (*Engine)(nil)

// Place implements tables.Engine.
func (*Engine) Place(t host.Target, _ tables.Name) host.Target { return t }

// Drop implements tables.Engine.
func (*Engine) Drop(of tables.Name) string { return "DROP TABLE IF EXISTS " + qualified(of) }

func qualified(of tables.Name) string {
	return engine.Identifier(of[0]) + "." + engine.Identifier(of.Own())
}

// where picks a table out of a view of information_schema, whose names are compared without
// regard to case by themselves.
func where(of tables.Name) string { return named("TABLE_SCHEMA", "TABLE_NAME", of) }

func named(schema, name string, of tables.Name) string {
	return fmt.Sprintf(" WHERE %s = %s AND %s = %s AND BINARY %s = %s", schema, engine.Literal(of[0]), name, engine.Literal(of.Own()), name, engine.Literal(of.Own()))
}

// Free implements tables.Engine.
func (*Engine) Free(ctx context.Context, h host.Held, _ protect.Server, as tables.Name) error {
	if len(as) != 2 {
		return hint.Usage(fmt.Sprintf("%q is not a table name here", as), "give DATABASE.TABLE")
	}
	if len([]rune(as.Own())) > 64 {
		return hint.Usage("the name is longer than 64 letters", "give another with --as")
	}
	if slices.Contains([]string{"mysql", "information_schema", "performance_schema", "sys"}, strings.ToLower(as[0])) {
		return hint.With(fmt.Errorf("%s is the server's own database", as[0]), "plumb clone starts a copy of the point, to look at it there")
	}
	grants, err := h.Query(ctx, "SHOW GRANTS")
	if err != nil {
		return err
	}
	if missing := lacks(grants, as[0], strings.Split(tableRights, ", ")...); missing != nil {
		return hint.With(fmt.Errorf("this user may not %s in %s", strings.Join(missing, ", "), as[0]), "plumb rollback --grants shows the rights that this needs")
	}
	rows, err := h.Query(ctx, "SELECT @@GLOBAL.read_only, (SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE BINARY SCHEMA_NAME = "+engine.Literal(as[0])+
		"), (SELECT MIN(TABLE_TYPE) FROM information_schema.TABLES WHERE TABLE_SCHEMA = "+engine.Literal(as[0])+" AND TABLE_NAME = "+engine.Literal(as.Own())+")")
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		return errors.New("the server does not say which tables it has")
	}
	switch row := rows.Values[0]; {
	case on(host.Text(row, 0)):
		return hint.With(errors.New("the server is read-only"), "restore the table on the server on which its tables are written")
	case host.Text(row, 1) == "0":
		return hint.With(fmt.Errorf("the server has no database %s", as[0]), "create it first: CREATE DATABASE")
	case host.Cell(row, 2) != nil:
		return hint.With(fmt.Errorf("the server has a %s %s", strings.ToLower(host.Text(row, 2)), as), "--as NAME restores it under another name")
	}
	return nil
}

// column is one of a table's.
type column struct {
	name, charset string
	kind          string // DATA_TYPE
	full          string // COLUMN_TYPE
	made          bool   // the server makes it of the others
}

// Carry implements tables.Engine.
func (*Engine) Carry(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy, n tables.Names) (tables.Carried, error) {
	t := &carrying{ctx: ctx, a: a, of: n.Of, c: c}
	for _, step := range []func() error{t.exists, t.readColumns, t.detach} {
		if err := step(); err != nil {
			return tables.Carried{}, err
		}
	}
	create, err := t.definition()
	if err != nil {
		return tables.Carried{}, err
	}
	create, ok := strings.CutPrefix(create, "CREATE TABLE "+engine.Identifier(n.Of.Own())+" (")
	if !ok {
		return tables.Carried{}, errors.New("the copy does not say how the table is made")
	}
	p := &playing{ctx: ctx, o: ownerOf(d, c.Server), c: c}
	if err := p.tools(); err != nil {
		return tables.Carried{}, err
	}
	if err := a.Exec(ctx, "SET GLOBAL max_allowed_packet = 1073741824"); err != nil { // a row is written in a longer form than it has
		return tables.Carried{}, err
	}
	argv := append(p.client, "--no-defaults", "--batch", "--raw", "--skip-column-names", "--quick", "--binary-mode", "--max-allowed-packet=1G",
		"--default-character-set=utf8mb4", "--user=root", "--socket="+socket(c))
	names, literals := t.row()
	h := tables.Carried{
		Session: []string{"SET SESSION sql_mode = 'NO_AUTO_VALUE_ON_ZERO,NO_ENGINE_SUBSTITUTION,ALLOW_INVALID_DATES', time_zone = '+00:00'", "USE " + engine.Identifier(n.Of[0])},
		Make:    []string{"CREATE TABLE " + engine.Identifier(n.Aside.Own()) + " (" + create},
		Rows:    host.Pipe{Argv: argv, In: strings.NewReader("SET time_zone = '+00:00', sql_mode = '';\nSELECT " + literals + " FROM " + qualified(n.Of) + ";\n")},
		End:     '\n', Row: '(', Insert: "INSERT INTO " + qualified(n.Aside) + " (" + names + ") VALUES",
		Put:     []string{"RENAME TABLE " + qualified(n.Aside) + " TO " + qualified(n.As)},
		Undo:    []string{"DROP TABLE " + qualified(n.As)},
		There:   "SELECT IF(EXISTS(SELECT 1 FROM information_schema.TABLES" + where(n.Aside) + "), 'another', 'brought back') FROM information_schema.TABLES" + where(n.As),
		Is:      "brought back",
		Content: t.content, Notes: t.notes(n.As),
	}
	if on(c.Server.Settings["log_bin"]) || c.Server.Settings["log_bin"] == "ON" {
		h.Notes = append(h.Notes, "the rows are written to the binary log, and go to replicas, as those of any client")
	}
	return h, nil
}

// carrying is a table of a copy that is read.
type carrying struct {
	ctx      context.Context
	a        load.Admin
	of       tables.Name
	c        protect.Copy
	columns  []column
	keys     []string // foreign keys, as statements say them
	triggers []string
}

// exists refuses what is no plain table.
func (t *carrying) exists() error {
	rows, err := t.a.Query(t.ctx, "SELECT TABLE_TYPE, ENGINE FROM information_schema.TABLES"+where(t.of))
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		return hint.With(fmt.Errorf("the point has no table %s", t.of), "check its name, and upper and lower case; an earlier point may have it (plumb protect list)")
	}
	kind, engine := host.Text(rows.Values[0], 0), host.Text(rows.Values[0], 1)
	switch {
	case kind != "BASE TABLE":
		return hint.With(fmt.Errorf("%s is a %s, but Plumb restores only plain tables", t.of, strings.ToLower(kind)), "plumb clone starts a copy of the point, from which you can copy it")
	case !slices.Contains([]string{"InnoDB", "MyISAM", "Aria", "ROCKSDB"}, engine):
		return hint.With(fmt.Errorf("%s is in %s, but Plumb restores only tables in InnoDB, MyISAM, Aria and RocksDB", t.of, engine), "plumb clone starts a copy of the point, from which you can copy it")
	}
	return nil
}

func (t *carrying) readColumns() error {
	rows, err := t.a.Query(t.ctx, "SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, COALESCE(CHARACTER_SET_NAME, ''), COALESCE(GENERATION_EXPRESSION, '') FROM information_schema.COLUMNS"+where(t.of)+" ORDER BY ORDINAL_POSITION")
	if err != nil {
		return err
	}
	for _, r := range rows.Values {
		c := column{name: host.Text(r, 0), kind: strings.ToLower(host.Text(r, 1)), full: host.Text(r, 2), charset: host.Text(r, 3), made: host.Text(r, 4) != ""}
		if c.literal() == "" && !c.made {
			return hint.With(fmt.Errorf("no way is known to write its column %s, a %s", c.name, c.full), "plumb clone starts a copy of the point, from which you can copy it")
		}
		t.columns = append(t.columns, c)
	}
	return nil
}

// literal writes a value as SQL, in letters that mean the same in every session.
func (c column) literal() string {
	n := engine.Identifier(c.name)
	text := ""
	switch c.kind {
	case "tinyint", "smallint", "mediumint", "int", "bigint", "decimal", "year":
		text = n
	case "bit":
		text = n + " + 0"
	case "float", "double": // a float is shown in six digits, and a double in as many as it has
		text = "CONCAT('''', " + n + " * 1e0, '''')"
	case "date", "time", "datetime", "timestamp", "uuid", "inet4", "inet6":
		text = "CONCAT('''', " + n + ", '''')"
	case "char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set":
		text = "CONCAT('_" + c.charset + " x''', HEX(" + n + "), '''')"
	case "json":
		text = "CONCAT('_utf8mb4 x''', HEX(CAST(" + n + " AS CHAR CHARACTER SET utf8mb4)), '''')"
	default:
		if !c.bytes() {
			return ""
		}
		text = "CONCAT('x''', HEX(" + n + "), '''')"
	}
	return "COALESCE(" + text + ", 'NULL')"
}

// bytes tells a column of bytes.
func (c column) bytes() bool {
	return slices.Contains([]string{"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob", "geometry", "point", "linestring", "polygon",
		"multipoint", "multilinestring", "multipolygon", "geometrycollection", "geomcollection", "vector"}, c.kind)
}

// sum is short, and differs where a value does. A time is counted from 1970, not said in
// a time zone.
func (c column) sum() string {
	n := engine.Identifier(c.name)
	switch {
	case c.kind == "timestamp":
		return "COALESCE(UNIX_TIMESTAMP(" + n + "), 'NULL')"
	case c.charset != "" || c.kind == "json":
		return "COALESCE(" + hash(n) + ", 'NULL')"
	case c.bytes():
		return "COALESCE(" + hash("HEX("+n+")") + ", 'NULL')"
	}
	if text := c.literal(); text != "" {
		return text
	}
	return "COALESCE(" + hash("HEX("+n+")") + ", 'NULL')"
}

// hash is a function that all servers have: MD5 and SHA1 are no part of MySQL 9.6 and later.
func hash(text string) string { return "SHA2(" + text + ", 256)" }

// row gives the columns that are typed, and the expression of a row.
func (t *carrying) row() (names, literals string) {
	var n, l []string
	for _, c := range t.columns {
		if !c.made {
			n, l = append(n, engine.Identifier(c.name)), append(l, c.literal())
		}
	}
	return strings.Join(n, ", "), "CONCAT('(', " + strings.Join(l, ", ',', ") + ", ')')"
}

// content sums up a table: its rows, in whatever order, its columns, indexes and constraints,
// and how many triggers it has.
func (t *carrying) content(of tables.Name) string {
	var sums []string
	for _, c := range t.columns {
		sums = append(sums, c.sum())
	}
	part := func(what, from string) string {
		return "(SELECT COALESCE(" + what + ", 0) FROM information_schema." + from + ")"
	}
	return "SELECT CONCAT('rows ', COUNT(*), ', checksum ', COALESCE(SUM(CAST(CONV(LEFT(" + hash("CONCAT_WS(',', "+strings.Join(sums, ", ")+")") + ", 15), 16, 10) AS UNSIGNED)), 0), ', definition ', " +
		part("SUM(CRC32(CONCAT_WS('|', ORDINAL_POSITION, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COALESCE(COLUMN_DEFAULT, '-'), COALESCE(COLLATION_NAME, '-'), EXTRA, COLUMN_COMMENT)))", "COLUMNS"+where(of)) + ", '/', " +
		part("SUM(CRC32(CONCAT_WS('|', INDEX_NAME, NON_UNIQUE, SEQ_IN_INDEX, COALESCE(COLUMN_NAME, '-'), COALESCE(SUB_PART, 0), INDEX_TYPE)))", "STATISTICS"+where(of)) + ", '/', " +
		part("COUNT(*)", "TABLE_CONSTRAINTS"+where(of)) + ", '/', " + part("COUNT(*)", "TRIGGERS"+named("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", of)) + ") AS content FROM " + qualified(of)
}

// definition gives the statement that makes the table.
func (t *carrying) definition() (string, error) {
	if err := t.a.Exec(t.ctx, "SET SESSION sql_mode = '', sql_quote_show_create = 1, time_zone = '+00:00'"); err != nil {
		return "", err
	}
	rows, err := t.a.Query(t.ctx, "SHOW CREATE TABLE "+qualified(t.of))
	if err != nil || len(rows.Values) != 1 {
		return "", errors.Join(err, errors.New("ask the copy how the table is made"))
	}
	return host.Text(rows.Values[0], 1), nil
}

// detach takes from the table in the copy what does not come along: foreign keys, which rows of
// now need not meet, and triggers, whose definers a person must look at.
func (t *carrying) detach() error {
	create, err := t.definition()
	if err != nil {
		return err
	}
	rows, err := t.a.Query(t.ctx, "SELECT CONSTRAINT_NAME FROM information_schema.TABLE_CONSTRAINTS"+where(t.of)+" AND CONSTRAINT_TYPE = 'FOREIGN KEY'")
	if err != nil {
		return err
	}
	for _, r := range rows.Values {
		name := engine.Identifier(host.Text(r, 0))
		for line := range strings.Lines(create) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "CONSTRAINT "+name+" FOREIGN KEY ") {
				t.keys = append(t.keys, strings.TrimSuffix(line, ","))
			}
		}
		if err := t.a.Exec(t.ctx, "ALTER TABLE "+qualified(t.of)+" DROP FOREIGN KEY "+name); err != nil {
			return err
		}
	}
	if rows, err = t.a.Query(t.ctx, "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS"+named("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", t.of)); err != nil {
		return err
	}
	for _, r := range rows.Values {
		name := host.Text(r, 0)
		t.triggers = append(t.triggers, name)
		if err := t.a.Exec(t.ctx, "DROP TRIGGER "+engine.Identifier(t.of[0])+"."+engine.Identifier(name)); err != nil {
			return err
		}
	}
	return nil
}

func (t *carrying) notes(as tables.Name) (all []string) {
	for _, key := range t.keys {
		all = append(all, "a foreign key does not come along, as rows of now need not meet it: ALTER TABLE "+qualified(as)+" ADD "+key)
	}
	for _, name := range t.triggers {
		all = append(all, "the trigger "+name+" does not come along: SHOW CREATE TRIGGER in a plumb clone of the point tells what it was")
	}
	return all
}
