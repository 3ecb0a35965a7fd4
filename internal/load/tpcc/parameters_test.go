package tpcc

import (
	"math"
	"slices"
	"testing"

	"plumb/internal/draw"
)

const many = 100_000

// drawn gives the parameters of many operations.
func drawn(c Config) (*drawer, []parameters) {
	d := newDrawer(c, c.Seed)
	all := make([]parameters, many)
	for n := range all {
		d.draw(&all[n], int64(n))
	}
	return d, all
}

// near wants a share or a mean near a value.
func near(t *testing.T, what string, got, want, by float64) {
	t.Helper()
	if math.Abs(got-want) > by {
		t.Errorf("%s: %.4f, want %.4f ± %.4f", what, got, want, by)
	}
}

func part(k, n int) float64 { return float64(k) / float64(n) }

// Every band of the specification holds over many operations.
func TestSpecificationParameters(t *testing.T) {
	_, all := drawn(Config{Warehouses: 7, Seed: 3, Run: 4})
	var orders, lines, remote, back, payments, away, named, asked, askedBy int
	for _, p := range all {
		switch p.kind {
		case opNewOrder:
			orders, lines, remote, back = orders+1, lines+p.count, remote+int(p.remote()), back+int(oneIf(p.rollback))
			checkOrder(t, p)
		case opPayment:
			payments, away, named = payments+1, away+int(oneIf(p.customerWarehouse != p.warehouse)), named+int(oneIf(p.byName()))
			if p.amount < 100 || p.amount > 500_000 || p.customerWarehouse == p.warehouse && p.customerDistrict != p.district {
				t.Fatalf("payment %+v", p)
			}
		case opOrderStatus:
			asked, askedBy = asked+1, askedBy+int(oneIf(p.byName()))
		}
	}
	near(t, "rolled back", part(back, orders), 0.01, 0.0015)
	near(t, "lines", part(lines, orders), 10, 0.05)
	near(t, "remote lines", part(remote, lines), 0.01, 0.0005)
	near(t, "remote payments", part(away, payments), 0.15, 0.006)
	near(t, "payments by name", part(named, payments), 0.6, 0.008)
	near(t, "order status by name", part(askedBy, asked), 0.6, 0.025)
}

func checkOrder(t *testing.T, p parameters) {
	t.Helper()
	var numbers []int64
	for i, l := range p.lines[:p.count] {
		if l.quantity < 1 || l.quantity > 10 || l.supply < 1 || l.supply > 7 || l.item < 1 || (l.item > 100_000) != (p.rollback && l.number == int64(p.count)) {
			t.Fatalf("line %+v of %+v", l, p)
		}
		if i > 0 && l.before(p.lines[i-1]) {
			t.Fatalf("lines out of order: %+v", p)
		}
		numbers = append(numbers, l.number)
	}
	slices.Sort(numbers)
	if p.count < 5 || p.count > 15 || numbers[0] != 1 || numbers[p.count-1] != int64(p.count) || p.allLocal != (p.remote() == 0) {
		t.Fatalf("order %+v", p)
	}
}

// The hottest 1 % get what NURand gives them, and in compat mode hardly more
// than 1 %.
func TestHottest(t *testing.T) {
	for _, c := range []struct {
		compat                 bool
		items, customers, name float64
	}{{false, 0.306, 0.222, 0.148}, {true, 0.017, 0.013, 0.013}} {
		_, all := drawn(Config{Warehouses: 3, Seed: 3, Run: 4, Compat: c.compat})
		items, customers, names := map[int64]int{}, map[int64]int{}, map[int64]int{}
		for _, p := range all {
			for _, l := range p.lines[:p.count] {
				items[l.item]++
			}
			if p.kind == opNewOrder {
				customers[p.customer]++
			}
			if p.kind == opPayment && p.byName() {
				names[p.lastName]++
			}
		}
		near(t, "items", hottest(items, 1000), c.items, 0.01)
		near(t, "customers", hottest(customers, 30), c.customers, 0.01)
		near(t, "names", hottest(names, 10), c.name, 0.015)
	}
}

// hottest is the part that the keys drawn most have.
func hottest(counts map[int64]int, keys int) float64 {
	var all []int
	sum := 0
	for _, n := range counts {
		all, sum = append(all, n), sum+n
	}
	slices.SortFunc(all, func(a, b int) int { return b - a })
	hot := 0
	for _, n := range all[:keys] {
		hot += n
	}
	return part(hot, sum)
}

