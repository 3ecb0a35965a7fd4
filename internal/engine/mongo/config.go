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

// parseConfig reads mongod.conf into dotted names with their lines. Options
// with the expansion directives __exec and __rest are left out: their value is
// not in the file.
func parseConfig(name string, text []byte) (map[string]option, error) {
	if len(text) > maxConfig {
		return nil, fmt.Errorf("parse %s: over %d bytes", name, maxConfig)
	}
	var root yaml.Node
	if err := yaml.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("parse %s: %w", name, err)
	}
	options := map[string]option{}
	if len(root.Content) == 1 {
		collect(options, name, "", root.Content[0], 0)
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
		if v.Kind == yaml.ScalarNode {
			options[prefix+key.Value] = option{v.Value, stack.Origin{From: stack.FromFile, File: file, Line: v.Line}}
			continue
		}
		collect(options, file, prefix+key.Value+".", v, depth+1)
	}
}

// flags maps mongod's arguments to the names in the file.
var flags = map[string]string{
	"dbpath": "storage.dbPath", "port": "net.port", "bind_ip": "net.bindIp", "logpath": "systemLog.path",
	"replSet": "replication.replSetName", "wiredTigerCacheSizeGB": "storage.wiredTiger.engineConfig.cacheSizeGB",
	"storageEngine": "storage.engine", "directoryperdb": "storage.directoryPerDB", "auth": "security.authorization",
	"nojournal": "storage.journal.enabled", "journalCommitInterval": "storage.journal.commitIntervalMs",
	"wiredTigerCollectionBlockCompressor": "storage.wiredTiger.collectionConfig.blockCompressor",
	"wiredTigerDirectoryForIndexes":       "storage.wiredTiger.engineConfig.directoryForIndexes",
	"unixSocketPrefix":                    "net.unixDomainSocket.pathPrefix",
}

// Flags without a value, and what they mean.
var switches = map[string]string{"directoryperdb": "true", "auth": "enabled", "nojournal": "false", "wiredTigerDirectoryForIndexes": "true"}

// parseArguments reads mongod's command line. config is the file it names.
func parseArguments(args []string) (options map[string]option, config string) {
	options = map[string]option{}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			continue
		}
		if value0, ok := switches[name]; ok {
			value = value0
		} else if !joined && i+1 < len(args) {
			i++
			value = args[i]
		}
		switch key, known := flags[name]; {
		case name == "config" || name == "f":
			config = value
		case known:
			options[key] = option{value, stack.Origin{From: stack.FromCommand}}
		}
	}
	return options, config
}

// port gives the port the options name, or the default.
func port(options map[string]option) int {
	if n, err := strconv.Atoi(options["net.port"].value); err == nil {
		return n
	}
	return 27017
}

// absolute makes a path of the options absolute; mongod resolves relative
// ones against a working directory that we do not know.
func absolute(path string) (string, bool) { return path, filepath.IsAbs(path) }
