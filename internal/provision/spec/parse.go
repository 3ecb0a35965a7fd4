package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v4"

	"plumb/internal/hint"
	"plumb/internal/product"
	"plumb/internal/strictyaml"
)

// Bounds of one spec: more is a slip of the pen.
const (
	mostText  = 64 << 10 // bytes of a file
	mostDisks = 512      // in one list
	mostBases = 64       // databases
	mostWords = 20       // mistakes that are told
	longest   = 255      // of a name or path, bytes
)

// formVersion is that of the form of these files. A file that does not say has the first.
const formVersion = 1

// Parse reads a spec and checks all that can be said without looking at a machine. The file's name
// is for messages. The error joins its mistakes, the first twenty, each a [strictyaml.Error].
func Parse(file string, text []byte) (Spec, error) {
	if len(text) > mostText {
		return Spec{}, strictyaml.Error{File: file, Line: 1, Col: 1, Msg: fmt.Sprintf("too large for a spec: at most %d bytes", mostText)}
	}
	doc, root := strictyaml.Parse(file, text)
	r := &reader{doc: doc}
	if root != nil {
		if err := newer(file, root); err != nil {
			return Spec{}, err
		}
		if r.alone(text) {
			r.file(root)
		}
	}
	if all := doc.Errors(); len(all) > 0 {
		return Spec{}, strictyaml.Join(all[:min(len(all), mostWords)])
	}
	return r.s, nil
}

// newer refuses a file of a later form, whose other mistakes may be none.
func newer(file string, root *strictyaml.Node) error {
	if !strictyaml.IsMap(root) {
		return nil
	}
	for i := 0; i+1 < len(root.Content); i += 2 {
		var version int
		if root.Content[i].Value != "plumb" || root.Content[i+1].Decode(&version) != nil || version <= formVersion {
			continue // a mistake, or read with the rest
		}
		return fmt.Errorf("%s:%d: %w", file, root.Content[i].Line, hint.Newer("it is a spec", version, formVersion))
	}
	return nil
}

// reader reads one file.
type reader struct {
	doc *strictyaml.Document
	s   Spec
	// disks are all that were named so far, by what must not be there twice.
	disks map[string]*strictyaml.Node
	// vendor is where packages.from stands.
	vendor *strictyaml.Node
}

// alone says when a file holds a second document, which would not be read.
func (r *reader) alone(text []byte) bool {
	d := yaml.NewDecoder(bytes.NewReader(text))
	var first, second yaml.Node
	if err := d.Decode(&first); err != nil {
		return true // told already
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		r.doc.At(max(second.Line, 1), 1, "there is a second document: a file contains one spec")
		return false
	}
	return true
}

func (r *reader) file(root *strictyaml.Node) {
	r.disks = map[string]*strictyaml.Node{}
	var ways []*strictyaml.Node
	way := func(read func(*strictyaml.Node)) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) { ways = append(ways, n); read(n) }
	}
	r.doc.Object(root, "a spec", strictyaml.Fields{
		"plumb":      func(n *strictyaml.Node) { r.doc.OneOf(n, "plumb", fmt.Sprint(formVersion)) },
		"pool":       way(r.pool),
		"use":        way(func(n *strictyaml.Node) { r.s.Use = r.dataset(n, "use") }),
		"filesystem": way(r.filesystem),
		"server":     r.server,
		"packages":   r.packages,
	}, "server")
	r.from()
	switch {
	case len(ways) == 0 && strictyaml.IsMap(root):
		r.doc.Errorf(root, "a spec needs one of the keys pool, use and filesystem, for where the data goes")
	case len(ways) > 1:
		r.doc.Errorf(ways[1], "a spec has only one of the keys pool, use and filesystem")
	}
}

func (r *reader) server(n *strictyaml.Node) {
	s := &r.s.Server
	r.doc.Object(n, "a server", strictyaml.Fields{
		"product": func(n *strictyaml.Node) { s.Product = r.doc.OneOf(n, "server.product", product.Private()...) },
		"version": func(n *strictyaml.Node) { s.Version = r.version(n, "server.version") },
		"name":    func(n *strictyaml.Node) { s.Name = r.word(n, "server.name") },
		"memory":  func(n *strictyaml.Node) { s.Memory = r.size(n, "server.memory", leastMemory) },
		"role": func(n *strictyaml.Node) {
			s.Role = Role(r.doc.OneOf(n, "server.role", string(Primary), string(Replica)))
		},
		"at":        func(n *strictyaml.Node) { s.At = r.place(n, "server.at") },
		"databases": func(n *strictyaml.Node) { s.Databases = r.databases(n) },
	}, "product")
}

func (r *reader) packages(n *strictyaml.Node) {
	r.doc.Object(n, "packages", strictyaml.Fields{
		"from": func(n *strictyaml.Node) {
			r.s.From, r.vendor = r.doc.OneOf(n, "packages.from", product.VendorNames()...), n
		},
	}, "from")
}

// from refuses a repository that does not have the server.
func (r *reader) from() {
	v, s := product.VendorOf(r.s.From), r.s.Server
	switch {
	case r.s.From == "" || s.Product == "":
	case !slices.Contains(v.Flavors, s.Product):
		r.doc.Errorf(r.vendor, "%s has no %s", v.Name, s.Product)
	case v.Needs() && !series.MatchString(s.Version):
		r.doc.Errorf(r.vendor, "%s has a repository for each series: give it as server.version, such as 11.8", v.Name)
	}
}

// series are the first two numbers of a version.
var series = regexp.MustCompile(`^[0-9]{1,3}[.][0-9]{1,3}$`)

func (r *reader) filesystem(n *strictyaml.Node) {
	f := &Filesystem{}
	r.s.Filesystem = f
	var array *strictyaml.Node
	r.doc.Object(n, "a filesystem", strictyaml.Fields{
		"type": func(n *strictyaml.Node) { f.Type = r.doc.OneOf(n, "filesystem.type", Filesystems()...) },
		"device": func(n *strictyaml.Node) {
			if f.Device = r.disk(n, "filesystem.device"); f.Device.Path != "" && f.Device.IsFile() {
				r.doc.Errorf(n, "a filesystem is made on a device, not in the file %s: only pools can have files, for trials", f.Device.Path)
			}
		},
		"at":    func(n *strictyaml.Node) { f.At = r.place(n, "filesystem.at") },
		"chunk": func(n *strictyaml.Node) { array, f.Chunk = n, r.size(n, "filesystem.chunk", leastChunk) },
		"width": func(n *strictyaml.Node) { array, f.Width = n, r.count(n, "filesystem.width", 1, mostDisks) },
	}, "type", "device")
	switch {
	case array == nil:
	case f.Type == btrfs:
		r.doc.Errorf(array, "btrfs is not aligned to an array: leave chunk and width out")
	case f.Chunk == 0 || f.Width == 0:
		r.doc.Errorf(array, "an array needs both filesystem.chunk and filesystem.width")
	case f.Chunk&(f.Chunk-1) != 0:
		r.doc.Errorf(array, "filesystem.chunk is a power of two")
	}
}
