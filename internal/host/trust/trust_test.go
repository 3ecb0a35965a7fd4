package trust

import (
	"strings"
	"testing"
)

func user(uid int, name string) Process {
	return Process{PID: 7, UIDs: []int{uid}, Names: []string{name}}
}

func TestSecretsFromFilesGoToDatabaseUsersAlone(t *testing.T) {
	file := Secret{File: "/root/.my.cnf"}
	named := Secret{File: "/root/.my.cnf", Named: true}
	mysql := user(105, "mysql")
	eve := user(1001, "eve")
	apart := user(105, "mysql")
	apart.Apart = "its own PID namespace"
	service := user(1200, "dba")
	service.Unit = "mariadb@3307.service"
	exporter := user(1200, "dba")
	exporter.Unit = "mysqld_exporter.service"
	setuid := Process{PID: 7, UIDs: []int{1001, 105}, Names: []string{"eve", "mysql"}}
	unix := func(peer, server Process) Connection {
		return Connection{Engine: "mysql", Network: "unix", Address: "/s", Peer: peer, Server: server}
	}
	tcp := func(address string, verified bool) Connection {
		return Connection{Engine: "mysql", Network: "tcp", Address: address, Verified: verified}
	}
	as := func(c Connection, self int) Connection { c.Self = self; return c }
	for name, c := range map[string]struct {
		secret Secret
		conn   Connection
		why    string // part of it; "" when the secret may be told
	}{
		"database user":              {file, unix(mysql, mysql), ""},
		"root":                       {file, unix(user(0, "root"), mysql), ""},
		"no process known":           {file, unix(mysql, Process{}), ""},
		"process that has ended":     {file, unix(mysql, Process{PID: 9}), ""},
		"somebody":                   {file, unix(eve, eve), "as eve"},
		"somebody without a name":    {file, unix(user(1001, ""), Process{}), "as 1001"},
		"socket of somebody":         {file, unix(eve, mysql), "process 7, which listens there, runs as eve"},
		"process of somebody":        {file, unix(mysql, eve), "process 7, the server, runs as eve"},
		"user of another engine":     {file, unix(user(106, "postgres"), Process{}), "as postgres"},
		"container":                  {file, unix(apart, apart), "its own PID namespace"},
		"container by its process":   {file, unix(mysql, apart), "its own PID namespace"},
		"nobody known":               {file, unix(Process{}, mysql), "unknown user"},
		"service with another user":  {file, unix(service, service), ""},
		"service that is no server":  {file, unix(exporter, exporter), "as dba"},
		"one user of two":            {file, unix(setuid, mysql), "as eve"},
		"our own server":             {file, as(unix(eve, eve), 1001), ""},
		"named socket of somebody":   {named, unix(eve, Process{}), "as eve"},
		"TCP":                        {file, tcp("127.0.0.1:3306", false), "TCP"},
		"TCP, verified":              {file, tcp("127.0.0.1:3306", true), ""},
		"TCP of this host, named":    {named, tcp("localhost:3306", false), "TCP"},
		"TCP of another host":        {file, tcp("db1:3306", false), "TCP"},
		"TCP of another host, named": {named, tcp("db1:3306", false), ""},
		"given":                      {Secret{}, unix(eve, eve), ""},
		"given over TCP":             {Secret{}, tcp("127.0.0.1:3306", false), ""},
		"unknown engine":             {file, Connection{Engine: "x", Network: "unix", Peer: mysql}, "as mysql"},
	} {
		why := Withhold(c.secret, c.conn)
		if (why == "") != (c.why == "") || !strings.Contains(why, c.why) {
			t.Errorf("%s: withheld because %q, want %q", name, why, c.why)
		}
	}
}

func TestLoopbackIsThisMachineAlone(t *testing.T) {
	for address, want := range map[string]bool{
		"127.0.0.1:3306": true, "127.9.9.9": true, "[::1]:5432": true, "::1": true, "localhost:5432": true, "localhost": true,
		"[::ffff:127.0.0.1]:1": true, "10.0.0.1:3306": false, "db1:3306": false, "localhost.example.com:3306": false,
		"127.0.0.1.example.com:3306": false, "": false, ":3306": false, "0.0.0.0:1": false, "[fe80::1]:3306": false,
	} {
		if IsLoopback(address) != want {
			t.Errorf("%q: loopback %v, want %v", address, !want, want)
		}
	}
	for _, c := range []struct {
		network, address string
		encrypted, want  bool
	}{{"unix", "/s", false, false}, {"tcp", "db1:1", false, true}, {"tcp", "db1:1", true, false}, {"tcp", "127.0.0.1:1", false, false}} {
		if Readable(c.network, c.address, c.encrypted) != c.want {
			t.Errorf("%+v", c)
		}
	}
}