// Any part of a run is close to the mix.
func TestMix(t *testing.T) {
	_, all := drawn(Config{Warehouses: 2, Run: 4})
	var counts [kinds]int64
	for n, p := range all {
		counts[p.kind]++
		for kind, k := range counts {
			want := float64(mix[kind]) * float64(n+1) / deckSize
			if math.Abs(float64(k)-want) > 25 {
				t.Fatalf("after %d operations %d of %s, want about %.0f", n+1, k, opNames[kind], want)
			}
			if (n+1)%deckSize == 0 && float64(k) != want {
				t.Fatalf("after %d operations %d of %s, want %.0f", n+1, k, opNames[kind], want)
			}
		}
	}
	if slices.EqualFunc(all[:100], all[100:200], func(a, b parameters) bool { return a.kind == b.kind }) {
		t.Error("every deck has the same order")
	}
}

// Terminals stay at their warehouse, neighbours are at different ones, and
// each asks for the stock level of its own district.
func TestTerminals(t *testing.T) {
	const warehouses = 3
	_, all := drawn(Config{Warehouses: warehouses, Run: 4})
	homes, own, pairs := map[int]int64{}, map[int]int64{}, map[[2]int64]bool{}
	for n, p := range all {
		terminal := n % (warehouses * districts)
		if home, seen := homes[terminal]; seen && home != p.warehouse {
			t.Fatalf("terminal %d moved", terminal)
		}
		homes[terminal] = p.warehouse
		if n > 0 && all[n-1].warehouse == p.warehouse {
			t.Fatalf("operations %d and %d meet at warehouse %d", n-1, n, p.warehouse)
		}
		if p.kind == opStockLevel {
			if d, seen := own[terminal]; seen && d != p.district {
				t.Fatalf("terminal %d changed its district", terminal)
			}
			own[terminal] = p.district
			pairs[[2]int64{p.warehouse, p.district}] = true
		}
	}
	if len(homes) != 30 || len(pairs) != 30 {
		t.Errorf("%d terminals, %d of their districts", len(homes), len(pairs))
	}
}

func TestSameSeedSameParameters(t *testing.T) {
	for _, compat := range []bool{false, true} {
		c := Config{Warehouses: 3, Seed: 3, Run: 4, Compat: compat, Sets: 2}
		_, a := drawn(c)
		_, b := drawn(c)
		if !slices.Equal(a, b) {
			t.Error("the same seed drew something else")
		}
		c.Run++
		if _, b = drawn(c); slices.Equal(a[:100], b[:100]) {
			t.Error("another seed drew the same")
		}
	}
}

// With one warehouse nothing is remote.
func TestOneWarehouse(t *testing.T) {
	_, all := drawn(Config{Warehouses: 1, Run: 4})
	for _, p := range all {
		if p.remote() > 0 || !p.allLocal || p.kind == opPayment && p.customerWarehouse != 1 {
			t.Fatalf("remote: %+v", p)
		}
	}
}

// The constants keep the distance that the specification wants.
func TestConstants(t *testing.T) {
	d := newDrawer(Config{Warehouses: 1, Run: 4}, 3)
	if was := draw.LoadConstants(3).LastName; d.constants.LastName == was {
		t.Error("names are drawn with the constant of the load")
	}
}

// Each peculiarity of the drawing shows.
func TestCompatParameters(t *testing.T) {
	_, all := drawn(Config{Warehouses: 3, Run: 4, Compat: true, Sets: 4, Purge: true})
	var counts [kinds]int
	var sets [5]int
	claimed, moved, elsewhere := 0, 0, 0
	for n, p := range all {
		counts[p.kind]++
		sets[p.set]++
		if p.remote() > 0 || p.kind == opPayment && p.customerWarehouse != p.warehouse {
			t.Fatalf("remote: %+v", p) // quirkNeverRemote
		}
		claimed += int(oneIf(!p.allLocal))
		if p.rollback && p.lines[p.count-2].item != 100_001 { // quirkRollbackEarly
			t.Fatalf("rolled back: %+v", p)
		}
		if p.amount%100 != 0 { // quirkCounters
			t.Fatalf("payment of %d cents", p.amount)
		}
		if n >= 30 && all[n-30].warehouse != p.warehouse {
			moved++ // quirkNoTerminals
		}
		elsewhere += int(oneIf(p.kind == opPayment && p.customerDistrict != p.district))
	}
	for kind, want := range [kinds]float64{10, 10, 1, 1, 1, 1} {
		near(t, opNames[kind], part(counts[kind], many), want/compatPurged, 0.005)
	}
	near(t, "orders said to be remote", part(claimed, counts[opNewOrder]), 0.0937, 0.01)
	near(t, "other warehouse", part(moved, many), 2.0/3, 0.01)
	near(t, "other district", part(elsewhere, counts[opPayment]), 0.15*0.9, 0.01)
	for set := 1; set <= 4; set++ {
		near(t, "set", part(sets[set], many), 0.25, 0.01)
	}
}
