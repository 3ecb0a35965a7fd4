package oltp

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"plumb/internal/draw"
	"plumb/internal/load"
	"plumb/internal/load/fill"
	"plumb/internal/product"
)

// workloadName is what the notes of a load call it.
const workloadName = "oltp"

// generator is the version of what makes the rows: with another one, rows of
// the same seed differ.
const generator = "1"

// Columns of the tables, as a setting of the load.
const (
	allColumns  = "id,k,c,pad"
	bulkColumns = "id,k" // of bulk_insert
)

func (c Config) columns() string {
	if c.Script == bulkInsert {
		return bulkColumns
	}
	return allColumns
}

// Prepare makes the tables and fills them, or goes on where an earlier
// attempt was ended. The rows of a table are those of sysbench: ids from 1 on
// without gaps, k drawn from the distribution.
func Prepare(ctx context.Context, s load.Server, c Config, o fill.Options) (fill.Report, error) {
	p, err := c.plan(s.Engine())
	if err != nil {
		return fill.Report{}, err
	}
	return fill.Fill(ctx, s, p, o)
}

// Cleanup drops the tables that Prepare made, and gives their names.
func Cleanup(ctx context.Context, s load.Server) ([]string, error) {
	return fill.Cleanup(ctx, s, workloadName)
}

func tableName(n int) string { return "sbtest" + strconv.Itoa(n) }

func (c Config) plan(engine string) (fill.Plan, error) {
	if err := c.check(); err != nil {
		return fill.Plan{}, err
	}
	dist, err := draw.Named(c.RandType, c.Shape)
	if err != nil {
		return fill.Plan{}, err
	}
	sql := product.DialectOf(engine)
	if c.Fillfactor > 0 && sql.Fillfactor == "" {
		return fill.Plan{}, fmt.Errorf("tables of %s have no fillfactor", engine)
	}
	p := fill.Plan{Workload: workloadName, Settings: c.settings(sql, dist)}
	for n := 1; n <= c.Tables; n++ {
		if c.Script == bulkInsert {
			p.Tables = append(p.Tables, c.bulkTable(sql, n))
		} else {
			p.Tables = append(p.Tables, c.table(sql, n, dist))
		}
	}
	return p, nil
}

func (c Config) settings(sql *product.Dialect, dist draw.Distribution) []load.Setting {
	all := []load.Setting{{Name: "columns", Value: c.columns()}, {Name: "generator", Value: generator}, {Name: "auto-inc", Value: onOff(c.AutoInc)},
		{Name: "secondary", Value: onOff(c.Secondary)}}
	if c.Script != bulkInsert {
		all = append(all, load.Setting{Name: "table-size", Value: strconv.FormatInt(c.TableSize, 10)}, load.Setting{Name: "rand-type", Value: dist.String()},
			load.Setting{Name: "seed", Value: strconv.FormatUint(c.Seed, 10)}, load.Setting{Name: "create-secondary", Value: onOff(c.CreateSecondary)})
	}
	if c.Fillfactor > 0 {
		all = append(all, load.Setting{Name: "fillfactor", Value: strconv.Itoa(c.Fillfactor)})
	}
	if sql.StorageEngines {
		all = append(all, load.Setting{Name: "mysql-storage-engine", Value: c.Engine}, load.Setting{Name: "mysql-table-options", Value: c.TableOptions})
	}
	return all
}

func onOff(b bool) string {
	if b {
		return "on"
	}
	return "off"
}

// rowStreams keeps the rows apart from the events, which are drawn from
// stream 0.
const rowStreams = 1 << 32

func (c Config) table(sql *product.Dialect, n int, dist draw.Distribution) fill.Table {
	name := tableName(n)
	t := fill.Table{Name: name, Columns: []string{"id", "k", "c", "pad"}, Units: c.TableSize, Sums: []string{"id", "k"}}
	seed, size := c.Seed, c.TableSize
	streams := sync.Pool{New: func() any { return new(draw.Stream) }} // a distribution makes them escape
	t.Row = func(dst []byte, unit int64) []byte {
		s := streams.Get().(*draw.Stream)
		defer streams.Put(s)
		*s = draw.Keyed(seed, rowStreams+uint64(n), unit)
		dst = strconv.AppendInt(dst, unit+1, 10)
		dst = strconv.AppendInt(append(dst, '\t'), dist.Draw(s, 1, size), 10)
		dst = s.Digits(append(dst, '\t'), 10)
		dst = s.Digits(append(dst, '\t'), 5)
		return append(dst, '\n')
	}
	id, key := "INTEGER NOT NULL", ""
	if c.AutoInc {
		id = sql.Serial
	}
	if sql.Clustered {
		key = ", PRIMARY KEY (id)"
		if c.Secondary {
			key = ", KEY xid (id)"
		}
	}
	t.Create = fmt.Sprintf("CREATE TABLE %s (id %s, k INTEGER DEFAULT '0' NOT NULL, c CHAR(120) DEFAULT '' NOT NULL, pad CHAR(60) DEFAULT '' NOT NULL%s)%s",
		name, id, key, c.tableOptions(sql))
	t.After = c.after(sql, n)
	return t
}

// after gives what follows the rows.
func (c Config) after(sql *product.Dialect, n int) []string {
	name := tableName(n)
	var all []string
	switch {
	case sql.Clustered:
	case c.Secondary:
		all = append(all, fmt.Sprintf("CREATE INDEX xid_%d ON %s (id)", n, name))
	default:
		all = append(all, "ALTER TABLE "+name+" ADD PRIMARY KEY (id)")
	}
	if c.AutoInc && sql.SetSerial != "" {
		all = append(all, fmt.Sprintf(sql.SetSerial, name, c.TableSize))
	}
	if c.CreateSecondary {
		all = append(all, fmt.Sprintf("CREATE INDEX k_%d ON %s (k)", n, name))
	}
	return all
}

func (c Config) bulkTable(sql *product.Dialect, n int) fill.Table {
	name := tableName(n)
	return fill.Table{Name: name, Columns: []string{"id", "k"}, Row: func(dst []byte, _ int64) []byte { return dst },
		Create: "CREATE TABLE " + name + " (id INTEGER NOT NULL, k INTEGER DEFAULT '0' NOT NULL, PRIMARY KEY (id))" + c.tableOptions(sql)}
}

func (c Config) tableOptions(sql *product.Dialect) string {
	options := ""
	if sql.StorageEngines && c.Engine != "" {
		options = " ENGINE = " + c.Engine
	}
	if c.TableOptions != "" {
		options += " " + c.TableOptions
	}
	if c.Fillfactor > 0 {
		options += fmt.Sprintf(sql.Fillfactor, c.Fillfactor)
	}
	return options
}

// Warm reads the tables and their index on k once, so that they are in memory
// as far as they fit.
func Warm(ctx context.Context, s load.Server, c Config) error {
	if err := c.check(); err != nil {
		return err
	}
	a, err := s.Admin(ctx)
	if err != nil {
		return err
	}
	defer a.Close()
	sql := product.DialectOf(s.Engine())
	for n := 1; n <= c.Tables; n++ {
		name := tableName(n)
		queries := []string{sql.Analyze + name, "SELECT AVG(id) FROM " + name}
		if c.Script != bulkInsert {
			queries = append(queries, "SELECT SUM(LENGTH(c)) FROM "+name, "SELECT COUNT(*) FROM "+name+" WHERE "+fmt.Sprintf(sql.Text, "k")+" LIKE '%0%'")
		}
		for _, query := range queries {
			if _, err := a.Query(ctx, query); err != nil {
				return missingTable(err, name)
			}
		}
	}
	return nil
}
