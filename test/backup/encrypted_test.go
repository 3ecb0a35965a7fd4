package backup

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/zfs"
)

// TestBelowAnEncryptedDataset restores what was not encrypted, and the increments of it, below a dataset that is: it is encrypted there.
func TestBelowAnEncryptedDataset(t *testing.T) {
	g := newGround(t)
	if g.fuse {
		t.Skip("zfs-fuse has no encryption: test/real/vm tries the same on OpenZFS")
	}
	g.write(t, 1)
	g.up(t, g.point(t, "20261125T120000Z-0001"), false)
	g.write(t, 2)
	res := g.up(t, g.point(t, "20261125T130000Z-0002"), false)
	key := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(key, bytes.Repeat([]byte{7}, 32), 0o600))
	secret := g.pool.Name + "/secret"
	sh(t, "zfs", "create", "-o", "encryption=on", "-o", "keyformat=raw", "-o", "keylocation=file://"+key, secret)
	all, err := g.restore().Datasets(t.Context(), res.Manifest, secret+"/restored")
	must(t, err)
	for i, name := range []string{"data", "log"} {
		if root := strings.TrimSpace(sh(t, zfs.Value("encryptionroot", all[i].Dataset)...)); root != secret {
			t.Errorf("%s is encrypted as %s", all[i].Dataset, root)
		}
		if g.content(t, all[i].Dataset) != sums(t, g.pool.Dir+"/db/"+name) {
			t.Errorf("%s holds something else", all[i].Dataset)
		}
	}
}
