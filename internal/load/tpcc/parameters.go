package tpcc

import "plumb/internal/draw"

// mostLines of an order.
const mostLines = 15

// parameters are all that an operation depends on besides the data. They are
// drawn before its first statement, from the seed and its number alone.
type parameters struct {
	kind      int
	set       int   // of tables, from 1
	warehouse int64 // of the terminal
	district  int64
	carrier   int64 // delivery
	threshold int64 // stock level
	amount    int64 // payment, in cents

	customer          int64 // 0: by last name
	lastName          int64 // its number
	customerWarehouse int64 // payment: of the customer
	customerDistrict  int64

	lines    [mostLines]line // new order
	count    int             // of them
	rollback bool            // one line asks for an item that there is not
	allLocal bool            // what o_all_local says
}

// line is one line of an order.
type line struct{ number, item, supply, quantity int64 }

// remote counts the lines that another warehouse supplies.
func (p *parameters) remote() (n int64) {
	for _, l := range p.lines[:p.count] {
		if l.supply != p.warehouse {
			n++
		}
	}
	return n
}

// byName tells whether the customer gave a name instead of a number.
func (p *parameters) byName() bool { return p.customer == 0 }

// drawer draws parameters. It is unchanging.
type drawer struct {
	size
	seed       uint64 // of the run
	warehouses int64
	compat     bool
	sets       int64
	purge      bool
	names      int64 // different last names
	constants  draw.Constants
}

// newDrawer makes the drawer for a run on rows of the seed that is given.
func newDrawer(c Config, rows uint64) *drawer {
	z := c.sizes()
	return &drawer{size: z, seed: c.Run, warehouses: c.Warehouses, compat: c.Compat, sets: int64(c.sets()), purge: c.Purge,
		names: min(z.customers, 1000), constants: draw.RunConstants(rows, c.Run)}
}

// draw fills in the parameters of operation n.
func (d *drawer) draw(p *parameters, n int64) {
	s := draw.Keyed(d.seed, fromOperation, n)
	*p = parameters{set: 1, allLocal: true}
	if d.compat {
		d.drawCompat(p, &s)
		return
	}
	p.kind = kindOf(d.seed, n)
	terminal := n % (d.warehouses * districts)
	p.warehouse = terminal%d.warehouses + 1
	p.district = s.Between(1, districts)
	switch p.kind {
	case opNewOrder:
		d.drawOrder(p, &s)
	case opPayment:
		d.drawPayment(p, &s)
	case opOrderStatus:
		d.drawCustomer(p, &s)
	case opDelivery:
		p.carrier = s.Between(1, 10)
	case opStockLevel:
		p.district = terminal/d.warehouses + 1 // the terminal's own, always
		p.threshold = s.Between(10, 20)
	}
}

// drawOrder follows TPC-C 2.4.1. Lines come in the order of their stock rows:
// transactions that lock rows in one order do not deadlock over them.
func (d *drawer) drawOrder(p *parameters, s *draw.Stream) {
	p.customer = s.NURand(draw.NURandCustomer, 1, d.customers, d.constants.Customer)
	p.count = int(s.Between(5, mostLines))
	p.rollback = s.Below(100) == 0
	for i := range p.count {
		l := line{number: int64(i) + 1, supply: p.warehouse, quantity: s.Between(1, 10)}
		l.item = s.NURand(draw.NURandItem, 1, d.items, d.constants.Item)
		if s.Below(100) == 0 {
			l.supply = d.another(p.warehouse, s)
			p.allLocal = p.allLocal && l.supply == p.warehouse
		}
		if p.rollback && i == p.count-1 {
			l.item = d.unused()
		}
		p.insert(i, l)
	}
}

// unused is the number of an item that there is not.
func (d *drawer) unused() int64 { return d.items + 1 }

// insert puts a line where it belongs among the first n.
func (p *parameters) insert(n int, l line) {
	for ; n > 0 && l.before(p.lines[n-1]); n-- {
		p.lines[n] = p.lines[n-1]
	}
	p.lines[n] = l
}

func (l line) before(other line) bool {
	return l.supply < other.supply || l.supply == other.supply && l.item < other.item
}

// another draws another warehouse; where there is only one, it is that.
func (d *drawer) another(home int64, s *draw.Stream) int64 {
	if d.warehouses == 1 {
		return home
	}
	w := s.Between(1, d.warehouses-1)
	if w >= home {
		w++
	}
	return w
}

// drawPayment follows TPC-C 2.5.1.
func (d *drawer) drawPayment(p *parameters, s *draw.Stream) {
	p.customerWarehouse, p.customerDistrict = p.warehouse, p.district
	if s.Below(100) >= 85 {
		p.customerDistrict = s.Between(1, districts)
		p.customerWarehouse = d.another(p.warehouse, s)
	}
	d.drawCustomer(p, s)
	p.amount = s.Between(100, 500_000)
}

// drawCustomer names the customer in 60 of 100 cases, and gives the number in
// the others (TPC-C 2.5.1.2, 2.6.1.2).
func (d *drawer) drawCustomer(p *parameters, s *draw.Stream) {
	if s.Below(100) < 60 {
		p.lastName = s.NURand(draw.NURandLastName, 0, d.names-1, d.constants.LastName)
		return
	}
	p.customer = s.NURand(draw.NURandCustomer, 1, d.customers, d.constants.Customer)
}
