package watch

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// standIns are small sources of the tests' own, of real kernels and servers: the
// judge is tried here, not the sources of the product.
type standIns struct{ of []sample.Source }

func (s standIns) Sources(*stack.Stack) []sample.Source { return s.of }

type source struct {
	name string
	take func(ctx context.Context, b *series.Batch) error
}

func (s source) Name() string         { return s.name }
func (s source) Every() time.Duration { return time.Second }
func (s source) Take(ctx context.Context, _ host.Reader) (b series.Batch, err error) {
	err = s.take(ctx, &b)
	return b, err
}

// kernelSource reads pressure, processor time and paging of the host.
func kernelSource(of stack.Ref) source {
	return source{"kernel", func(_ context.Context, b *series.Batch) error {
		for _, what := range []string{"cpu", "io", "memory"} {
			text, err := os.ReadFile("/proc/pressure/" + what)
			if err != nil {
				return err
			}
			if _, total, ok := strings.Cut(strings.SplitN(string(text), "\n", 2)[0], "total="); ok {
				b.Set(of, "psi_"+what+"_some_us", number(total))
			}
		}
		text, err := os.ReadFile("/proc/vmstat")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(line, "pswpin "); ok {
				b.Set(of, "swap_in_pages", number(v))
			}
		}
		text, err = os.ReadFile("/proc/stat")
		if err != nil {
			return err
		}
		if f := strings.Fields(strings.SplitN(string(text), "\n", 2)[0]); len(f) > 8 {
			b.Set(of, "cpu_user_ms", number(f[1])*10)
			b.Set(of, "cpu_steal_ms", number(f[8])*10)
		}
		return nil
	}}
}

// blockSource reads /proc/diskstats of one device.
func blockSource(device string) source {
	of := stack.Ref{Kind: "block", Name: device}
	names := []string{"reads", "", "read_bytes", "read_ms", "writes", "", "written_bytes", "write_ms", "in_flight", "busy_ms", "queue_ms", "discards", "", "", "", "flushes", "flush_ms"}
	return source{"block", func(_ context.Context, b *series.Batch) error {
		text, err := os.ReadFile("/proc/diskstats")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 3+len(names) || f[2] != device {
				continue
			}
			for i, name := range names {
				v := number(f[3+i])
				if strings.HasSuffix(name, "_bytes") {
					v *= 512
				}
				if name != "" {
					b.Set(of, name, v)
				}
			}
		}
		return nil
	}}
}

// processSource reads the processor time of a process.
func processSource(pid int) source {
	of := stack.Ref{Kind: "process", Name: strconv.Itoa(pid)}
	return source{"process", func(_ context.Context, b *series.Batch) error {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return err
		}
		f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		b.Set(of, "cpu_user_ms", number(f[11])*10)
		b.Set(of, "cpu_system_ms", number(f[12])*10)
		return nil
	}}
}

// blkioSource reads the counters and limits of a control group of version 1 on
// a device.
func blkioSource(path, device, number_ string, group string) source {
	of := stack.Ref{Kind: "cgroup_device", Name: group + "@" + device}
	return source{"cgroup devices", func(_ context.Context, b *series.Batch) error {
		b.Set(stack.Ref{Kind: "cgroup", Name: group}, "memory_current", 1)
		for file, name := range map[string]string{"read_iops_device": "read_iops_limit", "write_iops_device": "write_iops_limit"} {
			text, err := os.ReadFile(path + "/blkio.throttle." + file)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if v, ok := strings.CutPrefix(line, number_+" "); ok {
					b.Set(of, name, number(v))
				}
			}
		}
		text, err := os.ReadFile(path + "/blkio.throttle.io_serviced")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			if v, ok := strings.CutPrefix(line, number_+" Read "); ok {
				b.Set(of, "reads", number(v))
			}
			if v, ok := strings.CutPrefix(line, number_+" Write "); ok {
				b.Set(of, "writes", number(v))
			}
		}
		return nil
	}}
}

// cpuSource reads the quota of a control group of version 1.
func cpuSource(path, group string) source {
	of := stack.Ref{Kind: "cgroup", Name: group}
	return source{"cgroup cpu", func(_ context.Context, b *series.Batch) error {
		text, err := os.ReadFile(path + "/cpu.stat")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(text)) {
			name, v, _ := strings.Cut(strings.TrimSpace(line), " ")
			switch name {
			case "nr_periods":
				b.Set(of, "cpu_periods", number(v))
			case "nr_throttled":
				b.Set(of, "cpu_throttled", number(v))
			case "throttled_time":
				b.Set(of, "cpu_throttled_us", number(v)/1000)
			}
		}
		return nil
	}}
}

