package replicate

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/test/sandbox"
)

const envOnly = "PLUMB_RECEIVE_ONLY" // of the process that a key's forced command starts

func TestMain(m *testing.M) {
	only := os.Getenv(envOnly)
	if only == "" {
		os.Exit(m.Run())
	}
	d := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	if err := (Receiver{Do: d, Only: only}).Receive(context.Background(), os.Getenv("SSH_ORIGINAL_COMMAND"), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestReplicateOverSSH sends over a real sshd, with a key that may only receive.
func TestReplicateOverSSH(t *testing.T) {
	w := twoPools(t)
	target := w.target()
	port, options := sandbox.SSHD(t, fmt.Sprintf("%s=%s exec %s", envOnly, target.Dataset, os.Args[0]))
	target.User, target.Host, target.Port = "root", "127.0.0.1", port
	r := w.replicator()
	r.SSH = options
	for range 2 {
		p := w.point(t, 1000)
		_, err := r.Run(t.Context(), p, target, Options{})
		must(t, err)
		w.same(t, p)
	}
	cut := r
	cut.Keeper = keeper(&cutting{LiveDoer: w.keeper.Do.(*host.LiveDoer), left: 4 << 20}, w.dir)
	p := w.point(t, 10000)
	if _, err := cut.Run(t.Context(), p, target, Options{}); err == nil {
		t.Error("it was not cut")
	}
	_, err := r.Run(t.Context(), p, target, Options{})
	must(t, err)
	w.same(t, p)
	for _, line := range []string{"zfs destroy -r " + target.Dataset, "zfs receive -F " + target.Dataset + "/a", "id", ""} {
		out, err := exec.Command("ssh", append(append([]string{"-p", fmt.Sprint(port), "-o", "BatchMode=yes"}, options...), "root@127.0.0.1", line)...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "refused") {
			t.Errorf("%q over SSH: %v, %s", line, err, out)
		}
	}
	elsewhere := target
	elsewhere.Dataset = w.to.Name + "/elsewhere"
	if _, err := r.Run(t.Context(), w.point(t, 10), elsewhere, Options{}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("to another dataset: %v", err)
	}
}
