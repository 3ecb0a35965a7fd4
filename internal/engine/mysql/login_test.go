package mysql

import "testing"

func TestClientLogin(t *testing.T) {
	n := ClientLogin([]byte("[mysqld]\nuser=mysql\n[client]\nuser = bench\npassword='a b'\nsocket=/run/x.sock\n"))
	if n.User != "bench" || n.Password != "a b" || n.Network != "unix" || n.Address != "/run/x.sock" {
		t.Errorf("%+v", n)
	}
}

func FuzzReadDSN(f *testing.F) {
	f.Add("bench:secret@tcp(db1:3306)/sbtest?tls=true")
	f.Add("root@unix(/run/mysqld/mysqld.sock)/")
	f.Fuzz(func(t *testing.T, dsn string) {
		_, _ = ReadDSN(dsn)
		_ = ClientLogin([]byte(dsn))
	})
}
