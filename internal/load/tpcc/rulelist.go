package tpcc

// rules are the conditions of the specification (3.3.2.1 to 3.3.2.12), and
// from 13 on others that hold as well.
var rules = []rule{
	{
		number: 1, says: "w_ytd is the sum of d_ytd of its districts", group: "warehouse", keys: []string{"w"},
		parts: []string{
			"SELECT w_id w, 1 there, w_ytd a, 0 b FROM <warehouse>",
			"SELECT d_w_id, 0, 0, d_ytd FROM <district>"},
		having: "S(there) <> 1 OR S(a) <> S(b)",
		shows:  []string{"w_ytd", "S(a)", "districts together", "S(b)"},
	}, {
		number: 2, says: "d_next_o_id - 1 is the highest o_id, and the highest no_o_id where there are new orders", group: "district", keys: []string{"w", "d"},
		parts: []string{
			"SELECT d_w_id w, d_id d, 1 there, d_next_o_id - 1 a, 0 b, 0 n FROM <district>",
			"SELECT o_w_id, o_d_id, 0, 0, MAX(o_id), 0 FROM <orders> GROUP BY o_w_id, o_d_id",
			"SELECT no_w_id, no_d_id, 0, 0, 0, MAX(no_o_id) FROM <new_orders> GROUP BY no_w_id, no_d_id"},
		having: "S(there) <> 1 OR S(a) <> S(b) OR S(n) <> 0 AND S(n) <> S(a)",
		shows:  []string{"d_next_o_id - 1", "S(a)", "highest o_id", "S(b)", "highest no_o_id", "S(n)"},
	}, {
		number: 3, says: "new orders are numbered without a gap", group: "district", keys: []string{"w", "d"},
		parts:  []string{"SELECT no_w_id w, no_d_id d, no_o_id n FROM <new_orders>"},
		having: "MAX(n) - MIN(n) + 1 <> COUNT(*)",
		shows:  []string{"lowest no_o_id", "MIN(n)", "highest", "MAX(n)", "rows", "COUNT(*)"},
	}, {
		number: 4, says: "the sum of o_ol_cnt is the number of order lines", group: "district", keys: []string{"w", "d"}, ranges: true,
		parts: []string{
			"SELECT o_w_id w, o_d_id d, SUM(o_ol_cnt) a, 0 b FROM <orders> WHERE [o_w_id] GROUP BY o_w_id, o_d_id",
			"SELECT ol_w_id, ol_d_id, 0, COUNT(*) FROM <order_line> WHERE [ol_w_id] GROUP BY ol_w_id, ol_d_id"},
		having: "S(a) <> S(b)",
		shows:  []string{"sum of o_ol_cnt", "S(a)", "lines", "S(b)"},
	}, {
		number: 5, says: "o_carrier_id is NULL exactly when the order is in new_orders", group: "order", keys: []string{"w", "d", "o"}, ranges: true,
		parts: []string{
			"SELECT o_w_id w, o_d_id d, o_id o, 1 a, 0 b FROM <orders> WHERE [o_w_id] AND o_carrier_id IS NULL",
			"SELECT no_w_id, no_d_id, no_o_id, 0, 1 FROM <new_orders> WHERE [no_w_id]"},
		having: "S(a) <> S(b)",
		shows:  []string{"orders without carrier", "S(a)", "new orders", "S(b)"},
	}, {
		number: 6, says: "o_ol_cnt is the number of lines of the order", group: "order", keys: []string{"w", "d", "o"}, ranges: true,
		parts: []string{
			"SELECT o_w_id w, o_d_id d, o_id o, o_ol_cnt a, 0 b FROM <orders> WHERE [o_w_id]",
			"SELECT ol_w_id, ol_d_id, ol_o_id, 0, COUNT(*) FROM <order_line> WHERE [ol_w_id] GROUP BY ol_w_id, ol_d_id, ol_o_id"},
		having: "S(a) <> S(b)",
		shows:  []string{"o_ol_cnt", "S(a)", "lines", "S(b)"},
	}, {
		number: 7, says: "ol_delivery_d is NULL exactly when o_carrier_id of its order is, and every line has an order", group: "order", keys: []string{"w", "d", "o"}, ranges: true,
		parts: []string{
			"SELECT o_w_id w, o_d_id d, o_id o, 1 there, CASE WHEN o_carrier_id IS NULL THEN 0 ELSE 1 END carried, 0 n, 0 dated FROM <orders> WHERE [o_w_id]",
			"SELECT ol_w_id, ol_d_id, ol_o_id, 0, 0, COUNT(*), COUNT(ol_delivery_d) FROM <order_line> WHERE [ol_w_id] GROUP BY ol_w_id, ol_d_id, ol_o_id"},
		having: "S(there) <> 1 OR S(carried) * S(n) <> S(dated)",
		shows:  []string{"orders", "S(there)", "with a carrier", "S(carried)", "lines", "S(n)", "with a delivery date", "S(dated)"},
	}, {
		number: 8, says: "w_ytd is the sum of h_amount of the warehouse", group: "warehouse", keys: []string{"w"}, purged: true,
		parts: []string{
			"SELECT w_id w, 1 there, w_ytd a, 0 b FROM <warehouse>",
			"SELECT h_w_id, 0, 0, SUM(h_amount) FROM <history> GROUP BY h_w_id"},
		having: "S(there) <> 1 OR S(a) <> S(b)",
		shows:  []string{"w_ytd", "S(a)", "history", "S(b)"},
	}, {
		number: 9, says: "d_ytd is the sum of h_amount of the district", group: "district", keys: []string{"w", "d"}, purged: true,
		parts: []string{
			"SELECT d_w_id w, d_id d, 1 there, d_ytd a, 0 b FROM <district>",
			"SELECT h_w_id, h_d_id, 0, 0, SUM(h_amount) FROM <history> GROUP BY h_w_id, h_d_id"},
		having: "S(there) <> 1 OR S(a) <> S(b)",
		shows:  []string{"d_ytd", "S(a)", "history", "S(b)"},
	}, {
		number: 10, says: "c_balance is the sum of the delivered ol_amount less the sum of h_amount", group: "customer", keys: []string{"w", "d", "c"}, ranges: true, purged: true,
		parts: []string{
			"SELECT c_w_id w, c_d_id d, c_id c, 1 there, c_balance a, 0 b, 0 h FROM <customer> WHERE [c_w_id]",
			deliveredAmounts,
			"SELECT h_c_w_id, h_c_d_id, h_c_id, 0, 0, 0, SUM(h_amount) FROM <history> WHERE [h_c_w_id] GROUP BY h_c_w_id, h_c_d_id, h_c_id"},
		having: "S(there) <> 1 OR S(a) <> S(b) - S(h)",
		shows:  []string{"c_balance", "S(a)", "delivered", "S(b)", "paid", "S(h)"},
	}, {
		number: 11, says: "all orders but the new ones were delivered before the load", group: "district", keys: []string{"w", "d"}, fresh: true,
		parts: []string{
			"SELECT d_w_id w, d_id d, 1 there, 0 a, 0 b FROM <district>",
			"SELECT o_w_id, o_d_id, 0, COUNT(*), 0 FROM <orders> GROUP BY o_w_id, o_d_id",
			"SELECT no_w_id, no_d_id, 0, 0, COUNT(*) FROM <new_orders> GROUP BY no_w_id, no_d_id"},
		having: "S(there) <> 1 OR S(a) - S(b) <> {orders delivered}",
		shows:  []string{"orders", "S(a)", "new orders", "S(b)"},
	}, {
		number: 12, says: "c_balance + c_ytd_payment is the sum of the delivered ol_amount", group: "customer", keys: []string{"w", "d", "c"}, ranges: true, purged: true,
		parts: []string{
			"SELECT c_w_id w, c_d_id d, c_id c, 1 there, c_balance a, 0 b, c_ytd_payment h FROM <customer> WHERE [c_w_id]",
			deliveredAmounts},
		having: "S(there) <> 1 OR S(a) + S(h) <> S(b)",
		shows:  []string{"c_balance", "S(a)", "c_ytd_payment", "S(h)", "delivered", "S(b)"},
	}, {
		number: 13, says: "warehouses, districts, customers, items and stock are complete", group: "table", keys: []string{"what", "w", "d"},
		parts: []string{
			"SELECT 'warehouses' what, 0 w, 0 d, COUNT(*) n, {scale} a FROM <warehouse>",
			"SELECT 'items', 0, 0, COUNT(*), {items} FROM <item>",
			"SELECT 'districts', w_id, 0, 0, {districts} FROM <warehouse>",
			"SELECT 'districts', d_w_id, 0, COUNT(*), 0 FROM <district> GROUP BY d_w_id",
			"SELECT 'stock', w_id, 0, 0, {items} FROM <warehouse>",
			"SELECT 'stock', s_w_id, 0, COUNT(*), 0 FROM <stock> GROUP BY s_w_id",
			"SELECT 'customers', d_w_id, d_id, 0, {customers} FROM <district>",
			"SELECT 'customers', c_w_id, c_d_id, COUNT(*), 0 FROM <customer> GROUP BY c_w_id, c_d_id"},
		having: "S(n) <> S(a)",
		shows:  []string{"rows", "S(n)", "expected", "S(a)"},
	}, {
		number: 14, says: "c_payment_cnt is the number of payments in history", group: "customer", keys: []string{"w", "d", "c"}, ranges: true, exact: true,
		parts: []string{
			"SELECT c_w_id w, c_d_id d, c_id c, 1 there, c_payment_cnt a, 0 b FROM <customer> WHERE [c_w_id]",
			"SELECT h_c_w_id, h_c_d_id, h_c_id, 0, 0, COUNT(*) FROM <history> WHERE [h_c_w_id] GROUP BY h_c_w_id, h_c_d_id, h_c_id"},
		having: "S(there) <> 1 OR S(a) <> S(b)",
		shows:  []string{"c_payment_cnt", "S(a)", "payments", "S(b)"},
	}, {
		number: 15, says: "c_delivery_cnt is the number of orders delivered since the load", group: "customer", keys: []string{"w", "d", "c"}, ranges: true, exact: true,
		parts: []string{
			"SELECT c_w_id w, c_d_id d, c_id c, 1 there, c_delivery_cnt a, 0 b FROM <customer> WHERE [c_w_id]",
			"SELECT o_w_id, o_d_id, o_c_id, 0, 0, COUNT(*) FROM <orders> WHERE [o_w_id] AND o_id > {orders delivered} AND o_carrier_id IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id"},
		having: "S(there) <> 1 OR S(a) <> S(b)",
		shows:  []string{"c_delivery_cnt", "S(a)", "delivered", "S(b)"},
	}, {
		number: 16, says: "s_ytd, s_order_cnt and s_remote_cnt are what the lines since the load took from the warehouse", group: "warehouse", keys: []string{"w"}, exact: true,
		parts: []string{
			"SELECT s_w_id w, SUM(s_ytd) a, SUM(s_order_cnt) n, SUM(s_remote_cnt) r, 0 la, 0 ln, 0 lr FROM <stock> GROUP BY s_w_id",
			"SELECT ol_supply_w_id, 0, 0, 0, SUM(ol_quantity), COUNT(*), SUM(CASE WHEN ol_w_id <> ol_supply_w_id THEN 1 ELSE 0 END)" +
				" FROM <order_line> WHERE ol_o_id > {orders loaded} GROUP BY ol_supply_w_id"},
		having: "S(a) <> S(la) OR S(n) <> S(ln) OR S(r) <> S(lr)",
		shows: []string{"sum of s_ytd", "S(a)", "ordered", "S(la)", "sum of s_order_cnt", "S(n)", "lines", "S(ln)",
			"sum of s_remote_cnt", "S(r)", "remote lines", "S(lr)"},
	},
}

// deliveredAmounts is the side of 10 and 12 that they share. Lines without an
// order belong to no customer: 6 and 7 find them.
const deliveredAmounts = "SELECT o_w_id, o_d_id, o_c_id, 0, 0, SUM(ol_amount), 0 FROM <orders>" +
	" JOIN <order_line> ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id" +
	" WHERE [o_w_id] AND ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id"
