package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// watchers are the processes that watch, and where they are scraped.
type watchers struct {
	pages  []string
	cmds   []*exec.Cmd
	series int // in the last scrape of all
}

func start(port string, argv, env []string) (*watchers, error) {
	c := exec.Command(argv[0], argv[1:]...)
	c.Env = append(os.Environ(), env...)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := c.Start(); err != nil {
		return nil, err
	}
	w := &watchers{pages: []string{"http://127.0.0.1:" + port + "/metrics"}, cmds: []*exec.Cmd{c}}
	for range 100 {
		if _, err := scrape(w.pages[0]); err == nil {
			return w, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	w.stop()
	return nil, fmt.Errorf("%s answers no scrape", argv[0])
}

func (w *watchers) join(o *watchers) {
	w.pages, w.cmds = append(w.pages, o.pages...), append(w.cmds, o.cmds...)
}

func (w *watchers) stop() {
	for _, c := range w.cmds {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
}

func scrape(page string) (series int, err error) {
	resp, err := http.Get(page)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", page, resp.Status)
	}
	return bytes.Count(text, []byte("\n")) - bytes.Count(text, []byte("\n#")) - 1, err
}

// scrapeFor scrapes once a second.
func (w *watchers) scrapeFor(d time.Duration) error {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for range int(d / time.Second) {
		<-tick.C
		w.series = 0
		for _, p := range w.pages {
			n, err := scrape(p)
			if err != nil {
				return err
			}
			w.series += n
		}
	}
	return nil
}

// cpu is the processor time of all, children that ended included, in seconds.
func (w *watchers) cpu() (seconds float64) {
	for _, c := range w.cmds {
		seconds += cpuOf(c.Process.Pid)
	}
	return seconds
}

func cpuOf(pid int) (seconds float64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(f) < 15 {
		return 0
	}
	for _, i := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime
		n, _ := strconv.ParseFloat(f[i], 64)
		seconds += n / 100
	}
	return seconds
}

// memory is the anonymous and the resident memory of all, in MiB.
func (w *watchers) memory() (anon, rss float64) {
	for _, c := range w.cmds {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.Process.Pid))
		for line := range strings.Lines(string(text)) {
			f := strings.Fields(line)
			if len(f) < 2 {
				continue
			}
			n, _ := strconv.ParseFloat(f[1], 64)
			switch f[0] {
			case "RssAnon:":
				anon += n / 1024
			case "VmRSS:":
				rss += n / 1024
			}
		}
	}
	return anon, rss
}
