package spec

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/units"
)

// Text writes a spec as Parse reads it, with all that it says and nothing that it leaves out.
func Text(s Spec) []byte {
	w := &writer{}
	if p := s.Pool; p != nil {
		w.line(0, "pool", " ")
		w.line(1, "name", p.Name)
		w.line(1, "layout", string(p.Layout))
		w.number(1, "width", int64(p.Width))
		for _, l := range []struct {
			key   string
			disks []Disk
		}{{"disks", p.Data}, {"special", p.Special}, {"log", p.Log}, {"cache", p.Cache}} {
			if len(l.disks) > 0 {
				w.line(1, l.key, " ")
			}
			for _, d := range l.disks {
				fmt.Fprintf(w, "    - %s\n", d.text())
			}
		}
		w.line(1, "key", p.Key)
	}
	w.line(0, "use", s.Use)
	if f := s.Filesystem; f != nil {
		w.line(0, "filesystem", " ")
		w.line(1, "type", f.Type)
		fmt.Fprintf(w, "  device: %s\n", f.Device.text())
		w.line(1, "at", f.At)
		w.size(1, "chunk", f.Chunk)
		w.number(1, "width", int64(f.Width))
	}
	w.line(0, "server", " ")
	w.line(1, "product", s.Server.Product)
	w.line(1, "version", s.Server.Version)
	w.line(1, "name", s.Server.Name)
	w.size(1, "memory", s.Server.Memory)
	w.line(1, "role", string(s.Server.Role))
	w.line(1, "at", s.Server.At)
	if len(s.Server.Databases) > 0 {
		w.line(1, "databases", " ")
	}
	for _, d := range s.Server.Databases {
		fmt.Fprintf(w, "    - {name: %s, owner: %s}\n", d.Name, d.Owner)
	}
	if s.From != "" {
		w.line(0, "packages", " ")
		w.line(1, "from", s.From)
	}
	return w.Bytes()
}

type writer struct{ bytes.Buffer }

// line writes a key and its value, unless that is left out; " " for what follows in the next lines.
func (w *writer) line(depth int, key, value string) {
	if value == "" {
		return
	}
	w.WriteString(strings.TrimRight(strings.Repeat("  ", depth)+key+": "+value, " ") + "\n")
}

func (w *writer) number(depth int, key string, n int64) {
	if n != 0 {
		w.line(depth, key, strconv.FormatInt(n, 10))
	}
}

func (w *writer) size(depth int, key string, n int64) {
	if n != 0 {
		w.line(depth, key, units.Typed(n, "", "K", "M", "G"))
	}
}

// text writes a disk: its path alone where nothing else is said.
func (d Disk) text() string {
	if d.Serial == "" && d.Size == 0 && d.Erase == "" {
		return d.Path
	}
	var w writer
	fmt.Fprintf(&w, "{path: %s", d.Path)
	if d.Serial != "" {
		fmt.Fprintf(&w, ", serial: %s", d.Serial)
	}
	if d.Size != 0 {
		fmt.Fprintf(&w, ", size: %s", units.Typed(d.Size, "", "K", "M", "G"))
	}
	if d.Erase != "" {
		fmt.Fprintf(&w, ", erase: %s", d.Erase)
	}
	return w.String() + "}"
}
