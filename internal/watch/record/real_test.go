package record

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver of the server below

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// procFiles gives all numbers of this kernel that a line names.
func procFiles(t *testing.T) (batches []series.Batch) {
	for _, name := range []string{"vmstat", "meminfo", "diskstats", "stat", "net/dev", "schedstat", "softirqs", "interrupts"} {
		start := time.Now()
		data, err := os.ReadFile("/proc/" + name)
		if err != nil {
			continue
		}
		b := series.Batch{Source: name, Every: time.Second}
		for line, text := range strings.Split(string(data), "\n") {
			fields := strings.Fields(text)
			for i, f := range fields {
				if v, err := strconv.ParseFloat(f, 64); err == nil {
					b.Set(stack.Ref{Kind: name, Name: fmt.Sprint(line, fields[0])}, strconv.Itoa(i), v)
				}
			}
		}
		b.At, b.Took = time.Now().UTC().Truncate(time.Millisecond), time.Since(start).Truncate(time.Microsecond)
		batches = append(batches, b)
	}
	return batches
}

func status(t *testing.T, db *sql.DB) series.Batch {
	b := series.Batch{Source: "mysql:test status", Every: time.Second}
	start := time.Now()
	rows, err := db.QueryContext(t.Context(), "SHOW GLOBAL STATUS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			t.Fatal(err)
		}
		if v, err := strconv.ParseFloat(text, 64); err == nil {
			b.Set(stack.Ref{Kind: "mysql", Name: "test"}, name, v)
		}
	}
	b.At, b.Took = time.Now().UTC().Truncate(time.Millisecond), time.Since(start).Truncate(time.Microsecond)
	return b
}

// work keeps four sessions busy: they read rows and change some, a few hundred a second.
func work(t *testing.T, db *sql.DB) {
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, n INT, pad VARCHAR(200))"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), "INSERT INTO t (n, pad) SELECT seq, repeat('x', 150) FROM seq_1_to_20000"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := 0; t.Context().Err() == nil; i++ {
				_, _ = db.ExecContext(t.Context(), "UPDATE t SET n = n + 1 WHERE id = ?", 1+(i*7919+n)%20000)
				for range 5 {
					_ = db.QueryRowContext(t.Context(), "SELECT n FROM t WHERE id = ?", 1+(i*104729)%20000).Scan(new(int))
				}
				time.Sleep(20 * time.Millisecond)
			}
		})
	}
	t.Cleanup(all.Wait)
}

// A day of a real kernel and a real server at work takes no more than 60 MB at
// 1,500 values a second.
func TestDayOfARealHostFits(t *testing.T) {
	sandbox.NeedTime(t, "it watches a kernel and a server for three minutes, which make test-real does")
	box, err := sandbox.New("")
	sandbox.Need(t, err)
	t.Cleanup(func() { _ = box.Close() })
	server, err := box.MySQL(sandbox.MySQLOptions{})
	sandbox.Need(t, err)
	if err := server.Exec("CREATE DATABASE shop"); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("mysql", "root@unix("+server.Socket+")/shop")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	work(t, db)
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir, Now: time.Now})
	values, tick := 0, time.NewTicker(time.Second)
	defer tick.Stop()
	full, form1 := &minute{}, 0
	for i := range 180 {
		<-tick.C
		for _, b := range append(procFiles(t), status(t, db)) {
			values += len(b.Readings)
			w.Batch(b)
			full.add(entry{Batch: b}, 0)
		}
		if i%60 == 59 {
			form1 += len(pack(full.encode1()))
			full = &minute{}
		}
	}
	closed(t, w)
	r, err := OpenReader(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var used int64
	if err := r.db.QueryRowContext(t.Context(), `SELECT sum(length(data)) FROM block`).Scan(&used); err != nil {
		t.Fatal(err)
	}
	each := float64(used) / float64(values)
	day := each * 1500 * 86400 / 1e6
	t.Logf("%d values of %d series, %.3f B/value: %.1f MB a day at 1,500 values a second; in form 1 it were %.1f", values, values/180, each, day,
		float64(form1)/float64(values)*1500*86400/1e6)
	if day > 60 {
		t.Errorf("a day takes %.1f MB, and 60 was promised", day)
	}
}
