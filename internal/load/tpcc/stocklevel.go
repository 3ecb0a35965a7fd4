package tpcc

// recentOrders are those that stock level is about.
const recentOrders = 20

// stockLevel is TPC-C 2.8.2: how many items of the last orders of a district
// are short.
func (w *work) stockLevel() error {
	p := &w.p
	if err := w.run(readNext, p.warehouse, p.district); err != nil {
		return err
	}
	if !w.s.Next() {
		return w.missing("district", p.warehouse, p.district)
	}
	next := w.s.Int(0)
	return w.run(countLow, p.warehouse, p.district, next-recentOrders, next, p.threshold)
}
