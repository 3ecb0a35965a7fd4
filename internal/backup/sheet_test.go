package backup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
)

func TestSheet(t *testing.T) {
	w := newWorld(t)
	if _, err := Sheets(t.Context(), w.Do, w.Dir); err == nil || !strings.Contains(err.Error(), "no backup of this host") {
		t.Error(err)
	}
	s := Sheet{Host: "db1", URL: "s3://backups/db1", Endpoint: "https://s3.example.org", Recipients: w.Words, Public: w.Public}
	for i, want := range []bool{true, false, true} {
		if i == 2 {
			s.Recipients = append(s.Recipients, "age1another")
		}
		if is, err := s.Remember(t.Context(), w.Do, w.Dir); err != nil || is != want {
			t.Errorf("%d: new: %t, %v", i, is, err)
		}
	}
	second := s
	second.URL, second.Endpoint = "file:///mnt/usb", ""
	if _, err := second.Remember(t.Context(), w.Do, w.Dir); err != nil {
		t.Fatal(err)
	}
	next := w.rotate(t)
	all, err := Sheets(t.Context(), w.Do, w.Dir)
	if err != nil || len(all) != 2 || all[0].URL != second.URL || all[1].Public != next || len(all[1].Recipients) != 2 {
		t.Errorf("%+v, %v", all, err)
	}
	files, _ := filepath.Glob(sheets(w.Dir) + "/*.json")
	if err := os.WriteFile(files[0], []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Sheets(t.Context(), w.Do, w.Dir); err == nil || !strings.Contains(err.Error(), files[0]) {
		t.Errorf("one that is torn: %v", err)
	}
}

// Whose keys are all here is warned, and only he.
func TestNear(t *testing.T) {
	w := newWorld(t)
	hybrid, err := age.GenerateHybridIdentity()
	if err != nil {
		t.Fatal(err)
	}
	elsewhere, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	first := write("key.txt", "# created: today\n# public key: x\n"+w.key.String()+"\n")
	second := write("b", hybrid.String()+"\n")
	write("large", strings.Repeat("x", mostKeyFile)+"\n"+elsewhere.String()+"\n")
	write("noise", "AGE-SECRET-KEY-1QQ\n\x00\n")
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		recipients, want []string
	}{
		{[]string{w.key.Recipient().String()}, []string{first}},
		{[]string{w.key.Recipient().String(), hybrid.Recipient().String()}, []string{first, second}},
		{[]string{w.key.Recipient().String(), elsewhere.Recipient().String()}, nil},
		{nil, nil},
	} {
		if got := Near(t.Context(), w.Do, []string{dir, "/nowhere"}, c.recipients); strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func FuzzSheet(f *testing.F) {
	f.Add([]byte(`{"host": "db1", "url": "s3://b", "recipients": ["age1"], "public": "p"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if s, err := parseSheet(text); err == nil && (s.URL == "" || len(s.Recipients) == 0) {
			t.Fatalf("%+v", s)
		}
	})
}

func FuzzKey(f *testing.F) {
	k, err := newKey("a")
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte(k.private + "\n" + k.public + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := parseKey(text); err == nil && k.sign == nil {
			t.Fatal("a key that signs nothing")
		}
	})
}
