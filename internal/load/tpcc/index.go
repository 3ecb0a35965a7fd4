package tpcc

import (
	"fmt"

	"plumb/internal/product"
)

type index struct{ name, table, columns string }

// always are the indexes that the transactions search by.
var always = []index{
	{"idx_customer", customer, "c_w_id, c_d_id, c_last, c_first"},
	{"idx_orders", orders, "o_w_id, o_d_id, o_c_id, o_id"},
}

// forLinks are indexes that nothing but foreign keys uses. InnoDB demands
// them; sysbench-tpcc makes them on PostgreSQL too, and without foreign keys.
var forLinks = []index{
	{"fkey_stock_2", stock, "s_i_id"},
	{"fkey_order_line_2", orderLine, "ol_supply_w_id, ol_i_id"},
	{"fkey_history_1", history, "h_c_w_id, h_c_d_id, h_c_id"},
	{"fkey_history_2", history, "h_w_id, h_d_id"},
}

// indexes gives the statements that make the secondary indexes of a table.
func (c Config) indexes(engine, table string, set int) []string {
	list := always
	if c.Compat || c.ForeignKeys && product.DialectOf(engine).IndexedLinks {
		list = append(list[:len(list):len(list)], forLinks...)
	}
	var all []string
	for _, x := range list {
		if x.table == table {
			all = append(all, fmt.Sprintf("CREATE INDEX %s ON %s (%s)", c.table(x.name, set), c.table(table, set), x.columns))
		}
	}
	return all
}

type link struct{ name, from, columns, to, references string }

// linksOf are the foreign keys.
var linksOf = []link{
	{"fkey_district_1", district, "d_w_id", warehouse, "w_id"},
	{"fkey_customer_1", customer, "c_w_id, c_d_id", district, "d_w_id, d_id"},
	{"fkey_history_1", history, "h_c_w_id, h_c_d_id, h_c_id", customer, "c_w_id, c_d_id, c_id"},
	{"fkey_history_2", history, "h_w_id, h_d_id", district, "d_w_id, d_id"},
	{"fkey_orders_1", orders, "o_w_id, o_d_id, o_c_id", customer, "c_w_id, c_d_id, c_id"},
	{"fkey_new_orders_1", newOrders, "no_w_id, no_d_id, no_o_id", orders, "o_w_id, o_d_id, o_id"},
	{"fkey_stock_1", stock, "s_w_id", warehouse, "w_id"},
	{"fkey_stock_2", stock, "s_i_id", item, "i_id"},
	{"fkey_order_line_1", orderLine, "ol_w_id, ol_d_id, ol_o_id", orders, "o_w_id, o_d_id, o_id"},
	{"fkey_order_line_2", orderLine, "ol_supply_w_id, ol_i_id", stock, "s_w_id, s_i_id"},
}

// links gives the statements that declare the foreign keys of a set.
func (c Config) links(set int) []string {
	if !c.ForeignKeys {
		return nil
	}
	var all []string
	for _, l := range linksOf {
		name := l.name
		if c.Compat {
			name = c.table(name+"_", set)
		}
		all = append(all, fmt.Sprintf("ALTER TABLE %s ADD CONSTRAINT %s FOREIGN KEY (%s) REFERENCES %s (%s)",
			c.table(l.from, set), name, l.columns, c.table(l.to, set), l.references))
	}
	return all
}
