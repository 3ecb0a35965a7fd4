package points

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"

	"plumb/test/sandbox"
)

// TestBackupProven backs up points of real servers, and has a server started on what comes back.
func TestBackupProven(t *testing.T) {
	for _, of := range families {
		t.Run(of.name, func(t *testing.T) { backupProven(t, of) })
	}
}

func backupProven(t *testing.T, of family) {
	sandbox.NeedTime(t, "a server is restored and started: make test-real")
	b := onPool(t, of)
	other, err := b.box.ZFSFuse(512)
	must(t, err)
	sandbox.VerifyAccount(t)
	dir, err := os.MkdirTemp("/var/tmp", "plumb-test-backup-")
	must(t, err)
	must(t, os.Chmod(dir, 0o711))
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	key, err := age.GenerateX25519Identity()
	must(t, err)
	keys, store := filepath.Join(dir, "key.txt"), filepath.Join(dir, "store")
	must(t, os.WriteFile(keys, []byte(key.String()+"\n"), 0o600))
	must(t, os.Mkdir(store, 0o700))
	v := verbs{t, filepath.Join(dir, "state")}
	insert := strings.NewReplacer("?, ?", "1, 1", "$1, $2", "1, 1").Replace(of.insert)
	must(t, b.server.Exec(insert))
	up := func() {
		id := pointID.FindString(v.typed(0, "snapshot", b.db(t, b.look(t)).String()))
		v.typed(0, "backup", id, "--to", "file://"+store, "--recipient", key.Recipient().String(), "--points", filepath.Join(v.state, "points"))
	}
	up()
	must(t, b.server.Exec(strings.Replace(insert, "1, 1", "1, 2", 1)))
	up() // what changed since
	says(t, v.typed(0, "backup", "list", "--from", "file://"+store), "needs 2", "of a point that is crash")

	out := v.typed(0, "verify", "--from", "file://"+store, "--identity", keys, "--restore", other.Name)
	says(t, out, "it started, and all checks are well", "recovered position", "taken away")
	says(t, v.typed(0, "backup", "list", "--from", "file://"+store), "a server started on it on")
	if left := allDatasets(t); strings.Contains(left, "plumb-verify") {
		t.Errorf("left behind:\n%s", left)
	}
	v.typed(0, "restore", "--from", "file://"+store, "--identity", keys, "--into", other.Name+"/back")
	if there := allDatasets(t); !strings.Contains(there, other.Name+"/back/") {
		t.Errorf("nothing is restored:\n%s", there)
	}
	v.typed(3, "verify", "--from", "file://"+store, "--restore", "none-of-ours", "--identity", keys)
}

// allDatasets lists those of all pools.
func allDatasets(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("zfs", "list", "-H", "-o", "name").CombinedOutput()
	must(t, err)
	return string(out)
}
