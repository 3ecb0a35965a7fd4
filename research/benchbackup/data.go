package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"plumb/test/sandbox"
)

// data is what is backed up.
type data struct {
	name, file string
}

// makeData makes a file that does not pack, and one of a real MariaDB's tables.
func (b *bench) makeData() error {
	random := filepath.Join(b.box.Dir, "random")
	if err := fill(random, rand.Reader, b.size); err != nil {
		return err
	}
	tables, err := b.innodb()
	if err != nil {
		return err
	}
	b.data = []data{{"InnoDB", tables}, {"incompressible", random}}
	return nil
}

func fill(name string, from io.Reader, size int64) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	n, err := io.CopyN(f, from, size)
	if err != nil {
		err = fmt.Errorf("%s has %d of %d bytes: %w", name, n, size, err)
	}
	return errors.Join(err, f.Close())
}

// innodb loads tables like those of TPC-C into a private MariaDB, and gives their files one behind the other.
func (b *bench) innodb() (string, error) {
	box, err := sandbox.New(b.dir)
	if err != nil {
		return "", err
	}
	defer box.Close()
	server, err := box.MySQL(sandbox.MySQLOptions{Settings: "innodb_buffer_pool_size=512M\ninnodb_flush_log_at_trx_commit=0\n"})
	if err != nil {
		return "", err
	}
	if err := server.Exec("CREATE DATABASE bench"); err != nil {
		return "", err
	}
	scale := b.size/(75<<20) + 1 // a warehouse has 80 to 100 MB; too few fail in fill
	load := exec.Command(b.plumb, "load", "tpcc", "prepare", "--scale", fmt.Sprint(scale), "--threads", "4", "--mysql-socket="+server.Socket, "--mysql-user="+server.User, "--mysql-db=bench")
	if out, err := load.CombinedOutput(); err != nil {
		return "", fmt.Errorf("load tables: %w\n%s", err, out)
	}
	if err := server.Exec("FLUSH TABLES"); err != nil {
		return "", err
	}
	if err := server.Stop(); err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(server.Dir, "bench", "*.ibd"))
	if err != nil {
		return "", err
	}
	var readers []io.Reader
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return "", err
		}
		defer f.Close()
		readers = append(readers, f)
	}
	all := filepath.Join(b.box.Dir, "tables")
	return all, fill(all, io.MultiReader(readers...), b.size)
}
