package experiment

import (
	"slices"
	"time"

	"plumb/internal/draw"
	"plumb/internal/strictyaml"
)

// Bounds of what a set-up says.
const (
	leastVolume = 64 << 20 // the least that ZFS takes as a device
	leastMemory = 64 << 20
	mostThreads = 10_000
	mostTables  = 10_000
	mostRows    = 1<<31 - 1 // id is an INTEGER
	mostHouses  = 100_000   // warehouses
	mostFiles   = 1 << 16
	mostVdevs   = 16
	mostRequest = 64 << 20 // bytes at once
)

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
				r.doc.Errorf(c.at, "%s leads nowhere: what it goes through is no key: value", c.path)
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
		"volume": func(n *strictyaml.Node) { r.volume(n, &u.Volume) },
		"server": func(n *strictyaml.Node) { u.Server = &Server{}; r.server(n, u.Server) },
		"load":   func(n *strictyaml.Node) { r.load(n, &u.Load) },
		"beside": func(n *strictyaml.Node) { u.Beside = &Beside{}; r.beside(n, u.Beside) },
		"host":   func(n *strictyaml.Node) { u.Host = r.settings(n, "host") },
	}, "volume", "load")
	return u
}

func (r *reader) volume(n *strictyaml.Node, v *Volume) {
	s := r.doc
	s.Object(n, "a volume", strictyaml.Fields{
		"kind":       func(n *strictyaml.Node) { v.Kind = s.OneOf(n, "volume.kind", Directory, Loop, Zpool, Dataset) },
		"size":       func(n *strictyaml.Node) { v.Size = r.size(n, "volume.size", leastVolume) },
		"filesystem": func(n *strictyaml.Node) { v.Filesystem = s.OneOf(n, "volume.filesystem", Filesystems()...) },
		"mkfs":       func(n *strictyaml.Node) { v.Mkfs = r.arguments(n, "volume.mkfs") },
		"mount":      func(n *strictyaml.Node) { v.Mount = r.line(n, "volume.mount") },
		"layout":     func(n *strictyaml.Node) { v.Layout = s.OneOf(n, "volume.layout", "mirror", "raidz", "stripe") },
		"vdevs":      func(n *strictyaml.Node) { v.Vdevs = int(r.count(n, "volume.vdevs", 0, mostVdevs)) },
		"log":        func(n *strictyaml.Node) { v.Log = r.size(n, "volume.log", leastVolume) },
		"cache":      func(n *strictyaml.Node) { v.Cache = r.size(n, "volume.cache", leastVolume) },
		"pool":       func(n *strictyaml.Node) { v.Pool = r.settings(n, "volume.pool") },
		"parent":     func(n *strictyaml.Node) { v.Parent = r.line(n, "volume.parent") },
		"properties": func(n *strictyaml.Node) { v.Properties = r.settings(n, "volume.properties") },
		"arc":        func(n *strictyaml.Node) { v.ARC = r.size(n, "volume.arc", leastMemory) },
		"profile":    func(n *strictyaml.Node) { v.Profile = r.line(n, "volume.profile") },
		"clone":      func(n *strictyaml.Node) { v.Clone = s.OneOf(n, "volume.clone", "auto", "copy", "reflink", "snapshot") },
	}, "kind")
}

// Filesystems are those that a loop device may have.
func Filesystems() []string { return []string{"ext4", "xfs", "btrfs"} }

func (r *reader) arguments(n *strictyaml.Node, what string) (out []string) {
	r.doc.Items(n, what, func(n *strictyaml.Node) { out = append(out, r.line(n, "an item of "+what)) })
	return out
}

