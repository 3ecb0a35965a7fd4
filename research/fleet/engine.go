package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// engine is a VictoriaMetrics in a control group.
type engine struct {
	cmd   *exec.Cmd
	url   string
	dir   string // of its data
	group []string
	ours  bool // dir is ours to remove
	died  chan struct{}
}

func startEngine(ctx context.Context, o options) (*engine, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	at := l.Addr().String()
	l.Close()
	e := &engine{url: "http://" + at, dir: o.dir, died: make(chan struct{})}
	if e.dir == "" {
		if e.dir, err = os.MkdirTemp("", "fleet"); err != nil {
			return nil, err
		}
		e.ours = true
	}
	if e.group, err = limits(o); err != nil {
		return nil, err
	}
	script := ""
	for _, g := range e.group {
		script += fmt.Sprintf("echo $$ > %s/cgroup.procs && ", g)
	}
	log, err := os.Create(filepath.Join(e.dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	e.cmd = exec.CommandContext(ctx, "sh", "-c", script+`exec "$@"`, "sh", o.victoria, "-storageDataPath="+e.dir+"/data", "-httpListenAddr="+at,
		fmt.Sprintf("-memory.allowedBytes=%d", o.memory*6/10)) // its own default: 60 % of what it has
	e.cmd.Env = append(os.Environ(), fmt.Sprintf("GOMAXPROCS=%d", max(1, int(o.cores))))
	e.cmd.Stderr, e.cmd.Stdout = log, log
	e.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := e.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { _ = e.cmd.Wait(); close(e.died) }()
	for range 300 {
		if resp, err := http.Get(e.url + "/health"); err == nil {
			resp.Body.Close()
			return e, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	e.stop()
	return nil, fmt.Errorf("VictoriaMetrics does not answer: see %s/log", e.dir)
}

// limits makes the control groups, of version 1 or 2.
func limits(o options) (dirs []string, err error) {
	name := fmt.Sprintf("plumb-fleet-%d", os.Getpid())
	set := func(dir, file, value string) {
		if e := os.WriteFile(filepath.Join(dir, file), []byte(value), 0); e != nil && err == nil {
			err = e
		}
	}
	quota := strconv.Itoa(int(o.cores * 100_000))
	if _, e := os.Stat("/sys/fs/cgroup/cgroup.controllers"); e == nil {
		dir := filepath.Join("/sys/fs/cgroup", name)
		err = os.Mkdir(dir, 0o755)
		set(dir, "memory.max", strconv.FormatInt(o.memory, 10))
		set(dir, "cpu.max", quota+" 100000")
		return []string{dir}, err
	}
	memory, cpu := filepath.Join("/sys/fs/cgroup/memory", name), filepath.Join("/sys/fs/cgroup/cpu", name)
	err = errors.Join(os.Mkdir(memory, 0o755), os.Mkdir(cpu, 0o755))
	set(memory, "memory.limit_in_bytes", strconv.FormatInt(o.memory, 10))
	set(cpu, "cpu.cfs_period_us", "100000")
	set(cpu, "cpu.cfs_quota_us", quota)
	return []string{memory, cpu}, err
}

func (e *engine) stop() {
	_ = e.cmd.Process.Kill()
	<-e.died
	for _, g := range e.group {
		os.Remove(g)
	}
	if e.ours {
		os.RemoveAll(e.dir)
	}
}

// query asks for an expression, and gives its first value and how long that took.
func (e *engine) query(expr string) (value float64, took time.Duration, err error) {
	client := http.Client{Timeout: time.Minute}
	began := time.Now()
	resp, err := client.Get(e.url + "/api/v1/query?" + url.Values{"query": {expr}, "nocache": {"1"}}.Encode())
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return 0, 0, err
	}
	var a struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	if err := json.Unmarshal(text, &a); err != nil || len(a.Data.Result) == 0 {
		return 0, 0, fmt.Errorf("%s: no answer: %.200s", expr, text)
	}
	value, err = strconv.ParseFloat(fmt.Sprint(a.Data.Result[0].Value[1]), 64)
	return value, time.Since(began), err
}

// ticks is its processor time so far, and rss its resident memory in bytes.
func (e *engine) ticks() (seconds float64, rss int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", e.cmd.Process.Pid))
	f := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(f) < 22 {
		return 0, 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	pages, _ := strconv.ParseInt(f[21], 10, 64)
	return (user + system) / 100, pages * int64(os.Getpagesize())
}

// waited is for how long its threads were ready to run and had no processor, in
// seconds: by the limit, or because others used them.
func (e *engine) waited() (seconds float64) {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", e.cmd.Process.Pid))
	for _, name := range all {
		text, _ := os.ReadFile(name)
		if f := strings.Fields(string(text)); len(f) == 3 {
			ns, _ := strconv.ParseFloat(f[1], 64)
			seconds += ns / 1e9
		}
	}
	return seconds
}

// size is what its data takes on disk, in bytes.
func (e *engine) size() (n int64) {
	_ = filepath.WalkDir(e.dir+"/data", func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if st, err := d.Info(); err == nil {
				n += st.Sys().(*syscall.Stat_t).Blocks * 512
			}
		}
		return nil
	})
	return n
}

func load() string {
	text, _ := os.ReadFile("/proc/loadavg")
	return string(text)
}