func number(s string) float64 {
	v, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil {
		return 0
	}
	return v
}

// statusOf is what is read of SHOW GLOBAL STATUS, and what it is called.
var statusOf = map[string]string{"Uptime": "uptime", "Questions": "questions", "Com_commit": "commits", "Threads_connected": "threads_connected",
	"Innodb_buffer_pool_reads": "buffer_pool_reads", "Innodb_buffer_pool_wait_free": "wait_free", "Innodb_log_waits": "log_waits",
	"Innodb_os_log_written": "redo_written", "Innodb_checkpoint_age": "checkpoint_age", "Connection_errors_max_connections": "connections_refused"}

// mariadbSource reads status and sessions of a MariaDB.
func mariadbSource(db *sql.DB, of stack.Ref) source {
	return source{"mysql", func(ctx context.Context, b *series.Batch) error {
		rows, err := db.QueryContext(ctx, "SHOW GLOBAL STATUS")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name, value string
			if err := rows.Scan(&name, &value); err != nil {
				return err
			}
			if ours := statusOf[name]; ours != "" {
				b.Set(of, ours, number(value))
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		return mariadbSessions(ctx, db, of, b)
	}}
}

const mariadbActive = `SELECT t.PROCESSLIST_ID, COALESCE(t.PROCESSLIST_STATE,''), COALESCE(w.EVENT_NAME,''), COALESCE(w.OPERATION,''), COALESCE(x.trx_state,''),
 COALESCE(b.trx_mysql_thread_id,0), t.PROCESSLIST_COMMAND, COALESCE(t.PROCESSLIST_TIME,0), x.trx_id IS NOT NULL
 FROM performance_schema.threads t LEFT JOIN performance_schema.events_waits_current w ON w.THREAD_ID=t.THREAD_ID AND w.END_EVENT_ID IS NULL
 LEFT JOIN information_schema.INNODB_TRX x ON x.trx_mysql_thread_id=t.PROCESSLIST_ID
 LEFT JOIN information_schema.INNODB_LOCK_WAITS l ON l.requesting_trx_id=x.trx_id
 LEFT JOIN information_schema.INNODB_TRX b ON b.trx_id=l.blocking_trx_id
 WHERE t.TYPE='FOREGROUND' AND t.PROCESSLIST_ID IS NOT NULL AND t.PROCESSLIST_ID<>CONNECTION_ID() AND t.PROCESSLIST_COMMAND<>'Daemon'`

func mariadbSessions(ctx context.Context, db *sql.DB, of stack.Ref, b *series.Batch) error {
	rows, err := db.QueryContext(ctx, mariadbActive)
	if err != nil {
		return err
	}
	defer rows.Close()
	count, active, seen := map[series.Class]float64{}, 0.0, map[int64]bool{}
	for rows.Next() {
		var id, blocker, seconds int64
		var state, event, operation, trx, command string
		var inTx bool
		if err := rows.Scan(&id, &state, &event, &operation, &trx, &blocker, &command, &seconds, &inTx); err != nil {
			return err
		}
		s := series.Session{Of: of, ID: id, Active: command != "Sleep", For: time.Duration(seconds) * time.Second, Wait: event}
		if seen[id] || !s.Active && !inTx {
			continue
		}
		seen[id] = true
		if blocker != 0 {
			s.BlockedBy = []int64{blocker}
		}
		if s.Active {
			s.Class = classOf(state, event, operation, trx)
			count[s.Class]++
			active++
		}
		b.Sessions = append(b.Sessions, s)
	}
	b.Set(of, "sessions_active", active)
	for _, class := range series.Classes {
		b.Set(of, "sessions_"+string(class), count[class])
	}
	return rows.Err()
}

func classOf(state, event, operation, trx string) series.Class {
	switch {
	case trx == "LOCK WAIT" || strings.HasPrefix(state, "Waiting for"):
		return series.ClassLock
	case strings.Contains(event, "innodb_log_file"), strings.Contains(event, "sql/binlog"), state == "Commit", strings.Contains(event, "MYSQL_BIN_LOG"):
		return series.ClassLog
	case strings.Contains(event, "innodb_data_file") && operation == "write":
		return series.ClassWrite
	case strings.Contains(event, "innodb_data_file"):
		return series.ClassRead
	case strings.HasPrefix(event, "wait/synch"):
		return series.ClassLatch
	}
	return series.ClassCPU
}
