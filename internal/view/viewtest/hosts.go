package viewtest

import (
	"time"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// Units is a catalogue with just the types that the pictures need.
func Units() *catalog.Catalog {
	kind := func(name string, types map[string]catalog.Type) *catalog.Kind {
		k := &catalog.Kind{Name: name, Facts: map[string]*catalog.Fact{}}
		for f, t := range types {
			k.Facts[f] = &catalog.Fact{Kind: name, Name: f, Type: t}
		}
		return k
	}
	return &catalog.Catalog{Kinds: map[string]*catalog.Kind{
		"mysql":      kind("mysql", map[string]catalog.Type{"innodb_buffer_pool_size": catalog.Bytes, "innodb_page_size": catalog.Bytes}),
		"dataset":    kind("dataset", map[string]catalog.Type{"recordsize": catalog.Bytes}),
		"filesystem": kind("filesystem", map[string]catalog.Type{"size": catalog.Bytes, "used_percent": catalog.Percent}),
		"pool":       kind("pool", map[string]catalog.Type{"size": catalog.Bytes, "capacity": catalog.Percent}),
		"block":      kind("block", map[string]catalog.Type{"size": catalog.Bytes, "read_ahead": catalog.Bytes}),
	}}
}

// ZfsHost is a server with its data and logs on two datasets of one mirror.
func ZfsHost() *stack.Stack {
	var see stack.Observation
	h := see.New("host", "db1")
	Set(h, "hostname", "db1", "os", "Debian 13", "kernel", "6.12.48+deb13-amd64", "cpus", 16, "memory_total", 64<<30, "vm_swappiness", 60)
	db := see.New("mysql", "3306")
	Set(db, "flavor", "mariadb", "version", "11.8.6", "uptime", 41*86400, "logged_in", true,
		"innodb_buffer_pool_size", 40<<30, "innodb_page_size", 16384, "sync_binlog", 0, "innodb_doublewrite", "ON")
	data, dlog := see.New("filesystem", "0:51"), see.New("filesystem", "0:52")
	Set(data, "fstype", "zfs", "mountpoint", "/var/lib/mysql", "source", "tank/db/data")
	Set(dlog, "fstype", "zfs", "mountpoint", "/var/lib/mysql-log", "source", "tank/db/log")
	for i, name := range []string{"tank/db/data", "tank/db/log"} {
		ds := see.New("dataset", name)
		Set(ds, "recordsize", 131072, "compression", "lz4", "compressratio", 2.3)
		ds.Link("pool", stack.Ref{Kind: "pool", Name: "tank"})
		[]*stack.Thing{data, dlog}[i].Link("dataset", ds.Ref)
	}
	pool := see.New("pool", "tank")
	Set(pool, "layout", "mirror", "health", "ONLINE", "size", 1800<<30, "capacity", 62.0)
	for _, n := range []string{"nvme0n1", "nvme1n1"} {
		b := see.New("block", n)
		Set(b, "layer", "disk", "size", 1788<<30, "model", "SAMSUNG MZQL21T9HCJR", "transport", "nvme", "scheduler", "none")
		pool.Link("disks", b.Ref)
	}
	spare := see.New("block", "sda")
	Set(spare, "layer", "disk", "size", 240<<30, "transport", "ata")
	see.Roles = []stack.Role{
		role(db, "data", "/var/lib/mysql", data), role(db, "undo", "/var/lib/mysql", data),
		role(db, "redo", "/var/lib/mysql-log", dlog), role(db, "binlog", "/var/lib/mysql-log/binlog", dlog),
		role(db, "temporary", "/mnt/gone", nil),
	}
	see.Gap(db.Ref, "stat /mnt/gone: no such file or directory", "", "temporary")
	see.Gap(stack.Ref{Kind: "zfs", Name: "module"}, "read /sys/module/zfs/parameters/zfs_arc_max: permission denied", "run as root", "zfs_arc_max")
	return stackOf(see)
}

// LvmHost is PostgreSQL on ext4 over LVM over an md mirror.
func LvmHost() *stack.Stack {
	var see stack.Observation
	h := see.New("host", "pg1")
	Set(h, "hostname", "pg1", "os", "Ubuntu 24.04", "kernel", "6.8.0-45-generic", "cpus", 8, "memory_total", 32<<30, "cloud", "aws")
	db := see.New("postgres", "5432")
	Set(db, "flavor", "postgres", "version", "17.2", "uptime", 3*3600, "logged_in", true, "fsync", false, "full_page_writes", true)
	fs := see.New("filesystem", "253:0")
	Set(fs, "fstype", "ext4", "mountpoint", "/var/lib/postgresql", "source", "/dev/mapper/vg-pg", "size", 500<<30, "used_percent", 40.0)
	fs.Facts["options"] = stack.Fact{Value: stack.List([]string{"rw", "relatime", "data=ordered"})}
	lv := see.New("block", "dm-0")
	Set(lv, "layer", "lvm", "size", 500<<30)
	md := see.New("block", "md0")
	Set(md, "layer", "md", "size", 800<<30)
	fs.Link("block", lv.Ref)
	lv.Link("on", md.Ref)
	for _, n := range []string{"sda", "sdb"} {
		b := see.New("block", n)
		Set(b, "layer", "disk", "size", 800<<30, "scheduler", "mq-deadline", "read_ahead", 131072)
		md.Link("on", b.Ref)
	}
	see.Roles = []stack.Role{role(db, "data", "/var/lib/postgresql/17/main", fs), role(db, "wal", "/var/lib/postgresql/17/main/pg_wal", fs)}
	return stackOf(see)
}

func stackOf(see stack.Observation) *stack.Stack {
	s := &stack.Stack{TakenAt: time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Root: true}
	s.Add("test", see)
	return s
}

func role(db *stack.Thing, name, path string, fs *stack.Thing) stack.Role {
	r := stack.Role{DB: db.Ref, Name: name, Path: path}
	if fs != nil {
		r.Placement = stack.Placement{Resolved: path, Filesystem: fs.Ref}
	}
	return r
}

// Set gives a thing facts: names and values in turn.
func Set(t *stack.Thing, pairs ...any) {
	for i := 0; i < len(pairs); i += 2 {
		v, err := stack.ValueOf(pairs[i+1])
		if err != nil {
			panic(err)
		}
		t.Set(pairs[i].(string), v, "test")
	}
}