func (r *reader) server(n *strictyaml.Node, v *Server) {
	s := r.doc
	s.Object(n, "a server", strictyaml.Fields{
		"engine": func(n *strictyaml.Node) {
			v.Engine = s.OneOf(n, "server.engine", "mariadb", "mysql", "percona", "postgres")
		},
		"version":   func(n *strictyaml.Node) { v.Version = r.version(n) },
		"basedir":   func(n *strictyaml.Node) { v.Basedir = r.line(n, "server.basedir") },
		"memory":    func(n *strictyaml.Node) { v.Memory = r.size(n, "server.memory", leastMemory) },
		"used_logs": func(n *strictyaml.Node) { v.UsedLogs = s.Switch(n, "server.used_logs") },
		"create":    func(n *strictyaml.Node) { v.Create = r.settings(n, "server.create") },
		"settings":  func(n *strictyaml.Node) { v.Settings = r.settings(n, "server.settings") },
	}, "engine")
}

func (r *reader) version(n *strictyaml.Node) string {
	text := r.line(n, "server.version")
	if text != "" && !versionText.MatchString(text) {
		r.doc.Errorf(n, "server.version is a number such as 17, 10.11 or 8.0.36, not %q", text)
		return ""
	}
	return text
}

func (r *reader) load(n *strictyaml.Node, v *Load) {
	s := r.doc
	whole := func(into *int, what string, most int64) func(*strictyaml.Node) {
		return func(n *strictyaml.Node) { *into = int(r.count(n, what, 1, most)) }
	}
	s.Object(n, "a load", strictyaml.Fields{
		"kind":       func(n *strictyaml.Node) { v.Kind = s.OneOf(n, "load.kind", OLTP, TPCC, FileIO, Fsync) },
		"script":     func(n *strictyaml.Node) { v.Script = s.OneOf(n, "load.script", scripts()...) },
		"tables":     whole(&v.Tables, "load.tables", mostTables),
		"rows":       func(n *strictyaml.Node) { v.Rows = r.count(n, "load.rows", 1, mostRows) },
		"random":     func(n *strictyaml.Node) { v.Random = s.OneOf(n, "load.random", draw.Names()...) },
		"warehouses": whole(&v.Warehouses, "load.warehouses", mostHouses),
		"mode": func(n *strictyaml.Node) {
			v.Mode = s.OneOf(n, "load.mode", slices.Concat(modes(FileIO), modes(Fsync))...)
		},
		"files":        whole(&v.Files, "load.files", mostFiles),
		"total":        func(n *strictyaml.Node) { v.Total = r.size(n, "load.total", 1<<20) },
		"block":        func(n *strictyaml.Node) { v.Block = r.size(n, "load.block", 512) },
		"direct":       func(n *strictyaml.Node) { v.Direct = s.Switch(n, "load.direct") },
		"sync":         func(n *strictyaml.Node) { v.Sync = s.OneOf(n, "load.sync", "fsync", "fdatasync", "dsync") },
		"compressible": func(n *strictyaml.Node) { v.Compress = r.real(n, "load.compressible", 0, 1) },
		"threads":      whole(&v.Threads, "load.threads", mostThreads),
		"rate":         func(n *strictyaml.Node) { v.Rate = r.real(n, "load.rate", 0, 1e7) },
	}, "kind")
}

// scripts are those of sysbench that package load/oltp knows. Bulk insert is
// left out: its tables are empty at first, so no two seconds are alike.
func scripts() []string {
	return []string{"oltp_read_write", "oltp_read_only", "oltp_write_only", "oltp_point_select", "oltp_update_index",
		"oltp_update_non_index", "oltp_insert", "oltp_delete", "select_random_points", "select_random_ranges"}
}

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

func (r *reader) beside(n *strictyaml.Node, v *Beside) {
	r.doc.Object(n, "beside", strictyaml.Fields{
		"kind": func(n *strictyaml.Node) { v.Kind = r.doc.OneOf(n, "beside.kind", "copy") },
		"size": func(n *strictyaml.Node) { v.Size = r.size(n, "beside.size", 1<<20) },
		"every": func(n *strictyaml.Node) {
			if v.Every = r.line(n, "beside.every"); v.Every != "" {
				r.duration(n, "beside.every", time.Second, longestRun)
			}
		},
	}, "kind", "size")
}
