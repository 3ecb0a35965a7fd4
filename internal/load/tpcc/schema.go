package tpcc

import (
	"strconv"
	"strings"

	"plumb/internal/product"
)

// Names of the tables; those of compat mode end in the number of their set.
const (
	warehouse = "warehouse"
	district  = "district"
	customer  = "customer"
	history   = "history"
	orders    = "orders"
	newOrders = "new_orders"
	orderLine = "order_line"
	stock     = "stock"
	item      = "item"
)

// definition is a table as both modes and both engines have it. Types in
// capitals are those that differ: see dialect.
type definition struct {
	name    string
	columns []column
	key     string
}

type column struct{ name, kind string }

// definitions are the tables, the largest first so that filling them in
// parallel ends together.
var definitions = []definition{
	{orderLine, []column{{"ol_o_id", "int!"}, {"ol_d_id", "TINY!"}, {"ol_w_id", "smallint!"}, {"ol_number", "TINY!"},
		{"ol_i_id", "int"}, {"ol_supply_w_id", "smallint"}, {"ol_delivery_d", "TIME"}, {"ol_quantity", "TINY"},
		{"ol_amount", "decimal(6,2)"}, {"ol_dist_info", "char(24)"}}, "ol_w_id, ol_d_id, ol_o_id, ol_number"},
	{stock, []column{{"s_i_id", "int!"}, {"s_w_id", "smallint!"}, {"s_quantity", "smallint"},
		{"s_dist_01", "char(24)"}, {"s_dist_02", "char(24)"}, {"s_dist_03", "char(24)"}, {"s_dist_04", "char(24)"}, {"s_dist_05", "char(24)"},
		{"s_dist_06", "char(24)"}, {"s_dist_07", "char(24)"}, {"s_dist_08", "char(24)"}, {"s_dist_09", "char(24)"}, {"s_dist_10", "char(24)"},
		{"s_ytd", "decimal(8,0)"}, {"s_order_cnt", "COUNT"}, {"s_remote_cnt", "COUNT"}, {"s_data", "varchar(50)"}}, "s_w_id, s_i_id"},
	{customer, []column{{"c_id", "int!"}, {"c_d_id", "TINY!"}, {"c_w_id", "smallint!"},
		{"c_first", "varchar(16)"}, {"c_middle", "char(2)"}, {"c_last", "varchar(16)"}, {"c_street_1", "varchar(20)"}, {"c_street_2", "varchar(20)"},
		{"c_city", "varchar(20)"}, {"c_state", "char(2)"}, {"c_zip", "char(9)"}, {"c_phone", "char(16)"}, {"c_since", "TIME"}, {"c_credit", "char(2)"},
		{"c_credit_lim", "LIMIT"}, {"c_discount", "RATE"}, {"c_balance", "decimal(12,2)"}, {"c_ytd_payment", "decimal(12,2)"},
		{"c_payment_cnt", "COUNT"}, {"c_delivery_cnt", "COUNT"}, {"c_data", "DATA"}}, "c_w_id, c_d_id, c_id"},
	{history, []column{{"h_id", "NUMBER"}, {"h_c_id", "int"}, {"h_c_d_id", "TINY?"}, {"h_c_w_id", "smallint?"}, {"h_d_id", "TINY?"}, {"h_w_id", "smallint?"},
		{"h_date", "TIME"}, {"h_amount", "decimal(6,2)"}, {"h_data", "varchar(24)"}}, "h_id"},
	{orders, []column{{"o_id", "int!"}, {"o_d_id", "TINY!"}, {"o_w_id", "smallint!"}, {"o_c_id", "int"}, {"o_entry_d", "TIME"},
		{"o_carrier_id", "TINY"}, {"o_ol_cnt", "TINY"}, {"o_all_local", "TINY"}}, "o_w_id, o_d_id, o_id"},
	{newOrders, []column{{"no_o_id", "int!"}, {"no_d_id", "TINY!"}, {"no_w_id", "smallint!"}}, "no_w_id, no_d_id, no_o_id"},
	{item, []column{{"i_id", "int!"}, {"i_im_id", "int"}, {"i_name", "varchar(24)"}, {"i_price", "decimal(5,2)"}, {"i_data", "varchar(50)"}}, "i_id"},
	{district, []column{{"d_id", "TINY!"}, {"d_w_id", "smallint!"}, {"d_name", "varchar(10)"}, {"d_street_1", "varchar(20)"}, {"d_street_2", "varchar(20)"},
		{"d_city", "varchar(20)"}, {"d_state", "char(2)"}, {"d_zip", "char(9)"}, {"d_tax", "RATE"}, {"d_ytd", "YTD"}, {"d_next_o_id", "int"}}, "d_w_id, d_id"},
	{warehouse, []column{{"w_id", "smallint!"}, {"w_name", "varchar(10)"}, {"w_street_1", "varchar(20)"}, {"w_street_2", "varchar(20)"},
		{"w_city", "varchar(20)"}, {"w_state", "char(2)"}, {"w_zip", "char(9)"}, {"w_tax", "RATE"}, {"w_ytd", "YTD"}}, "w_id"},
}

// dialect gives the types that differ.
//
// Compat mode has sysbench-tpcc's, which overflow in long loads of few
// warehouses: w_ytd after some four million payments, s_order_cnt and
// c_payment_cnt after 32767 orders or payments of one row.
func dialect(engine string, compat bool) *strings.Replacer {
	sql := product.DialectOf(engine)
	types := []string{"!", " NOT NULL", "TINY", sql.TinyInt, "TIME", sql.Moment}
	if compat {
		types = append(types, "?", "", "COUNT", "smallint", "LIMIT", "bigint", "RATE", "decimal(4,2)", "YTD", "decimal(12,2)", "DATA", "text")
	} else {
		types = append(types, "?", " NOT NULL", "COUNT", "int", "LIMIT", "decimal(12,2)", "RATE", "decimal(4,4)", "YTD", "decimal(14,2)", "DATA", "varchar(500)")
	}
	return strings.NewReplacer(append(types, "NUMBER", "bigint NOT NULL AUTO_INCREMENT")...)
}

// numbered tells whether history has a primary key. The specification wants
// none. InnoDB would make a hidden one with numbers from one counter of the
// whole server, and replicas would search for rows without any index, so
// specification mode has a number there.
func numbered(engine string, compat bool) bool {
	return product.DialectOf(engine).Clustered && !compat
}

// table names a table of a set.
func (c Config) table(name string, set int) string {
	if c.Compat {
		return name + strconv.Itoa(set)
	}
	return name
}

// create is the statement that makes a table, and the names of its columns.
func create(engine string, compat bool, d definition, name string) (string, []string) {
	types := dialect(engine, compat)
	key := " (" + d.key + ")"
	var lines, names []string
	for _, c := range d.columns {
		if c.kind == "NUMBER" && !numbered(engine, compat) {
			key = ""
			continue
		}
		lines = append(lines, c.name+" "+types.Replace(c.kind))
		names = append(names, c.name)
	}
	if key != "" {
		lines = append(lines, "PRIMARY KEY"+key)
	}
	return "CREATE TABLE " + name + " (" + strings.Join(lines, ", ") + ")" + product.DialectOf(engine).TableOptions, names
}
