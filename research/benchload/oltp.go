package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"plumb/test/sandbox"
)

const rows = 100_000

// mysql compares with sysbench. Both get the very same options.
func (b *bench) mysql() error {
	if err := need("sysbench", "sysbench"); err != nil {
		return err
	}
	s, err := b.box.MySQL(sandbox.MySQLOptions{Name: "bench", Settings: "innodb_buffer_pool_size=512M\nmax_connections=200\nlocal_infile=1"})
	if err != nil {
		return err
	}
	if err := s.Exec("CREATE DATABASE sbtest"); err != nil {
		return err
	}
	options := []string{"--mysql-socket=" + s.Socket, "--mysql-user=root", "--mysql-db=sbtest", "--tables=1",
		"--table-size=" + strconv.Itoa(rows), "--rand-type=uniform"}
	if _, _, _, err := output("", append([]string{"sysbench", "oltp_read_write", "prepare"}, options...)...); err != nil {
		return err
	}
	fmt.Printf("\nsysbench 1.0.20's scripts on MariaDB by a unix socket, %d rows, uniform, %d pairs of %d s\n", rows, b.pairs, b.seconds)
	for _, script := range []string{"oltp_point_select", "oltp_read_write"} {
		for _, threads := range []int{1, 8, 64} {
			run := append([]string{"run", "--threads=" + strconv.Itoa(threads), "--time=" + strconv.Itoa(b.seconds)}, options...)
			ours := func() (sample, error) {
				return sysbenchRate(append([]string{b.plumb, "load", "oltp", script, "--report=sysbench"}, run...))
			}
			theirs := func() (sample, error) { return sysbenchRate(append([]string{"sysbench", script}, run...)) }
			if err := b.compare(fmt.Sprintf("%s, %d connections", script, threads), oltpGoal(script, threads), ours, theirs); err != nil {
				return err
			}
		}
	}
	return nil
}

func oltpGoal(script string, threads int) goal {
	switch {
	case script == "oltp_read_write":
		return goal{rate: 1}
	case threads == 1:
		return goal{rate: 1.15}
	case threads == 8:
		return goal{rate: 1}
	}
	return goal{rate: 1.3, cpu: 0.6}
}

// sysbenchRate runs a command that prints sysbench's report; the CPU time is
// for each query.
func sysbenchRate(argv []string) (sample, error) {
	text, cpu, _, err := output("", argv...)
	if err != nil {
		return sample{}, err
	}
	rate, err := number(text, `transactions: +\d+ +\(([\d.]+) per sec`)
	if err != nil {
		return sample{}, err
	}
	queries, err := number(text, `(?m)^ +total: +(\d+)`)
	return sample{rate, time.Duration(float64(cpu) / queries)}, err
}

// postgres compares with pgbench: its own select of one row by its key, on its
// own table, against ours, whose rows are larger.
func (b *bench) postgres() error {
	pgbench, err := pgbench()
	if err != nil {
		return err
	}
	s, err := b.box.Postgres(sandbox.PostgresOptions{Name: "benchpg", Port: 54999, Settings: "shared_buffers=512MB\nmax_connections=200"})
	if err != nil {
		return err
	}
	at := []string{"-h", s.Socket, "-p", strconv.Itoa(s.Port), "-U", s.User}
	if _, _, _, err := output("", append(append([]string{pgbench, "-i", "-s", "1", "-q"}, at...), "postgres")...); err != nil {
		return err
	}
	options := []string{"--db-driver=pgsql", "--pgsql-host=" + s.Socket, "--pgsql-port=" + strconv.Itoa(s.Port), "--pgsql-user=" + s.User,
		"--pgsql-db=postgres", "--tables=1", "--table-size=" + strconv.Itoa(rows), "--rand-type=uniform"}
	if _, _, _, err := output("", append([]string{b.plumb, "load", "oltp", "oltp_point_select", "prepare"}, options...)...); err != nil {
		return err
	}
	fmt.Printf("\npgbench -M prepared -S on PostgreSQL by a unix socket, %d rows, %d pairs of %d s\n", rows, b.pairs, b.seconds)
	for _, threads := range []int{1, 8, 64} {
		run := append([]string{"run", "--threads=" + strconv.Itoa(threads), "--time=" + strconv.Itoa(b.seconds)}, options...)
		ours := func() (sample, error) {
			return sysbenchRate(append([]string{b.plumb, "load", "oltp", "oltp_point_select", "--report=sysbench"}, run...))
		}
		argv := append(append([]string{pgbench, "-n", "-S", "-M", "prepared", "-c", strconv.Itoa(threads), "-j", strconv.Itoa(min(threads, 2)),
			"-T", strconv.Itoa(b.seconds)}, at...), "postgres")
		theirs := func() (sample, error) { return pgbenchRate(argv) }
		if err := b.compare(fmt.Sprintf("point select, %d connections", threads), goal{rate: 1}, ours, theirs); err != nil {
			return err
		}
	}
	return nil
}

func pgbenchRate(argv []string) (sample, error) {
	text, cpu, _, err := output("", argv...)
	if err != nil {
		return sample{}, err
	}
	rate, err := number(text, `tps = ([\d.]+)`)
	if err != nil {
		return sample{}, err
	}
	n, err := number(text, `transactions actually processed: (\d+)`)
	return sample{rate, time.Duration(float64(cpu) / n)}, err
}

// pgbench finds the program: Debian keeps it beside each server version.
func pgbench() (string, error) {
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if len(found) == 0 {
		return "", sandbox.Missing{What: "pgbench is not installed", Hint: "package postgresql-contrib"}
	}
	return found[len(found)-1], nil
}
