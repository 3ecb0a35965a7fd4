package mongo

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"plumb/internal/stack"
)

// option is one setting of mongod.conf or of the command line.
type option struct {
	value string
	from  stack.Origin
}

// maxConfig bounds mongod.conf, in bytes: a real one has some kilobytes, and
// each of them can become a thousand in memory.
const maxConfig = 256 << 10

// elsewhere marks a file whose settings are not all in it: mongod fetches the
// rest with the expansion directives __exec and __rest.
const elsewhere = "__elsewhere"

// parseConfig reads mongod.conf into dotted names with their lines. A file
// that is no YAML mapping has the form of before 2.6, "auth = true", which
// mongod still takes.
func parseConfig(name string, text []byte) (map[string]option, error) {
	if len(text) > maxConfig {
		return nil, fmt.Errorf("parse %s: over %d bytes", name, maxConfig)
	}
	options := map[string]option{}
	var root yaml.Node
	err := yaml.Unmarshal(text, &root)
	switch {
	case err == nil && len(root.Content) == 0:
	case err == nil && root.Content[0].Kind == yaml.MappingNode:
		collect(options, name, "", root.Content[0], 0)
	case strings.Contains(string(text), "="):
		return parseOldConfig(name, text), nil
	case err == nil:
		return nil, fmt.Errorf("parse %s: it holds no settings by name", name)
	default:
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	return options, nil
}

const deepest = 32 // levels of nesting; mongod.conf has five

func collect(options map[string]option, file, prefix string, n *yaml.Node, depth int) {
	if n.Kind != yaml.MappingNode || depth > deepest {
		return
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, v := n.Content[i], n.Content[i+1]
		if key.Value == "__exec" || key.Value == "__rest" {
			options[elsewhere] = option{prefix, stack.Origin{From: stack.FromFile, File: file, Line: key.Line}}
		}
		if v.Kind == yaml.ScalarNode {
			options[prefix+key.Value] = option{v.Value, stack.Origin{From: stack.FromFile, File: file, Line: v.Line}}
			continue
		}
		collect(options, file, prefix+key.Value+".", v, depth+1)
	}
}

// port gives the port the options name, or the default, which is another one
// for the parts of a sharded cluster.
func port(options map[string]option) int {
	if n, err := strconv.Atoi(options["net.port"].value); err == nil {
		return n
	}
	switch options["sharding.clusterRole"].value {
	case "shardsvr":
		return 27018
	case "configsvr":
		return 27019
	}
	return 27017
}

// absolute makes a path of the options absolute; mongod resolves relative
// ones against a working directory that we do not know.
func absolute(path string) (string, bool) { return path, filepath.IsAbs(path) }
