package point

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/engine/postgres"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/tables"
)

var _ tables.Engine = Engine{}

func qualified(of tables.Name) string {
	return postgres.Identifier(of[len(of)-2]) + "." + postgres.Identifier(of.Own())
}

// Place implements tables.Engine: a session is of one database. Sessions are kept by the name.
func (Engine) Place(t host.Target, of tables.Name) host.Target {
	t.Name += "/" + of[0]
	t.Logins = slices.Clone(t.Logins)
	for i := range t.Logins {
		t.Logins[i].Database = of[0]
	}
	return t
}

// Drop implements tables.Engine.
func (Engine) Drop(of tables.Name) string { return "DROP TABLE IF EXISTS " + qualified(of) }

// Free implements tables.Engine.
func (Engine) Free(ctx context.Context, h host.Held, _ protect.Server, as tables.Name) error {
	if len(as) != 3 {
		return hint.Usage(fmt.Sprintf("%q is not a table name here", as), "give DATABASE.SCHEMA.TABLE")
	}
	if len(as.Own()) > 63 {
		return hint.Usage("the name is longer than 63 bytes", "give another with --as")
	}
	if strings.HasPrefix(as[1], "pg_") || as[1] == "information_schema" {
		return hint.With(fmt.Errorf("%s is the server's own schema", as[1]), "plumb clone starts a copy of the point, to look at it there")
	}
	rows, err := h.Query(ctx, "SELECT pg_catalog.pg_is_in_recovery(), pg_catalog.current_database(), (SELECT count(*) FROM pg_catalog.pg_namespace WHERE nspname = "+postgres.Literal(as[1])+
		"), (SELECT min(relkind::text) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace WHERE nspname = "+postgres.Literal(as[1])+" AND relname = "+postgres.Literal(as.Own())+"), "+lacking(as[1]))
	if err != nil {
		return err
	}
	if len(rows.Values) != 1 {
		return errors.New("the server does not say which tables it has")
	}
	switch row := rows.Values[0]; {
	case host.Text(row, 0) != "f":
		return hint.With(errors.New("the server is a standby"), "restore the table on its primary")
	case host.Text(row, 1) != as[0]:
		return hint.With(fmt.Errorf("the login is for the database %s", host.Text(row, 1)), "name "+as[0]+" in --dsn")
	case host.Text(row, 2) == "0":
		return hint.With(fmt.Errorf("the server has no schema %s in %s", as[1], as[0]), "create it first: CREATE SCHEMA")
	case host.Text(row, 4) != "":
		return hint.With(fmt.Errorf("the role may not %s in the schema %s", host.Text(row, 4), as[1]), "plumb rollback --grants shows the rights that this needs")
	case host.Cell(row, 3) != nil:
		return hint.With(fmt.Errorf("the server has a table, view, index or sequence %s", as), "--as NAME restores it under another name")
	}
	return nil
}

// lacking asks which rights the role lacks that it needs to make a table in a schema.
func lacking(schema string) string {
	return "(SELECT string_agg(p, ' or ') FROM pg_catalog.unnest(ARRAY['USAGE', 'CREATE']) p, pg_catalog.pg_namespace n WHERE nspname = " + postgres.Literal(schema) + " AND NOT pg_catalog.has_schema_privilege(n.oid, p))"
}

// alike makes a session write all values in one way.
const alike = "SET TimeZone = 'UTC'; SET DateStyle = 'ISO, MDY'; SET IntervalStyle = 'postgres'; SET extra_float_digits = 3; SET bytea_output = 'hex'; SET lc_monetary = 'C'; SET xmloption = 'content'; SET search_path = pg_catalog; SET row_security = off"

