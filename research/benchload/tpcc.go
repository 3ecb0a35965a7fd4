package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"plumb/test/sandbox"
)

const (
	warehouses = 10
	loaders    = 4

	tpccSource = "https://github.com/Percona-Lab/sysbench-tpcc"
	tpccCommit = "585e2b8"
)

// tpccLoad compares how long ten warehouses take to be loaded, each time into
// an empty database.
func (b *bench) tpccLoad() error {
	if err := need("sysbench", "sysbench"); err != nil {
		return err
	}
	if err := b.tpccScripts(); err != nil {
		return err
	}
	my, err := b.box.MySQL(sandbox.MySQLOptions{Name: "tpcc", Settings: "local_infile=1"})
	if err != nil {
		return err
	}
	mysql := []string{"--mysql-socket=" + my.Socket, "--mysql-user=root", "--mysql-db=tpcc"}
	if err := b.loadTimes("MariaDB", my, "mysql", mysql); err != nil {
		return err
	}
	pg, err := b.box.Postgres(sandbox.PostgresOptions{Name: "tpccpg", Port: 54998})
	if err != nil {
		return err
	}
	pgsql := []string{"--pgsql-host=" + pg.Socket, "--pgsql-port=" + strconv.Itoa(pg.Port), "--pgsql-user=" + pg.User, "--pgsql-db=tpcc"}
	return b.loadTimes("PostgreSQL", pg, "pgsql", pgsql)
}

// tpccScripts finds sysbench-tpcc. It is GPL and no part of Plumb.
func (b *bench) tpccScripts() error {
	if b.tpcc != "" {
		return nil
	}
	b.tpcc = filepath.Join(b.box.Dir, "sysbench-tpcc")
	for _, argv := range [][]string{{"git", "clone", "-q", tpccSource, b.tpcc}, {"git", "-C", b.tpcc, "checkout", "-q", tpccCommit}} {
		if _, _, _, err := output("", argv...); err != nil {
			return sandbox.Missing{What: "sysbench-tpcc cannot be fetched", Hint: "clone " + tpccSource + " and give -sysbench-tpcc DIR"}
		}
	}
	return nil
}

func (b *bench) loadTimes(product string, s *sandbox.Server, driver string, options []string) error {
	fmt.Printf("\nsysbench-tpcc prepare on %s with default settings, %d warehouses, %d threads, %d pairs\n", product, warehouses, loaders, b.loads)
	scale := []string{"--threads=" + strconv.Itoa(loaders), "--tables=1", "--scale=" + strconv.Itoa(warehouses), "--db-driver=" + driver}
	theirs := func() (sample, error) {
		return loadOnce(s, b.tpcc, append(append([]string{"sysbench", filepath.Join(b.tpcc, "tpcc.lua"), "prepare"}, scale...), options...))
	}
	plumb, err := filepath.Abs(b.plumb)
	if err != nil {
		return err
	}
	ours := func(more ...string) func() (sample, error) {
		return func() (sample, error) {
			return loadOnce(s, "", append(append(append([]string{plumb, "load", "tpcc", "prepare"}, scale...), options...), more...))
		}
	}
	all := b.pairs
	b.pairs = b.loads
	defer func() { b.pairs = all }()
	if err := b.compare("same tables, indexes, foreign keys", goal{rate: 5}, ours("--compat=sysbench-tpcc"), theirs); err != nil {
		return err
	}
	return b.compare("our own TPC-C-like tables", goal{rate: 5}, ours(), theirs)
}

// loadOnce loads into an empty database; the rate is loads a second.
func loadOnce(s *sandbox.Server, dir string, argv []string) (sample, error) {
	if err := s.Exec("DROP DATABASE IF EXISTS tpcc", "CREATE DATABASE tpcc"); err != nil {
		return sample{}, err
	}
	if err := settle(s); err != nil {
		return sample{}, err
	}
	_, cpu, wall, err := output(dir, argv...)
	if err != nil {
		return sample{}, err
	}
	fmt.Fprintf(os.Stderr, "  %s: %.1f s, %.1f s of CPU\n", filepath.Base(argv[0]), wall.Seconds(), cpu.Seconds())
	return sample{1 / wall.Seconds(), cpu}, nil
}

// settle lets the work of the load before end, so that it is not counted on
// this one.
func settle(s *sandbox.Server) error {
	if s.Engine == "postgres" {
		if err := s.Exec("CHECKPOINT"); err != nil {
			return err
		}
	}
	if err := exec.Command("sync").Run(); err != nil {
		return err
	}
	time.Sleep(5 * time.Second)
	return nil
}
