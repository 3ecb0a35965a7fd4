package experiment

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"plumb/internal/draw"
	"plumb/internal/strictyaml"
)

const mostRequest = 64 << 20 // bytes at once

// setups reads the set-up of each arm from the base and what the arm changes.
// Each has its own list of mistakes, because only what could be read can be
// checked further; what arms share is told once in the end.
func (r *reader) setups() {
	all := r.doc
	defer func() { r.doc = all }()
	for i, v := range r.variants {
		r.doc = &strictyaml.Document{File: all.File}
		tree := copyTree(r.base)
		for _, c := range v.changes {
			if !put(tree, c.path, c.at, c.value) {
				r.doc.Errorf(c.at, "%s leads nowhere: a part of it before the last is not a mapping", c.path)
			}
		}
		u := r.setup(tree)
		r.x.Arms[i].Setup = u
		if len(r.doc.Errors()) == 0 {
			c := &checker{r: r, arm: v.name, tree: tree, setup: u}
			c.check()
		}
		for _, e := range r.doc.Errors() {
			all.At(e.Line, e.Col, "%s", e.Msg)
		}
	}
}

func (r *reader) setup(n *strictyaml.Node) (u Setup) {
	r.doc.Object(n, "a set-up", strictyaml.Fields{
		"volume": func(n *strictyaml.Node) { r.part(n, "a volume", "volume", &u.Volume, "kind") },
		"server": func(n *strictyaml.Node) { u.Server = &Server{}; r.part(n, "a server", "server", u.Server, "engine") },
		"load":   func(n *strictyaml.Node) { r.part(n, "a load", "load", &u.Load, "kind") },
		"beside": func(n *strictyaml.Node) {
			u.Beside = &Beside{}
			r.part(n, "beside", "beside", u.Beside, "kind", "size")
		},
		"host": func(n *strictyaml.Node) { u.Host = r.settings(n, "host") },
	}, "volume", "load")
	return u
}

// part reads a part of a set-up into its struct, whose fields say what they may be.
func (r *reader) part(n *strictyaml.Node, what, name string, into any, required ...string) {
	fields := strictyaml.Fields{}
	for key, f := range fieldsOf(into) {
		fields[key] = func(n *strictyaml.Node) { r.field(n, name+"."+key, f.at, strings.Fields(f.Tag.Get("is"))) }
	}
	r.doc.Object(n, what, fields, required...)
}

// partField is a field of a part of a set-up, and where it is.
type partField struct {
	reflect.StructField
	at any // a pointer to it
}

// fieldsOf gives the fields of a struct that a pointer leads to, by their names in files.
func fieldsOf(part any) map[string]partField {
	all, v := map[string]partField{}, reflect.ValueOf(part).Elem()
	for i := range v.NumField() {
		f := v.Type().Field(i)
		key, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		all[key] = partField{f, v.Field(i).Addr().Interface()}
	}
	return all
}

func (r *reader) field(n *strictyaml.Node, path string, into any, is []string) {
	bound := func(i int) (v float64) {
		v, _ = strconv.ParseFloat(is[i], 64)
		return v
	}
	switch into := into.(type) {
	case *string:
		if words := append(is, wordsOf(path)...); len(words) > 0 {
			*into = r.doc.OneOf(n, path, words...)
		} else {
			*into = r.line(n, path)
		}
	case *Bytes:
		least, _ := ParseBytes(is[0])
		*into = r.size(n, path, least)
	case *int:
		*into = int(r.count(n, path, int64(bound(0)), int64(bound(1))))
	case *int64:
		*into = r.count(n, path, int64(bound(0)), int64(bound(1)))
	case *float64:
		*into = r.real(n, path, bound(0), bound(1))
	case *bool:
		*into = r.doc.Switch(n, path)
	case *map[string]string:
		*into = r.settings(n, path)
	case *[]string:
		r.doc.Items(n, path, func(n *strictyaml.Node) { *into = append(*into, r.line(n, "an item of "+path)) })
	}
}

