package processes

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"plumb/internal/host"
	"plumb/test/namespace"
)

// What a process with mounts of its own has mounted there has the name of a directory here, and is another.
func TestUsingAnotherOfTheName(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to mount")
	}
	dir := filepath.Join(t.TempDir(), "db")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	start := func(argv ...string) {
		t.Helper()
		cmd := exec.Command(argv[0], argv[1:]...)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Skipf("needs %s: %v", argv[0], err)
		}
		t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
		if n, err := out.Read(make([]byte, 3)); n != 3 || err != nil {
			t.Fatalf("%q: %d bytes, %v", argv, n, err)
		}
	}
	h := host.NewLive(host.LiveOptions{})
	defer h.Close()
	start("unshare", "--mount", "sh", "-c", namespace.LetGo("")+`mount -t tmpfs none "$0" && cd "$0" && echo in && exec sleep 600`, dir)
	if by, _, err := Using(t.Context(), h, dir); by != "" || err != nil {
		t.Errorf("the other is used by %q, %v", by, err)
	}
	start("unshare", "--mount", "sh", "-c", namespace.LetGo("")+`cd "$0" && echo in && exec sleep 600`, dir)
	if by, _, err := Using(t.Context(), h, dir); by == "" || err != nil {
		t.Errorf("this one is used by one with mounts of its own: %q, %v", by, err)
	}
}
