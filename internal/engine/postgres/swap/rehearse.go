package swap

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strconv"

	"plumb/internal/change"
	"plumb/internal/engine/postgres/point"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/provision"
	"plumb/internal/provision/rehearsal"
)

var _ rehearsal.Rehearser = Swapper{}

// Release implements rehearsal.Rehearser.
func (s Swapper) Release(ctx context.Context, h host.Reader, w provision.Swap) (rehearsal.Release, error) {
	old, err := read(ctx, h, w.Home)
	if err != nil {
		return nil, err
	}
	n, err := old.next(ctx, h, w.To.Version, w.At)
	return release{s, old, n}, err
}

// release is the new version, and the clusters of before and after.
type release struct {
	Swapper
	old, next cluster
}

// Possible implements rehearsal.Release.
func (r release) Possible(ctx context.Context, d host.Streamer) error {
	return rehearsal.Typed(ctx, d, change.LongScript(rehearse, r.next.words(r.old)...).Argv)
}

// upgraded is the directory of the new cluster within the old one, in a copy: there its files lie on the filesystem of the
// copy, and go with it.
const upgraded = "plumb-upgraded"

// upgradeCopy has pg_upgrade copy the data of a copy, as it will those of the server itself. Both servers read the
// configuration that was written for the copy.
const upgradeCopy = `old=$1 bin=$2 from=$3 to=$4 run=$5 user=$6
shift 6
export LC_ALL=C PGCLIENTENCODING=UTF8
cd "$run"
"$bin/initdb" -D "$to" -U "$user" --auth=peer "$@"
is="-c config_file=$run/postgresql.conf -c hba_file=$run/closed.conf"
"$bin/pg_upgrade" -b "$old" -B "$bin" -d "$from" -D "$to" -U "$user" -s "$run" -o "$is" -O "$is" ||
{ find "$to" -path '*pg_upgrade_output*' \( -name '*.txt' -exec cat {} + -o -name '*.log' -exec tail -n 5 {} + \); exit 1; }`

// Becomes implements rehearsal.Release.
func (r release) Becomes(ctx context.Context, h host.Reader, c *instance.Copy) (protect.Server, error) {
	sv := c.Server
	was := sv.Dir("data")
	data := path.Join(was, upgraded)
	if err := fits(ctx, h, c.In(was), r.old.size); err != nil {
		return sv, hint.With(fmt.Errorf("a copy of the copy is made: %w", err), "make room there; --unrehearsed swaps without a rehearsal")
	}
	bin := func(version string) string { return path.Dir(program(version, "postgres")) }
	argv := append([]string{"sh", "-euc", upgradeCopy, "sh", bin(r.old.version), bin(r.next.version), c.In(was), c.In(data), c.Run, r.old.user}, r.next.init...)
	if err := c.Work(ctx, "pg_upgrade", argv...); err != nil {
		return sv, err
	}
	to := product.Release{Flavor: product.Postgres, Version: r.next.version}
	sv.Program, sv.Version, sv.Product = []string{program(to.Version, "postgres")}, to.Version, to.String()
	sv.Settings = maps.Clone(sv.Settings)
	maps.DeleteFunc(sv.Settings, func(name, _ string) bool { // the program itself has read the server's configuration, not the copy's
		f := r.Catalog.Fact(product.Postgres, name)
		return f != nil && f.Knob != nil && !f.Knob.Has(to.Flavor, to.Version)
	})
	sv.Dirs = []protect.Dir{{Role: "data", Path: data}}
	for _, d := range c.Server.Dirs { // the source's own, which it must not see
		if d.Link = ""; d.Role == "data" {
			d.Role = "old data"
		}
		sv.Dirs = append(sv.Dirs, d)
	}
	return sv, nil
}

// Upgrade implements rehearsal.Release: all was done while no server ran.
func (release) Upgrade(context.Context, host.Streamer, protect.Copy) error { return nil }

// tables lists what a person has put into a database: tables, what views hold, and large objects. Sequences are asked otherwise.
const tables = "SELECT format('%I.%I', n.nspname, c.relname), c.relkind FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace " +
	"WHERE c.relkind IN ('r', 'm', 'S') AND c.relispopulated AND c.relpersistence <> 't' AND n.nspname <> 'information_schema' " +
	"AND (c.oid >= 16384 OR c.oid = 'pg_largeobject'::regclass) ORDER BY 1"

// sum is the same for the same rows in any order. hashtext must not change between versions, for indexes rely on it; nor must
// the text of a row, as long as numbers are not written with all their digits, which version 12 began to do.
const sum = `SELECT count(*) || ' ' || coalesce(sum(hashtext(textin(record_out(t.*)) COLLATE "C")::bigint), 0) FROM ONLY %s t`

