package namespace

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// What other tests have mounted is let go of, wherever in their directories it is; what is one's own stays.
func TestLetGo(t *testing.T) {
	top := t.TempDir()
	const script = `mount --bind "$0" "$0"
for at in plumb-1/db plumb-2/db TestOther/001/v1 plumb-1/memory; do
	mkdir -p "$0/$at"
	case $at in */memory) mount -t tmpfs none "$0/$at" ;; *) mount -t ramfs /dev/none "$0/$at" ;; esac
done || exit 9
cd "$0"
`
	c := exec.Command("unshare", "--mount", "--propagation", "private", "sh", "-c", script+LetGo(filepath.Join(top, "plumb-1"))+`cut -d ' ' -f 2 /proc/self/mounts`, top)
	c.Env = append(os.Environ(), "TMPDIR="+top)
	out, err := c.Output()
	if err != nil {
		t.Skipf("no mounts of its own can be had here: %v", err)
	}
	for at, want := range map[string]bool{"plumb-1/db": true, "plumb-1/memory": true, "plumb-2/db": false, "TestOther/001/v1": false, "": true} {
		if has := strings.Contains(string(out), filepath.Join(top, at)+"\n"); has != want {
			t.Errorf("%q is mounted: %v, in\n%s", at, has, out)
		}
	}
}