// wordsOf gives what may be written where others say it.
func wordsOf(path string) []string {
	switch path {
	case "load.script":
		return scripts()
	case "load.random":
		return draw.Names()
	case "load.mode":
		return slices.Concat(modes(FileIO), modes(Fsync))
	}
	return nil
}

// Filesystems are those that a loop device may have.
func Filesystems() []string {
	return strings.Fields(fieldsOf(&Volume{})["filesystem"].Tag.Get("is"))
}

// scripts are those of sysbench that package load/oltp knows. Bulk insert is
// left out: its tables are empty at first, so no two seconds are alike.
func scripts() []string {
	return []string{"oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_update_index",
		"oltp_update_non_index", "oltp_insert", "oltp_delete", "select_random_points", "select_random_ranges"}
}

// KeepsRows tells whether a script of oltp leaves as many rows as it found; some
// delete one only to insert it again.
func KeepsRows(script string) bool { return script != "oltp_insert" && script != "oltp_delete" }

// modes are the access patterns of a kind of load.
func modes(kind string) []string {
	switch kind {
	case FileIO:
		return []string{"rndrd", "rndwr", "rndrw", "seqrd", "seqrewr", "seqwr"}
	case Fsync:
		return []string{"append", "overwrite"}
	}
	return nil
}

// settingName is what settings, properties and sysctls are called.
var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:@/-]{0,99}$`)

// steps splits a path of a set-up. Below the maps everything is one name,
// dots included: host.vm.dirty_bytes.
func steps(path string) []string {
	for _, m := range []string{"server.settings", "server.create", "volume.pool", "volume.properties", "volume.log_properties", "host"} {
		if name, below := strings.CutPrefix(path, m+"."); below {
			return append(strings.Split(m, "."), name)
		}
	}
	return strings.Split(path, ".")
}

// put sets what a path leads to. The keys it has to make stand where the path
// is written, so that mistakes in them are shown there. It is false where the
// way is barred by something that is no mapping; reading the set-up says so.
func put(root *strictyaml.Node, path string, at, value *strictyaml.Node) bool {
	way := steps(path)
	for i, step := range way {
		if root.Kind != yaml.MappingNode {
			return false
		}
		last := i == len(way)-1
		k := keyOf(root, step)
		if k < 0 {
			root.Content = append(root.Content, nodeAt(at, yaml.ScalarNode, step), nodeAt(at, yaml.MappingNode, ""))
			k = len(root.Content) - 2
		}
		if last {
			root.Content[k], root.Content[k+1] = nodeAt(at, yaml.ScalarNode, step), value
			return true
		}
		if strictyaml.IsNull(root.Content[k+1]) { // "server:" with nothing behind it
			root.Content[k+1] = nodeAt(at, yaml.MappingNode, "")
		}
		root = root.Content[k+1]
	}
	return false
}

// find gives the deepest node on the way of a path that there is.
func find(root *strictyaml.Node, path string) *strictyaml.Node {
	for _, step := range steps(path) {
		k := keyOf(root, step)
		if k < 0 {
			break
		}
		root = root.Content[k+1]
	}
	return root
}

// keyOf is the index of a key in a mapping, or -1.
func keyOf(n *strictyaml.Node, key string) int {
	if n.Kind != yaml.MappingNode {
		return -1
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return i
		}
	}
	return -1
}

func nodeAt(at *strictyaml.Node, kind yaml.Kind, value string) *strictyaml.Node {
	return &strictyaml.Node{Kind: kind, Value: value, Line: at.Line, Column: at.Column}
}

func copyTree(n *strictyaml.Node) *strictyaml.Node {
	c := *n
	c.Content = slices.Clone(n.Content)
	for i, below := range c.Content {
		c.Content[i] = copyTree(below)
	}
	return &c
}
