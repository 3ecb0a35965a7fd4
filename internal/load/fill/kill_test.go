package fill_test

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"plumb/internal/load/fill"
)

// killEnv tells the test binary that it is the loader to be killed.
const killEnv = "PLUMB_TEST_FILL"

func TestMain(m *testing.M) {
	if a := strings.Split(os.Getenv(killEnv), " "); len(a) == 4 {
		o := fill.Options{Workers: 3, Range: 40 << 10, Verify: fill.Content}
		r, err := fill.Fill(context.Background(), address{a[0], a[1], a[2], a[3]}.server(), somePlan(60), o)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("checksum", r.Tables[1].Checksum, r.Tables[1].Rows)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestFillKilled kills a loader again and again, at any moment, until one
// gets to the end.
func TestFillKilled(t *testing.T) {
	eachServer(t, func(t *testing.T, a address) {
		want, rows, err := fill.Checksum(a.engine, somePlan(60).Tables[1])
		ok(t, err)
		kills := 0
		for limit := 100 * time.Millisecond; ; limit += limit / 4 {
			said, killed := loadAndKill(t, a, time.Duration(rand.Int64N(int64(limit))))
			if killed {
				kills++
				continue
			}
			if said != fmt.Sprintf("checksum %s %d", want, rows) {
				t.Errorf("after %d kills: %s, want checksum %s %d", kills, said, want, rows)
			}
			break
		}
		t.Logf("killed %d times", kills)
		if kills < 3 {
			t.Errorf("only %d kills: the machine was too fast for this test", kills)
		}
		if a.engine == "mysql" {
			if n := ask(t, a, "SELECT COUNT(*) FROM information_schema.statistics WHERE table_name = 'many' AND table_schema = DATABASE() AND seq_in_index = 1"); n != "3" {
				t.Errorf("%s indexes, want 3", n)
			}
		}
	})
}

// loadAndKill starts a loader and kills it after a time; killed is false when
// it ended before.
func loadAndKill(t *testing.T, a address, after time.Duration) (said string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killEnv+"="+strings.Join([]string{a.engine, a.path, a.user, a.database}, " "))
	out, err := cmd.StdoutPipe()
	ok(t, err)
	ok(t, cmd.Start())
	killer := time.AfterFunc(after, func() { _ = cmd.Process.Kill() })
	defer killer.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		said = lines.Text()
	}
	err = cmd.Wait()
	if err != nil && said != "" {
		t.Fatalf("the loader failed: %s", said)
	}
	return said, err != nil
}
