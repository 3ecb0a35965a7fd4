package osrelease

import (
	"errors"
	"io/fs"
	"testing"

	"plumb/internal/host/hosttest"
)

func TestRead(t *testing.T) {
	const debian = "PRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n# ID=none\nID=debian\nVERSION_CODENAME='bookworm'\nnothing\nHALF=\"x\n"
	for _, file := range files {
		values, from, err := Read(t.Context(), &hosttest.Map{Files: map[string]string{file: debian}})
		if err != nil || from != file || len(values) != 4 || values["PRETTY_NAME"] != "Debian GNU/Linux 12 (bookworm)" || values["ID"] != "debian" ||
			values["VERSION_CODENAME"] != "bookworm" || values["HALF"] != "\"x" {
			t.Errorf("%s: %q from %q, %v", file, values, from, err)
		}
	}
	if values, _, err := Read(t.Context(), &hosttest.Map{Files: map[string]string{files[0]: "ID=first", files[1]: "ID=second"}}); err != nil || values["ID"] != "first" {
		t.Errorf("of both: %q, %v", values, err)
	}
	if _, _, err := Read(t.Context(), &hosttest.Map{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of none: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("ID=\"debian\"\n#\nX='\n"))
	f.Fuzz(func(_ *testing.T, text []byte) { parse(text) })
}