// Carry implements tables.Engine. In the copy, the table gets the names that it is to have.
func (Engine) Carry(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy, n tables.Names) (tables.Carried, error) {
	t := &carrying{ctx: ctx, d: d, a: a, c: c, of: n.Of, as: n.As, aside: n.Aside}
	for _, step := range []func() error{t.connect, t.exists, t.readColumns, t.detach, t.rename} {
		if err := step(); err != nil {
			return tables.Carried{}, err
		}
	}
	before, err := t.dump("pre-data")
	if err != nil {
		return tables.Carried{}, err
	}
	after, err := t.dump("post-data")
	if err != nil {
		return tables.Carried{}, err
	}
	sequences, err := t.sequences()
	if err != nil {
		return tables.Carried{}, err
	}
	// The copy has it as it was, for those who ask it for its content.
	if err := a.Exec(ctx, "ALTER TABLE "+qualified(n.Aside)+" RENAME TO "+postgres.Identifier(n.Of.Own())); err != nil {
		return tables.Carried{}, err
	}
	h := tables.Carried{
		Session: []string{alike},
		Make:    []string{before, alike},
		Rows:    t.rows(), End: 0, Row: '(', Insert: "INSERT INTO " + qualified(n.Aside) + " (" + strings.Join(t.typed, ", ") + ") OVERRIDING SYSTEM VALUE VALUES",
		Finish:  append(slices.DeleteFunc([]string{after}, func(s string) bool { return s == "" }), sequences...),
		Put:     []string{"ALTER TABLE " + qualified(n.Aside) + " RENAME TO " + postgres.Identifier(n.As.Own())},
		Undo:    []string{"DROP TABLE " + qualified(n.As)},
		There:   "SELECT CASE WHEN pg_catalog.to_regclass(" + postgres.Literal(qualified(n.Aside)) + ") IS NULL THEN 'brought back' ELSE 'another' END WHERE pg_catalog.to_regclass(" + postgres.Literal(qualified(n.As)) + ") IS NOT NULL",
		Is:      "brought back",
		Content: content, Notes: t.notes,
	}
	h.Notes = append(h.Notes, "the rows are written to the WAL, and go to standbys and archives, as those of any client")
	return h, nil
}

// carrying is a table of a copy that is read.
type carrying struct {
	ctx           context.Context
	d             host.Streamer
	a             load.Admin
	c             protect.Copy
	of, as, aside tables.Name
	oid           string
	typed         []string // columns
	notes         []string
}

func (t *carrying) connect() error {
	if err := t.a.Exec(t.ctx, `\connect `+t.of[0]); err != nil {
		return hint.With(err, "an earlier point may have the database (plumb protect list)")
	}
	return t.a.Exec(t.ctx, alike)
}

// ask gives the rows of an answer as text.
func (t *carrying) ask(query string) (all [][]string, err error) {
	rows, err := t.a.Query(t.ctx, query)
	for _, r := range rows.Values {
		var row []string
		for i := range r {
			row = append(row, host.Text(r, i))
		}
		all = append(all, row)
	}
	return all, err
}

// exists refuses what is no plain table.
func (t *carrying) exists() error {
	rows, err := t.ask("SELECT c.oid, relkind, relpersistence, relispartition, (SELECT count(*) FROM pg_inherits WHERE inhrelid = c.oid OR inhparent = c.oid)" +
		" FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = " + postgres.Literal(t.of[1]) + " AND relname = " + postgres.Literal(t.of[2]))
	if err != nil {
		return err
	}
	if len(rows) != 1 {
		return hint.With(fmt.Errorf("the point has no table %s", t.of), "check its name, and upper and lower case; an earlier point may have it (plumb protect list)")
	}
	clone := "plumb clone starts a copy of the point, from which you can copy it"
	r := rows[0]
	t.oid = r[0]
	switch {
	case r[1] == "p":
		return hint.With(fmt.Errorf("%s is a partitioned table, which has no rows of its own", t.of), "restore its partitions one by one, with --as, and attach them")
	case r[1] != "r":
		return hint.With(fmt.Errorf("%s is not a table", t.of), clone)
	case r[2] == "t":
		return hint.With(fmt.Errorf("%s is a temporary table", t.of), clone)
	case r[2] == "u":
		return hint.With(fmt.Errorf("%s is unlogged, so it is empty in every copy", t.of), "no point has its rows")
	case r[3] != "t" && r[4] != "0":
		return hint.With(fmt.Errorf("%s inherits from another table, or another from it", t.of), clone)
	case r[3] == "t":
		t.notes = append(t.notes, "it was a partition, and is not attached: ALTER TABLE ... ATTACH PARTITION")
		return t.a.Exec(t.ctx, "DO $$DECLARE p regclass; BEGIN SELECT inhparent INTO p FROM pg_inherits WHERE inhrelid = "+t.oid+
			"; EXECUTE format('ALTER TABLE %s DETACH PARTITION %s', p, "+t.oid+"::regclass); END$$")
	}
	return nil
}

