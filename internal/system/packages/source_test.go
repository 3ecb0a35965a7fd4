package packages

import (
	"context"
	"encoding/base64"
	"errors"
	"path"
	"strings"
	"testing"

	"plumb/internal/change"
	"plumb/internal/product"
)

// Each vendor's key is the one whose fingerprint is pinned, and there is no other in its file.
func TestEachKeyIsThePinnedOne(t *testing.T) {
	for _, v := range product.Vendors() {
		if err := pinned(v); err != nil {
			t.Errorf("%s: %v", v.Name, err)
		}
		if len(v.Key) != 40 || v.Source == "" {
			t.Errorf("%s: its key is %q, as %q says", v.Name, v.Key, v.Source)
		}
		v.Key = strings.Repeat("0", 40)
		if err := pinned(v); err == nil {
			t.Errorf("%s: another key is taken for its", v.Name)
		}
	}
}

// A file with a second key is one that lets two sign.
func TestASecondKeyIsSeen(t *testing.T) {
	one, two := product.VendorOf("postgresql.org").Armor, product.VendorOf("mariadb.org").Armor
	if all, err := fingerprints(one + two); err == nil {
		t.Errorf("two blocks are %v", all)
	}
	a, errA := dearmored(one)
	b, errB := dearmored(two)
	both := armorBegins + "\n\n" + base64Of(append(a, b...)) + "\n" + armorEnds + "\n"
	if all, err := fingerprints(both); err != nil || len(all) != 2 || errA != nil || errB != nil {
		t.Errorf("two keys in one block are %v: %v", all, err)
	}
}

func FuzzFingerprints(f *testing.F) {
	for _, v := range product.Vendors() {
		f.Add(v.Armor)
	}
	f.Add(armorBegins + "\n\nxsA=\n" + armorEnds)
	f.Fuzz(func(t *testing.T, text string) {
		all, err := fingerprints(text)
		for _, one := range all {
			if err == nil && len(one) != 40 {
				t.Errorf("a fingerprint is %q", one)
			}
		}
	})
}

// plain is a system with apt-get and no sources but its own.
type plainSystem struct{ answers }

func (p plainSystem) Glob(_ context.Context, pattern string) (all []string, err error) {
	for name := range p.files {
		if ok, _ := path.Match(pattern, name); ok {
			all = append(all, name)
		}
	}
	return all, nil
}

func bookworm() plainSystem {
	return plainSystem{answers{files: map[string]string{aptGet: "", "/etc/os-release": "ID=debian\nVERSION_CODENAME=bookworm\n", keyringsDir: ""}}}
}

func TestSource(t *testing.T) {
	for vendor, want := range map[string]string{
		"mariadb.org":    "URIs: https://deb.mariadb.org/11.8/debian\nSuites: bookworm\nComponents: main\nSigned-By: /etc/apt/keyrings/plumb-mariadb.org.asc\n",
		"postgresql.org": "URIs: https://apt.postgresql.org/pub/repos/apt\nSuites: bookworm-pgdg\nComponents: main\nSigned-By: /etc/apt/keyrings/plumb-postgresql.org.asc\n",
	} {
		v := product.VendorOf(vendor)
		r, err := Source(t.Context(), bookworm(), v, "11.8")
		if err != nil || len(r.Acts) != 3 {
			t.Errorf("%s: %d acts, %v", vendor, len(r.Acts), err)
			continue
		}
		key, source, update := r.Acts[0].Make, r.Acts[1].Make, r.Acts[2].Switch
		if text := key.Do[0].Argv[5]; !strings.HasPrefix(text, armorBegins+"\nComment: plumb {mark}\n") || !strings.Contains(text, armorEnds) {
			t.Errorf("%s: the key is written as %.80q", vendor, text)
		}
		if text := source.Do[0].Argv[5]; !strings.HasPrefix(text, "# plumb {mark}\nTypes: deb\n") || !strings.HasSuffix(text, want) {
			t.Errorf("%s: the source is %s", vendor, text)
		}
		if text := update.Do[0].String(); !strings.Contains(text, "SourceParts=/dev/null") || !strings.Contains(text, "List-Cleanup=0") || !strings.HasSuffix(update.After, "_InRelease") {
			t.Errorf("%s: the lists are read by %s", vendor, text)
		}
	}
}

// What is entered already, by whom ever, is not entered twice: apt takes two keys for one source for an error.
func TestSourceThatIsThere(t *testing.T) {
	h := bookworm()
	h.files[sourcesDir+"/mariadb.list"] = "# deb https://deb.mariadb.org/10.11/debian bookworm main\ndeb [signed-by=/x] http://deb.mariadb.org/11.8/debian/ bookworm main\n"
	v := product.VendorOf("mariadb.org")
	if r, err := Source(t.Context(), h, v, "11.8"); err != nil || len(r.Acts) != 0 || len(r.Notes) != 1 {
		t.Errorf("%d acts: %v", len(r.Acts), err)
	}
	if r, err := Source(t.Context(), h, v, "10.11"); err != nil || len(r.Acts) != 3 {
		t.Errorf("a comment is taken for a source: %d acts, %v", len(r.Acts), err)
	}
	own := bookworm() // of which there is nothing to be told
	own.files[sourcesDir+"/plumb-mariadb.org.sources"] = "Types: deb\nURIs: https://deb.mariadb.org/11.8/debian\n"
	if r, err := Source(t.Context(), own, v, "11.8"); err != nil || len(r.Acts) != 0 || r.Notes != nil {
		t.Errorf("%d acts, %q: %v", len(r.Acts), r.Notes, err)
	}
	h.files["/etc/os-release"] = "ID=alpine\n"
	if _, err := Source(t.Context(), h, v, "11.8"); !isRefusal(err) {
		t.Errorf("another system: %v", err)
	}
	delete(h.files, aptGet)
	if _, err := Source(t.Context(), h, v, "11.8"); !isRefusal(err) {
		t.Errorf("no apt-get: %v", err)
	}
}

func isRefusal(err error) bool { _, ok := errors.AsType[*change.Refusal](err); return ok }

// The newest version that the sources have may be of another series than the repository that was asked for.
func TestServerOfTheSeries(t *testing.T) {
	w, err := Server(product.MariaDB, "11.4", true)
	if err != nil {
		t.Fatal(err)
	}
	comes := func(version string) answers {
		return debian("x:amd64 1 installed\n", "Inst mariadb-server (1:"+version+" D [amd64])\n")
	}
	if _, err := Recipe(t.Context(), comes("11.8.3+maria~deb12"), w); !isRefusal(err) {
		t.Errorf("another series comes in: %v", err)
	}
	if r, err := Recipe(t.Context(), comes("11.4.9+maria~deb12"), w); err != nil || len(r.Acts) != 1 {
		t.Errorf("%d acts: %v", len(r.Acts), err)
	}
}

func base64Of(b []byte) string { return base64.StdEncoding.EncodeToString(b) }
