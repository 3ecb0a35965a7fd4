package product

import "testing"

// Each line of the table: what has a way, and what has none.
func TestSwap(t *testing.T) {
	for _, c := range []struct {
		from, to Release
		in       bool // place
		steps    bool // are left to a person
	}{
		{Release{Postgres, "15.18"}, Release{Postgres, "17"}, true, false},
		{Release{Postgres, "17.2"}, Release{Postgres, "15"}, false, false},
		{Release{Postgres, "15.18"}, Release{Postgres, "15"}, false, false},
		{Release{Postgres, "15.18"}, Release{Postgres, "17.2"}, false, false}, // no package is of a minor version
		{Release{Postgres, "9.4.26"}, Release{Postgres, "9.6"}, true, false},
		{Release{Postgres, "9.6.24"}, Release{Postgres, "9.4"}, false, false},
		{Release{Postgres, "9.6.24"}, Release{Postgres, "17"}, true, false},
		{Release{MariaDB, "10.11.14"}, Release{MariaDB, "11.8"}, true, false},
		{Release{MariaDB, "11.8.3"}, Release{MariaDB, "10.11"}, false, false},
		{Release{MariaDB, "10.11.14"}, Release{MariaDB, "10.11"}, false, false},
		{Release{MySQL, "8.0.40"}, Release{MariaDB, "11.8"}, false, false},
		{Release{MariaDB, "11.8.3"}, Release{MySQL, "8.4"}, false, false},
		{Release{MySQL, "8.0.40"}, Release{Percona, "8.0.40"}, true, true},
		{Release{Percona, "8.4.1"}, Release{MySQL, "8.4.1"}, true, true},
		{Release{MySQL, "8.0.40"}, Release{Percona, "8.4.1"}, false, false},
		{Release{MySQL, "8.0.40"}, Release{MySQL, "8.4"}, true, true},
		{Release{MySQL, "8.4.1"}, Release{MySQL, "8.0.40"}, false, false},
		{Release{MySQL, "5.7.44"}, Release{MySQL, "8.0"}, true, true},
		{Release{MySQL, "5.7.44"}, Release{MySQL, "8.4"}, false, false}, // 8.0 is between
		{Release{MySQL, "8.0.40"}, Release{MySQL, "9.7"}, false, false},
		{Release{MySQL, "8.1.0"}, Release{MySQL, "8.4"}, true, true},
		{Release{MySQL, "8.3.0"}, Release{MySQL, "9.0"}, false, false},
		{Release{Percona, "8.4.3"}, Release{Percona, "9.7"}, true, true},
		{Release{MySQL, "8.0.40"}, Release{Percona, "8.0.36"}, true, true},
		{Release{MySQL, "8.0.40"}, Release{Percona, "8.0.34"}, false, false},
		{Release{MySQL, "8.0.40"}, Release{MySQL, "8.0.35"}, false, false},
		{Release{MySQL, "8.4.5"}, Release{Percona, "8.4.3"}, true, true}, // a long-term series goes down
		{Release{MySQL, "9.1.1"}, Release{Percona, "9.1.0"}, false, false},
		{Release{MySQL, "9.7.4"}, Release{Percona, "9.7.1"}, true, true},
		{Release{MySQL, "26.10.1"}, Release{Percona, "26.10.0"}, false, false},
		{Release{MySQL, "9.7.4"}, Release{MySQL, "26.10"}, true, true}, // the one series from which there is a way
		{Release{MySQL, "9.6.0"}, Release{MySQL, "26.7"}, false, false},
		{Release{MySQL, "26.7.1"}, Release{MySQL, "26.10"}, true, true},
		{Release{MySQL, "26.10.0"}, Release{MySQL, "26.7"}, false, false},
		{Release{MySQL, "8.0.40"}, Release{Postgres, "17"}, false, false},
		{Release{Postgres, "x"}, Release{Postgres, "17"}, false, false},
	} {
		w := Swap(c.from, c.to)
		if in := w.No == ""; in != c.in || in != (w.How != "") || in != (w.Back != "") || in == (w.Else != "") || (len(w.Steps) > 0) != c.steps {
			t.Errorf("%s to %s: %+v", c.from, c.to, w)
		}
	}
}
