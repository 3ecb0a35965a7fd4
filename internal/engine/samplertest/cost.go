package samplertest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"plumb/internal/host/self"
)

// Second measures what a second of watching costs: it is done again and again,
// and told how often it was. pid is the server's process that answers.
func Second(b *testing.B, pid int, do func(n int)) {
	b.Helper()
	server, own := threads(b, pid), self.CPU()
	n := 0
	for b.Loop() {
		n++
		do(n)
	}
	b.ReportMetric(float64(threads(b, pid)-server)/1e6/float64(n), "server-ms/s")
	b.ReportMetric(float64(self.CPU()-own)/1e6/float64(n), "own-ms/s")
}

// threads is the processor time of all threads of a process.
func threads(b *testing.B, pid int) (sum time.Duration) {
	b.Helper()
	files, err := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/task/*/schedstat")
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue // a thread that ended
		}
		n, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(n)
	}
	if sum == 0 {
		b.Skip("the kernel does not count the time of threads (schedstat)")
	}
	return sum
}