func (t *carrying) readColumns() error {
	generated := "''"
	if major(t.c.Server.Version) >= 12 {
		generated = "attgenerated"
	}
	rows, err := t.ask("SELECT attname FROM pg_attribute WHERE attrelid = " + t.oid + " AND attnum > 0 AND NOT attisdropped AND " + generated + " = '' ORDER BY attnum")
	for _, r := range rows {
		t.typed = append(t.typed, postgres.Identifier(r[0]))
	}
	if err == nil && len(t.typed) == 0 {
		err = errors.New("it has no column that could be written")
	}
	return err
}

// detach takes from the table in the copy what does not come along: foreign keys, which rows of
// now need not meet, and triggers and rules, whose functions a person must look at.
func (t *carrying) detach() error {
	for _, of := range []struct{ query, what, drop string }{
		{"SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE contype = 'f' AND conrelid = " + t.oid, "", "ALTER TABLE %[2]s DROP CONSTRAINT %[1]s"},
		{"SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal AND tgrelid = " + t.oid, "trigger", "DROP TRIGGER %s ON %s"},
		{"SELECT rulename, pg_get_ruledef(oid) FROM pg_rewrite WHERE ev_class = " + t.oid, "rule", "DROP RULE %s ON %s"},
	} {
		rows, err := t.ask(of.query)
		if err != nil {
			return err
		}
		for _, r := range rows {
			note := "a foreign key does not come along, as rows of now need not meet it: ALTER TABLE " + qualified(t.as) + " ADD CONSTRAINT " + postgres.Identifier(r[0]) + " " + r[1]
			if of.what != "" {
				note = "a " + of.what + " does not come along: " + r[1]
			}
			t.notes = append(t.notes, note)
			if err := t.a.Exec(t.ctx, fmt.Sprintf(of.drop, postgres.Identifier(r[0]), qualified(t.of))); err != nil {
				return err
			}
		}
	}
	return nil
}

// rename gives the table the name that it is made with, and what belongs to it names of its own
// where the table gets another name: those of before are taken there.
func (t *carrying) rename() error {
	if t.as.Own() != t.of.Own() {
		rows, err := t.ask("SELECT relname, relkind FROM pg_class WHERE oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = " + t.oid + " UNION SELECT objid FROM pg_depend WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = " +
			t.oid + " AND deptype IN ('a', 'i')) AND relkind IN ('i', 'S')")
		if err != nil {
			return err
		}
		for i, r := range rows {
			what := map[string]string{"i": "INDEX", "S": "SEQUENCE"}[r[1]]
			name := t.aside.Own() + "_" + strconv.Itoa(i+1)
			if err := t.a.Exec(t.ctx, "ALTER "+what+" "+postgres.Identifier(t.of[1])+"."+postgres.Identifier(r[0])+" RENAME TO "+postgres.Identifier(name)); err != nil {
				return err
			}
			t.notes = append(t.notes, strings.ToLower(what)+" "+r[0]+" is called "+name)
		}
	}
	return t.a.Exec(t.ctx, "ALTER TABLE "+qualified(t.of)+" RENAME TO "+postgres.Identifier(t.aside.Own()))
}

// client gives a program of the server's own version, logged in to the copy.
func (t *carrying) client(name string) ([]string, error) {
	dir := path.Dir(t.c.Server.Program[len(t.c.Server.Program)-1])
	program := path.Join(dir, name)
	if _, err := t.d.Stat(t.ctx, program); err != nil {
		return nil, hint.With(fmt.Errorf("there is no %s in %s: %w", name, dir, err), "install the package postgresql-client-"+strconv.Itoa(major(t.c.Server.Version)))
	}
	argv := append(slices.Clone(t.c.Server.As(t.d.About().Root)), "env")
	argv = append(append(argv, t.c.Server.Env...), "PGDATABASE="+t.of[0], "PGUSER="+role(t.c), "PGHOST="+t.c.Run, "PGPORT="+strconv.Itoa(port(t.c)), "PGCLIENTENCODING=UTF8")
	return append(argv, program), nil
}

