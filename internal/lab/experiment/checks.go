package experiment

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"plumb/internal/product"
	"plumb/internal/strictyaml"
)

var (
	versionText = regexp.MustCompile(`^[0-9]+(\.[0-9]+){0,3}$`)
	sysctlName  = regexp.MustCompile(`^(vm|fs|kernel|net)\.[A-Za-z0-9_./-]+$`)
	datasetName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:-]*(/[A-Za-z0-9_:-][A-Za-z0-9_.:-]*)*$`) // of a filesystem, not of a snapshot
)

// checker looks whether the parts of one arm's set-up fit together.
type checker struct {
	r     *reader
	arm   string
	tree  *strictyaml.Node
	setup Setup
}

// errorf notes a mistake where a path of the set-up is written. Several arms
// may make the same mistake by what they share: the first of them is named.
func (c *checker) errorf(path, format string, args ...any) {
	at := find(c.tree, path)
	e := strictyaml.Error{Line: max(at.Line, 1), Col: max(at.Column, 1), Msg: fmt.Sprintf(format, args...)}
	if c.r.said[e] {
		return
	}
	c.r.said[e] = true
	if len(c.r.x.Arms) > 1 {
		e.Msg += fmt.Sprintf(" (in the arm %q)", c.arm)
	}
	c.r.doc.At(e.Line, e.Col, "%s", e.Msg)
}

func (c *checker) check() {
	c.checkVolume()
	c.checkLoad()
	if c.setup.Server != nil {
		c.checkServer()
	}
	if b := c.setup.Beside; b != nil && b.Every != "" {
		c.r.duration(find(c.tree, "beside.every"), "beside.every", time.Second, longestRun)
	}
	for name := range sorted(c.setup.Host) {
		if !sysctlName.MatchString(name) {
			c.errorf("host."+name, "%s is not a sysctl of the machine: write vm.dirty_bytes", name)
		}
	}
}

// knows refuses what a kind has no meaning for. Empty values do no harm: an
// arm may empty what its base has.
func (c *checker) knows(part, what, kind string, of any) {
	n := find(c.tree, part)
	if n.Kind != yaml.MappingNode {
		return
	}
	fields := fieldsOf(of)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		kinds, some := fields[key.Value].Tag.Lookup("for")
		if !some || slices.Contains(strings.Fields(kinds), kind) || len(value.Content) == 0 && slices.Contains([]string{"", "0", "false"}, value.Value) {
			continue
		}
		c.errorf(part+"."+key.Value, "%s.%s has no meaning for %s", part, key.Value, what)
	}
}

func (c *checker) checkVolume() {
	v := c.setup.Volume
	what := map[string]string{Directory: "a directory", Loop: "a loop device", Zpool: "a zpool", Dataset: "a dataset"}[v.Kind]
	c.knows("volume", what, v.Kind, &v)
	switch {
	case v.Kind == Loop && v.Filesystem == "":
		c.errorf("volume.filesystem", "a loop device needs volume.filesystem: one of %s", strings.Join(Filesystems(), ", "))
	case v.Kind == Zpool:
		c.checkVdevs()
	case v.Kind == Dataset:
		c.checkDataset()
	}
	if (v.Kind == Loop || v.Kind == Zpool) && v.Size == 0 {
		c.errorf("volume.size", "a volume of kind %s needs volume.size", v.Kind)
	}
	if len(v.Logs) > 0 && c.setup.Server == nil {
		c.errorf("volume.log_properties", "volume.log_properties is for the log of a server, and there is none")
	}
	c.checkClone()
	if _, err := ParseProfile(v.Profile); v.Profile != "" && err != nil {
		c.errorf("volume.profile", "%v", err)
	}
}

func (c *checker) checkVdevs() {
	v := c.setup.Volume
	least := map[string]int{"": 1, "stripe": 2, "mirror": 2, "raidz": 3}[v.Layout]
	switch {
	case v.Layout == "" && v.Vdevs > 1:
		c.errorf("volume.vdevs", "%d vdevs need a volume.layout: stripe, mirror or raidz", v.Vdevs)
	case v.Vdevs != 0 && v.Vdevs < least:
		c.errorf("volume.vdevs", "a %s needs at least %d vdevs", v.Layout, least)
	}
}

func (c *checker) checkDataset() {
	if c.setup.Volume.Profile != "" {
		c.errorf("volume.profile", "a dataset is on devices that others use, so it cannot be limited: volume.kind loop or zpool can")
	}
	switch parent := c.setup.Volume.Parent; {
	case parent == "":
		c.errorf("volume.parent", "a dataset needs volume.parent: the pool or dataset that it is made below")
	case len(parent) > longest || !datasetName.MatchString(parent):
		c.errorf("volume.parent", "volume.parent is the name of a dataset such as tank/db, not %q", parent)
	}
}

func (c *checker) checkClone() {
	v := c.setup.Volume
	on := v.Kind
	if v.Kind == Loop {
		on = v.Filesystem
	}
	switch {
	case v.Clone == "snapshot" && on != Zpool && on != Dataset && on != "btrfs":
		c.errorf("volume.clone", "%s has no snapshots: copy, or auto, which takes the fastest there is", on)
	case v.Clone == "reflink" && (on == Zpool || on == Dataset || on == "ext4"):
		c.errorf("volume.clone", "%s has no reflinks: auto takes the fastest there is", on)
	}
}

func (c *checker) checkServer() {
	s := c.setup.Server
	if s.Version != "" && !versionText.MatchString(s.Version) {
		c.errorf("server.version", "server.version is a number such as 17, 10.11 or 8.0.36, not %q", s.Version)
	}
	if s.Basedir != "" && !strings.HasPrefix(s.Basedir, "/") {
		c.errorf("server.basedir", "server.basedir is an absolute path, not %q", s.Basedir)
	}
	for name := range sorted(s.Settings) {
		path := "server.settings." + name
		if decided(name) {
			c.errorf(path, "%s is set by the lab: the server is a private one", name)
		}
		if atCreation(name) {
			c.errorf(path, "%s is used when the data is created: put it under server.create", name)
		}
		if _, both := s.Create[name]; both {
			c.errorf(path, "%s is already under server.create", name)
		}
	}
	for name := range sorted(s.Create) {
		if decided(name) {
			c.errorf("server.create."+name, "%s is set by the lab: the server is a private one", name)
		}
	}
	if s.UsedLogs && !product.Of(KindOf(s.Engine)).SparseLogs {
		c.errorf("server.used_logs", "server.used_logs is for InnoDB's redo log: PostgreSQL fills its WAL with zeros when it creates it")
	}
	c.twice("server.settings", s.Settings)
	c.twice("server.create", s.Create)
	if arc := c.setup.Volume.ARC; arc > 0 && s.Memory > 0 && arc >= s.Memory {
		c.errorf("volume.arc", "volume.arc is %s: it is a part of server.memory, which is %s", arc, s.Memory)
	}
}

// twice finds one setting written in two ways, as in sync-binlog in the base
// and sync_binlog in an arm: which of them counted would be chance.
func (c *checker) twice(part string, settings map[string]string) {
	seen := map[string]string{}
	for name := range sorted(settings) {
		plain := plainSetting(name)
		if first := seen[plain]; first != "" {
			c.errorf(part+"."+first, "%s and %s are one setting", first, name)
			continue
		}
		seen[plain] = name
	}
}

func plainSetting(name string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "loose_"), "-", "_"))
}

// decided tells which settings belong to the lab: where a private server has
// its files, and how it is reached.
func decided(name string) bool {
	return slices.Contains([]string{"datadir", "socket", "port", "pid_file", "log_error", "basedir", "bind_address", "user", "skip_networking",
		"data_directory", "hba_file", "ident_file", "config_file", "external_pid_file", "listen_addresses", "unix_socket_directories"}, plainSetting(name))
}

// atCreation tells which settings are fixed once the data directory is made.
func atCreation(name string) bool {
	return slices.Contains([]string{"innodb_page_size", "innodb_data_file_path", "lower_case_table_names", "data_checksums", "wal_segment_size",
		"block_size", "wal_block_size"}, plainSetting(name))
}

func (c *checker) checkLoad() {
	l := c.setup.Load
	what := map[string]string{OLTP: "an oltp load", TPCC: "a tpcc load", FileIO: "a fileio load", Fsync: "an fsync load"}[l.Kind]
	c.knows("load", what, l.Kind, &l)
	files := l.Kind == FileIO || l.Kind == Fsync
	switch {
	case files && c.setup.Server != nil:
		c.errorf("server", "%s needs no server: leave it out", what)
	case !files && c.setup.Server == nil:
		c.errorf("load.kind", "%s needs a server", what)
	}
	if files && l.Mode != "" && !slices.Contains(modes(l.Kind), l.Mode) {
		c.errorf("load.mode", "load.mode of %s is one of %s, not %q", what, strings.Join(modes(l.Kind), ", "), l.Mode)
	}
	if l.Kind == FileIO && l.Mode == "" {
		c.errorf("load.mode", "%s needs load.mode: one of %s", what, strings.Join(modes(FileIO), ", "))
	}
	if s := c.setup.Server; l.Fillfactor > 0 && s != nil && product.DialectOf(KindOf(s.Engine)).Fillfactor == "" {
		c.errorf("load.fillfactor", "tables of %s have no fillfactor", s.Engine)
	}
	c.checkRequests()
}

func (c *checker) checkRequests() {
	l := c.setup.Load
	switch {
	case l.Block > mostRequest:
		c.errorf("load.block", "load.block is %s: at most %s at once", l.Block, Bytes(mostRequest))
	case l.Direct && l.Block%512 != 0:
		c.errorf("load.block", "load.block is %s: direct requests are multiples of 512 bytes", l.Block)
	}
	if v := c.setup.Volume; v.Kind == Loop && v.Size > 0 && l.Total > v.Size {
		c.errorf("load.total", "load.total is %s, and the volume has %s", l.Total, v.Size)
	}
}
