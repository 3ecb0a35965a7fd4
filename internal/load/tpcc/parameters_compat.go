package tpcc

import "plumb/internal/draw"

// The peculiarities of sysbench-tpcc (at 585e2b8) that its numbers rest on.
// Compat mode has them all; where one is in effect its name is written.
const (
	// The hottest 1 % of items get 1.7 % of the orders then, not 30.6 %: more
	// reading, hardly any contention.
	quirkRedrawn = "customers, names and items are close to uniform: the constant of NURand is drawn at every call"
	// The chooser of a remote warehouse ends with the home warehouse.
	quirkNeverRemote = "no line and no payment is remote, though o_all_local is 0 for some orders"
	// Always the same few pages.
	quirkDistrictAsOrder = "order status reads the lines of the order whose number is the district's"
	// The specification wants row n/2, rounded up.
	quirkMiddleRow = "of n customers of a name it takes row n/2 + 1"
	// sysbench counts these orders as errors and as transactions too.
	quirkRollbackEarly = "the unused item of orders that are rolled back is in the last line but one; sysbench's tps includes these orders, ours does not"
	// And stock is renewed at another limit.
	quirkCounters = "s_ytd, s_order_cnt, s_remote_cnt and c_payment_cnt stay as they are; amounts are whole numbers, of lines with tax and discount"
	// Nor are there keying and thinking.
	quirkNoTerminals = "the warehouse is drawn for each transaction: there are no terminals"
	// PostgreSQL checks them.
	quirkUnchecked = "on MySQL and MariaDB its sessions do not check foreign keys"
)

// Peculiarities says what a reader of a result of compat mode must know.
func Peculiarities() []string {
	return []string{quirkRedrawn, quirkNeverRemote, quirkDistrictAsOrder, quirkMiddleRow, quirkRollbackEarly, quirkCounters, quirkNoTerminals, quirkUnchecked}
}

// drawCompat fills in the parameters as sysbench-tpcc draws them.
func (d *drawer) drawCompat(p *parameters, s *draw.Stream) {
	p.kind = compatKind(s, d.purge)
	p.set = int(s.Between(1, d.sets))
	p.warehouse = s.Between(1, d.warehouses) // quirkNoTerminals
	p.district = s.Between(1, districts)
	switch p.kind {
	case opNewOrder:
		d.drawCompatOrder(p, s)
	case opPayment:
		p.customerWarehouse, p.customerDistrict = p.warehouse, p.district
		if s.Below(100) >= 85 {
			p.customerDistrict = s.Between(1, districts) // quirkNeverRemote: the warehouse stays
		}
		d.drawCompatCustomer(p, s)
		p.amount = 100 * s.Between(1, 5000) // quirkCounters
	case opOrderStatus:
		d.drawCompatCustomer(p, s)
	case opDelivery:
		p.carrier = s.Between(1, 10)
	case opStockLevel:
		p.threshold = s.Between(10, 20)
	}
}

func (d *drawer) drawCompatOrder(p *parameters, s *draw.Stream) {
	p.customer = redrawn(s, draw.NURandCustomer, 1, d.customers)
	p.count = int(s.Between(5, mostLines))
	p.rollback = s.Below(100) == 0
	for i := range p.count {
		l := line{number: int64(i) + 1, item: redrawn(s, draw.NURandItem, 1, d.items), supply: p.warehouse, quantity: s.Between(1, 10)}
		if s.Below(100) == 0 {
			p.allLocal = false // quirkNeverRemote
		}
		if p.rollback && i == p.count-2 { // quirkRollbackEarly
			l.item = d.unused()
		}
		p.lines[i] = l
	}
}

func (d *drawer) drawCompatCustomer(p *parameters, s *draw.Stream) {
	if s.Below(100) < 60 {
		p.lastName = redrawn(s, draw.NURandLastName, 0, d.names-1)
		return
	}
	p.customer = redrawn(s, draw.NURandCustomer, 1, d.customers)
}

// redrawn is NURand with a constant of its own: quirkRedrawn.
func redrawn(s *draw.Stream, A, x, y int64) int64 {
	return s.NURand(A, x, y, s.Between(0, A))
}
