package postgres

import "testing"

func TestReadDSN(t *testing.T) {
	n, err := ReadDSN("postgres://bench:secret@db1:5433/sbtest?sslmode=require")
	if err != nil || n.Address != "db1:5433" || n.User != "bench" || n.Password != "secret" || n.Database != "sbtest" || n.SSLMode != "require" {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestPasswordFor(t *testing.T) {
	file := []byte("# mine\ndb1:5432:*:bench:one\n*:*:sbtest:*:two\\:x\n")
	for _, c := range [][5]string{{"db1", "5432", "any", "bench", "one"}, {"db2", "5432", "sbtest", "bench", "two:x"}, {"db2", "5432", "any", "bench", ""}} {
		if got := PasswordFor(file, c[0], c[1], c[2], c[3]); got != c[4] {
			t.Errorf("%v: %q", c, got)
		}
	}
}

func FuzzReadDSN(f *testing.F) {
	f.Add("postgres://bench:secret@db1:5433/sbtest?sslmode=require")
	f.Add("postgresql:///sbtest?host=/run/postgresql&port=5432")
	f.Fuzz(func(t *testing.T, dsn string) {
		_, _ = ReadDSN(dsn)
		_ = PasswordFor([]byte(dsn), "localhost", "5432", "postgres", "postgres")
	})
}
