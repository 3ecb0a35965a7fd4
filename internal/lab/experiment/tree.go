package experiment

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"plumb/internal/strictyaml"
)

// settingName is what settings, properties and sysctls are called.
var settingName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.:@/-]{0,99}$`)

// steps splits a path of a set-up. Below the maps everything is one name,
// dots included: host.vm.dirty_bytes.
func steps(path string) []string {
	for _, m := range []string{"server.settings", "server.create", "volume.pool", "volume.properties", "host"} {
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
