package tpcc

// recentOrders are those that stock level is about.
const recentOrders = 20

// stockLevel is TPC-C 2.8.2: how many items of the last orders of a district
// are short.
func (w *work) stockLevel() {
	p := &w.p
	w.one("district", readNext, p.warehouse, p.district)
	next := w.Int(0)
	w.run(countLow, p.warehouse, p.district, next-recentOrders, next, p.threshold)
}