// restricted are the words with which newer versions of pg_dump keep psql from obeying data.
var restricted = regexp.MustCompile(`(?m)^\\restrict ([0-9A-Za-z]+)$`)

// dump gives the statements of a section.
func (t *carrying) dump(section string) (string, error) {
	argv, err := t.client("pg_dump")
	if err != nil {
		return "", err
	}
	out, err := t.d.Run(t.ctx, append(argv, "--schema-only", "--section="+section, "--no-publications", "--no-subscriptions", "--table="+postgres.Identifier(t.aside[1])+"."+postgres.Identifier(t.aside[2]))...)
	if err != nil {
		return "", err
	}
	text := string(out)
	if m := restricted.FindStringSubmatch(text); m != nil {
		text = strings.Replace(strings.Replace(text, m[0]+"\n", "", 1), `\unrestrict `+m[1]+"\n", "", 1)
	}
	return text, nil
}

// sequences gives those of the table's columns where they stood.
func (t *carrying) sequences() (all []string, err error) {
	rows, err := t.ask("SELECT format('%I.%I', nspname, relname) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE relkind = 'S' AND c.oid IN (SELECT objid FROM pg_depend WHERE classid = 'pg_class'::regclass AND refclassid = 'pg_class'::regclass AND refobjid = " +
		t.oid + " AND deptype IN ('a', 'i')) ORDER BY 1")
	for _, r := range rows {
		at, err := t.ask("SELECT last_value, is_called FROM " + r[0])
		if err != nil || len(at) != 1 {
			return nil, errors.Join(err, fmt.Errorf("query the position of %s", r[0]))
		}
		all = append(all, "SELECT pg_catalog.setval("+postgres.Literal(r[0])+", "+at[0][0]+", "+map[string]string{"t": "true", "f": "false"}[at[0][1]]+")")
	}
	return all, err
}

// rows gives the command that writes the rows of the table, each as SQL has it.
func (t *carrying) rows() host.Pipe {
	argv, err := t.client("psql")
	if err != nil {
		return host.Pipe{} // said when it is run
	}
	var values []string
	for _, c := range t.typed {
		values = append(values, "coalesce(quote_literal((plumb_row."+c+")::text), 'NULL')")
	}
	argv = append(argv, "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--record-separator-zero", "--set=ON_ERROR_STOP=1", "--set=FETCH_COUNT=500")
	return host.Pipe{Argv: argv, In: strings.NewReader(alike + ";\nSELECT '(' || " + strings.Join(values, " || ',' || ") + " || ')' FROM ONLY " + qualified(t.of) + " AS plumb_row;\n")}
}

// content sums up a table: its rows, in whatever order, its columns, indexes and constraints,
// and how many triggers, rules and policies it has. Names of indexes, which hold the table's, are left out.
func content(of tables.Name) string {
	oid := postgres.Literal(qualified(of)) + "::regclass"
	sum := func(what, from string) string {
		return "(SELECT coalesce(sum(('x' || left(md5(" + what + "), 8))::bit(32)::bigint), 0) FROM " + from + ")"
	}
	count := func(from string) string { return "(SELECT count(*) FROM " + from + ")" }
	parts := []string{
		sum("concat_ws('|', attname, format_type(atttypid, atttypmod), attnotnull, attidentity, pg_get_expr(adbin, adrelid))",
			"pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = "+oid+" AND attnum > 0 AND NOT attisdropped"),
		sum("concat_ws('|', indisunique, indisprimary, regexp_replace(pg_get_indexdef(indexrelid), '^.* USING ', ''))", "pg_index WHERE indrelid = "+oid),
		sum("pg_get_constraintdef(oid)", "pg_constraint WHERE conrelid = "+oid),
		count("pg_trigger WHERE NOT tgisinternal AND tgrelid = " + oid), count("pg_rewrite WHERE ev_class = " + oid), count("pg_policy WHERE polrelid = " + oid),
	}
	return alike + "; SELECT concat('rows ', count(*), ', checksum ', coalesce(sum(('x' || left(md5((plumb_row.*)::text), 15))::bit(60)::bigint), 0), ', definition ', " +
		strings.Join(parts, ", '/', ") + ") AS content FROM ONLY " + qualified(of) + " AS plumb_row"
}
