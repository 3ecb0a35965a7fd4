package provision

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/product"
	"plumb/internal/system/packages"
)

// TestSourceIsBelievedByItsKey enters a repository of the test's own: what its key has signed is read and can be installed, taken away
// nothing of it is left, and with another key apt-get refuses it, and all is as before.
func TestSourceIsBelievedByItsKey(t *testing.T) {
	if !inDebian(t) {
		return
	}
	b := &bare{T: t}
	b.sh(`export DEBIAN_FRONTEND=noninteractive HOME=/root; apt-get -q -y --no-install-recommends install gpg gpg-agent apt-utils
for k in own other; do gpg --batch --quiet --passphrase '' --quick-generate-key $k@example.org rsa3072 sign never; gpg --armor --export $k@example.org >/root/$k.asc; done
mkdir -p /srv/repo/dists/bookworm/main/binary-amd64 /srv/repo/pool; cd /srv/repo/pool; apt-get -q download hello; cd ..
apt-ftparchive packages pool >dists/bookworm/main/binary-amd64/Packages
apt-ftparchive -o APT::FTPArchive::Release::Suite=bookworm -o APT::FTPArchive::Release::Components=main -o APT::FTPArchive::Release::Architectures=amd64 release dists/bookworm >/root/Release
gpg --batch --quiet --local-user own@example.org --clearsign --output dists/bookworm/InRelease /root/Release; gpgconf --kill all; chmod -R a+rX /srv/repo`)
	vendor := func(key string) product.Vendor {
		return product.Vendor{Name: "example.org", URI: "file:///srv/repo", Suite: "{codename}", Armor: b.sh(`cat "$1"`, "/root/"+key+".asc") + "\n",
			Key: b.sh(`gpg --batch --with-colons --list-keys "$1" 2>/dev/null | sed -n 's/^fpr:*\([0-9A-F]*\):$/\1/p' | head -n 1`, key+"@example.org")}
	}
	m := newMachine(t)
	own, other := vendor("own"), vendor("other")
	before := manifest(t)
	r, err := packages.Source(t.Context(), m.h, other, "")
	must(t, err)
	if _, err := m.apply(r); err == nil {
		t.Error("a repository that another key has signed is believed")
	}
	asBefore(t, before)
	r, err = packages.Source(t.Context(), m.h, own, "")
	must(t, err)
	number, err := m.apply(r)
	must(t, err)
	if out := b.sh("apt-cache policy hello"); !strings.Contains(out, "file:/srv/repo bookworm/main") {
		t.Errorf("what it has cannot be installed: %s", out)
	}
	if again, err := packages.Source(t.Context(), m.h, own, ""); err != nil || len(again.Acts) != 0 {
		t.Errorf("entered, it has %d acts to do: %v", len(again.Acts), err)
	}
	must(t, m.undo(number, change.UndoOptions{}))
	asBefore(t, before)
	other.Key = own.Key
	if _, err := packages.Source(t.Context(), m.h, other, ""); err == nil {
		t.Error("a key that is not the pinned one is taken")
	}
}

// TestSourceComesAndGoes enters a makers' repository with the system's own apt-get. Where the repository can be reached it is read
// with the pinned key, and goes again with all that came; where it cannot, apt-get's refusal takes back what was entered before it.
func TestSourceComesAndGoes(t *testing.T) {
	if !inDebian(t) {
		return
	}
	m := newMachine(t)
	before := manifest(t)
	for _, v := range product.Vendors() {
		began := time.Now()
		r, err := packages.Source(t.Context(), m.h, v, "11.8")
		must(t, err)
		number, err := m.apply(r)
		switch {
		case err != nil && !strings.Contains(err.Error(), "Failed to fetch"):
			t.Errorf("%s: %v", v.Name, err)
		case err != nil:
			t.Logf("%s is not reached here (%v): %v", v.Name, time.Since(began), err)
		default:
			if again, err := packages.Source(t.Context(), m.h, v, "11.8"); err != nil || len(again.Acts) != 0 {
				t.Errorf("%s: entered, it has %d acts to do: %v", v.Name, len(again.Acts), err)
			}
			must(t, m.undo(number, change.UndoOptions{}))
		}
		asBefore(t, before)
	}
}
