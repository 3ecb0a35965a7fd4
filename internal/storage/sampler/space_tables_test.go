package sampler

import (
	"fmt"
	"maps"
	"testing"

	"plumb/internal/product"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// The files of a table are known by their names; of a table in several files all are added up, and what is none is left out.
func TestFilesOfTables(t *testing.T) {
	for name, c := range map[string]struct {
		kind string
		want string // "": not a table's
	}{
		"shop/orders.ibd":               {product.MySQL, "shop/orders"},
		"shop/orders#P#p2026.ibd":       {product.MySQL, "shop/orders"},
		"shop/orders#p#p0#sp#p0sp1.ibd": {product.MySQL, "shop/orders"},
		"shop/log.MYD":                  {product.MySQL, "shop/log"},
		"shop/log.MAI":                  {product.MySQL, "shop/log"},
		"shop/orders.frm":               {product.MySQL, ""},
		"ibdata1":                       {product.MySQL, ""},
		"mysql.ibd":                     {product.MySQL, ""},
		"base/16384/24576":              {product.Postgres, "16384/24576"},
		"base/16384/24576.7":            {product.Postgres, "16384/24576"},
		"base/16384/24576_vm":           {product.Postgres, "16384/24576"},
		"PG_15_202209061/5/16400_fsm.1": {product.Postgres, "5/16400"},
		"base/16384/PG_VERSION":         {product.Postgres, ""},
		"global/1262":                   {product.Postgres, ""},
		"collection-7-123.wt":           {product.Mongo, ""},
	} {
		all := tables{of: product.Of(c.kind).Tables, sums: map[string]taken{}}
		all.add(name, found{name, 4096, 100})
		all.add(name, found{name, 4096, 100})
		want := map[string]taken{}
		if c.want != "" {
			want[c.want] = taken{8192, 200}
		}
		if !maps.Equal(all.sums, want) {
			t.Errorf("%s: %v, want %v", name, all.sums, want)
		}
	}
}

// Only the largest are told, by what they take and not by their length.
func TestTheLargestTables(t *testing.T) {
	all := tables{of: product.Of(product.MySQL).Tables, sums: map[string]taken{}}
	for i := range 3 * series.MostTables {
		name := fmt.Sprintf("shop/t%02d.ibd", i)
		all.add(name, found{name, int64(i) * 4096, 1 << 40 / int64(i+1)})
	}
	server, b := stack.Ref{Kind: product.MySQL, Name: "3306"}, series.Batch{}
	all.set(&b, server)
	if len(b.Readings) != 2*series.MostTables {
		t.Fatalf("%d readings", len(b.Readings))
	}
	first := b.Readings[0]
	if of, name, ok := series.SplitPart(first.Of); !ok || of != server || name != "shop/t29" || first.Name != "space" || first.Value != 29*4096 {
		t.Errorf("the largest is %+v", first)
	}
}
