package mysql

import (
	"strings"
	"testing"

	"plumb/internal/host"
)

// rowsFrom makes rows of text: lines of cells divided by tabs, the columns
// first; \N is NULL. Rows may be longer or shorter than the columns.
func rowsFrom(text string) host.Rows {
	var rows host.Rows
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "\t")
		if i == 0 {
			rows.Columns = cells
			continue
		}
		var row []*string
		for _, c := range cells {
			if c == `\N` {
				row = append(row, nil)
				continue
			}
			row = append(row, &c)
		}
		rows.Values = append(rows.Values, row)
	}
	return rows
}

func FuzzRows(f *testing.F) {
	f.Add("Slave_IO_Running\tSlave_SQL_Running\tSeconds_Behind_Master\nYes\tNo\t\\N")
	f.Add("Variable_name\tValue\nport\t3306\n\\N\n")
	f.Add("MEMBER_STATE\tCOUNT(*)\nONLINE\t1\nUNREACHABLE\t2")
	f.Add("TABLE_SCHEMA\tTABLE_NAME\tCOLUMN_NAME\tCOLUMN_TYPE\nx\ta\tid\ttinyint(3) unsigned\nx\tb\t241")
	f.Add("gcache.size = 128M; pc.ignore_quorum = false; pc.ignore_sb = true; pc.linger = PT20S; ")
	f.Fuzz(func(t *testing.T, text string) {
		rows := rowsFrom(text)
		parseReplicaStatus(rows)
		Pairs(rows)
		SeesTables(rows)
		parseGroup(rows)
		parseIncrements(rows, rows)
		parseProviderOptions(text)
	})
}
