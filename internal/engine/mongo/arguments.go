package mongo

import (
	"strings"

	"plumb/internal/stack"
)

// flags maps mongod's arguments to the names in the file.
var flags = map[string]string{
	"dbpath": "storage.dbPath", "port": "net.port", "bind_ip": "net.bindIp", "bind_ip_all": "net.bindIpAll",
	"logpath": "systemLog.path", "replSet": "replication.replSetName",
	"wiredTigerCacheSizeGB": "storage.wiredTiger.engineConfig.cacheSizeGB",
	"storageEngine":         "storage.engine", "directoryperdb": "storage.directoryPerDB",
	"auth": "security.authorization", "noauth": "security.authorization", "keyFile": "security.keyFile",
	"clusterAuthMode": "security.clusterAuthMode", "transitionToAuth": "security.transitionToAuth",
	"journal": "storage.journal.enabled", "dur": "storage.journal.enabled",
	"nojournal": "storage.journal.enabled", "nodur": "storage.journal.enabled",
	"journalCommitInterval":               "storage.journal.commitIntervalMs",
	"wiredTigerCollectionBlockCompressor": "storage.wiredTiger.collectionConfig.blockCompressor",
	"wiredTigerDirectoryForIndexes":       "storage.wiredTiger.engineConfig.directoryForIndexes",
	"unixSocketPrefix":                    "net.unixDomainSocket.pathPrefix",
	"configsvr":                           "sharding.clusterRole", "shardsvr": "sharding.clusterRole",
}

// switches are the arguments that take no value, and what giving one means.
// They are those of type Switch in mongod's option definitions (the files
// *options*.idl of its source); what no option above is made of means "true".
var switches = map[string]string{
	"auth": "enabled", "noauth": "disabled", "nojournal": "false", "nodur": "false", "journal": "true", "dur": "true",
	"configsvr": "configsvr", "shardsvr": "shardsvr",
	"bind_ip_all": "true", "transitionToAuth": "true", "directoryperdb": "true", "wiredTigerDirectoryForIndexes": "true",

	"help": "true", "h": "true", "version": "true", "outputConfig": "true", "ipv6": "true", "nounixsocket": "true",
	"fork": "true", "objcheck": "true", "noobjcheck": "true", "crashOnInvalidBSONError": "true", "cpu": "true",
	"sysinfo": "true", "noscripting": "true", "notablescan": "true", "shutdown": "true", "quiet": "true",
	"logv2": "true", "syslog": "true", "logappend": "true", "traceExceptions": "true", "queryableBackupMode": "true",
	"groupCollections": "true", "upgrade": "true", "repair": "true",
	"noMoveParanoia": "true", "moveParanoia": "true", "master": "true", "slave": "true", "enableEncryption": "true",
	"rest": "true", "jsonp": "true", "httpinterface": "true", "nohttpinterface": "true", "smallfiles": "true",
	"noprealloc": "true", "quota": "true", "tlsOnNormalPorts": "true", "sslOnNormalPorts": "true",
	"tlsAllowConnectionsWithoutCertificates": "true", "sslAllowConnectionsWithoutCertificates": "true",
	"tlsWeakCertificateValidation": "true", "sslWeakCertificateValidation": "true",
	"tlsAllowInvalidHostnames": "true", "sslAllowInvalidHostnames": "true",
	"tlsAllowInvalidCertificates": "true", "sslAllowInvalidCertificates": "true",
	"tlsFIPSMode": "true", "sslFIPSMode": "true",
}

// parseArguments reads mongod's command line. config is the file it names. An
// argument that is not in the tables takes the next one along only if that
// does not look like an argument itself.
func parseArguments(args []string) (options map[string]option, config string) {
	options = map[string]option{}
	for i := 0; i < len(args); i++ {
		name, value, joined := strings.Cut(strings.TrimLeft(args[i], "-"), "=")
		if !strings.HasPrefix(args[i], "-") {
			continue
		}
		if meaning, ok := switches[name]; ok {
			value = meaning
		} else if !joined && strings.Trim(name, "v") != "" && i+1 < len(args) && !strings.HasPrefix(args[i+1], "-") {
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

// parseOldConfig reads a file of arguments without their dashes, one a line.
func parseOldConfig(file string, text []byte) map[string]option {
	options := map[string]option{}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line, _, _ = strings.Cut(line, "#")
		name, value, ok := strings.Cut(line, "=")
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
		key, known := flags[name]
		if !ok || !known {
			continue
		}
		if meaning, ok := switches[name]; ok {
			if value != "true" {
				continue
			}
			value = meaning
		}
		options[key] = option{value, stack.Origin{From: stack.FromFile, File: file, Line: n}}
	}
	return options
}

// complete adds what options mean together: on which addresses mongod listens
// and whether it asks for a login. The latter is off unless something turns it
// on; a key file and a mode of authentication within the cluster do, but not in
// the midst of the change from none, which transitionToAuth stands for.
func complete(options map[string]option) {
	if all, ok := options["net.bindIpAll"]; ok && all.value == "true" {
		options["net.bindIp"] = option{"*", all.from}
	}
	if _, told := options["security.authorization"]; told {
		return
	}
	if _, more := options[elsewhere]; more {
		return
	}
	key, keyed := options["security.keyFile"]
	mode, moded := options["security.clusterAuthMode"]
	between := options["security.transitionToAuth"].value == "true"
	switch {
	case moded && between: // the manual and the source differ
	case moded:
		options["security.authorization"] = option{"enabled", mode.from}
	case keyed && !between:
		options["security.authorization"] = option{"enabled", key.from}
	default:
		options["security.authorization"] = option{"disabled", stack.Origin{From: stack.FromDefault}}
	}
}