// Sums implements rehearsal.Release.
func (release) Sums(ctx context.Context, a load.Admin, c protect.Copy) (map[string]string, error) {
	sums := map[string]string{}
	err := each(ctx, a, c, func(database string, a load.Admin) error {
		if err := a.Exec(ctx, "SET extra_float_digits = 0", "SET TimeZone = 'UTC'", "SET IntervalStyle = 'postgres'", "SET bytea_output = 'hex'", "SET lc_monetary = 'C'"); err != nil {
			return err
		}
		rows, err := a.Query(ctx, tables)
		if err != nil {
			return fmt.Errorf("list the tables: %w", err)
		}
		for _, row := range rows.Values {
			name := host.Text(row, 0)
			query := fmt.Sprintf(sum, name)
			if host.Text(row, 1) == "S" {
				query = "SELECT last_value || ' ' || is_called FROM " + name
			}
			is, err := a.Query(ctx, query)
			if err != nil {
				return fmt.Errorf("sum up the table %s: %w", name, err)
			}
			if len(is.Values) != 1 {
				return fmt.Errorf("sum up the table %s: it gives %d rows", name, len(is.Values))
			}
			sums[name+" in database "+database] = host.Text(is.Values[0], 0)
		}
		return nil
	})
	return sums, err
}

// each goes to all databases of a copy that somebody can use.
func each(ctx context.Context, a load.Admin, c protect.Copy, do func(database string, a load.Admin) error) error {
	names, err := point.Databases(ctx, a)
	if err != nil {
		return err
	}
	for _, name := range names {
		one, err := point.Dial(ctx, c, name)
		if err == nil {
			err = do(name, one)
			one.Close()
		}
		if err != nil {
			return fmt.Errorf("in database %s: %w", name, err)
		}
	}
	return nil
}

// Of what is sorted by a library that is another now, and of what comes with programs that are newer now.
const (
	sortedDatabase = "SELECT 'database ' || quote_ident(datname) || ' sorts text as version ' || datcollversion || ' of the system''s library did, which is ' || pg_database_collation_actual_version(oid) || " +
		"' now: REINDEX what has an index on text, then ALTER DATABASE ' || quote_ident(datname) || ' REFRESH COLLATION VERSION' " +
		"FROM pg_database WHERE datname = current_database() AND datcollversion <> pg_database_collation_actual_version(oid)"
	sortedIndexes = "SELECT 'in database ' || quote_ident(current_database()) || ' an index is in the order of version ' || c.collversion || ' of the collation ' || quote_ident(c.collname) || ', which is ' || " +
		"pg_collation_actual_version(c.oid) || ' now: REINDEX INDEX ' || i.indexrelid::regclass::text " +
		"FROM pg_index i CROSS JOIN LATERAL unnest(i.indcollation::oid[]) AS k(id) JOIN pg_collation c ON c.oid = k.id " +
		"WHERE c.collversion <> pg_collation_actual_version(c.oid) ORDER BY 1"
	extensions = "SELECT 'in database ' || quote_ident(current_database()) || ' the extension ' || quote_ident(e.extname) || ' is of version ' || e.extversion || ', and ' || a.default_version || " +
		"' comes with the new release: ALTER EXTENSION ' || quote_ident(e.extname) || ' UPDATE' " +
		"FROM pg_extension e JOIN pg_available_extensions a ON a.name = e.extname WHERE a.default_version <> e.extversion ORDER BY 1"
	unchecked = "SELECT 'its pages have no checksums, and keep having none: pg_checksums --enable adds them while the server is stopped' WHERE current_setting('data_checksums') = 'off'"
)

// Notes implements rehearsal.Release. The new cluster notes the library of now for the system's own collations: which one
// sorted their indexes, the old one knows.
func (r release) Notes(ctx context.Context, a load.Admin, c protect.Copy) (notes []string, err error) {
	add := func(a load.Admin, queries ...string) error {
		for _, query := range queries {
			rows, err := a.Query(ctx, query)
			if err != nil {
				return err
			}
			for _, row := range rows.Values {
				notes = append(notes, host.Text(row, 0))
			}
		}
		return nil
	}
	ask := []string{sortedIndexes, sortedDatabase}
	if v, err := strconv.Atoi(r.old.version); err != nil || v < 15 {
		ask = ask[:1] // of databases it is not known
	}
	if c.Server.Version == r.next.version {
		ask = []string{extensions}
		if err := add(a, unchecked); err != nil {
			return nil, err
		}
	}
	err = each(ctx, a, c, func(_ string, a load.Admin) error { return add(a, ask...) })
	return notes, err
}
