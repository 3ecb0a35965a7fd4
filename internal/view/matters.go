package view

import (
	"fmt"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// matter is one fact worth a word in the picture of a stack. form is the word
// with %s for the value. For truth values it is "when true|when false", and
// an empty side says nothing.
type matter struct {
	fact string
	form string
}

// matters lists, kind by kind and in order, what a person wants to see at
// each level. A fact that is not known is simply not shown here: the check
// lists what could not be seen.
func matters(kind string) []matter {
	switch kind {
	case "mysql":
		return []matter{
			{"innodb_buffer_pool_size", "buffer pool %s"}, {"innodb_page_size", "%s pages"},
			{"innodb_redo_log_capacity", "redo %s"}, {"innodb_log_file_size", "redo files of %s"},
			{"innodb_flush_log_at_trx_commit", "flush_log_at_trx_commit %s"}, {"sync_binlog", "sync_binlog %s"},
			{"innodb_doublewrite", "doublewrite %s"}, {"innodb_flush_method", "%s"},
			{"innodb_use_native_aio", "native AIO|no native AIO"},
		}
	case "postgres":
		return []matter{
			{"shared_buffers", "shared buffers %s"}, {"block_size", "blocks of %s"}, {"max_wal_size", "max WAL %s"},
			{"synchronous_commit", "synchronous_commit %s"}, {"fsync", "|fsync OFF"},
			{"full_page_writes", "full page writes|full_page_writes OFF"}, {"data_checksums", "checksums|no checksums"},
			{"wal_recycle", "WAL recycled|WAL not recycled"},
		}
	case "mongo":
		return []matter{{"wt_cache_size", "WiredTiger cache %s"}}
	case "filesystem":
		return []matter{
			{"fstype", "%s"}, {"mountpoint", "at %s"}, {"size", "%s"}, {"used_percent", "%s used"},
			{"read_only", "READ-ONLY|"}, {"options", "%s"},
		}
	case "dataset":
		return []matter{
			{"recordsize", "%s records"}, {"compression", "%s"}, {"compressratio", "%sx"},
			{"primarycache", "primarycache %s"}, {"logbias", "logbias %s"}, {"sync", "sync %s"},
			{"atime", "atime|"}, {"snapshots", "%s snapshots"},
		}
	case "pool":
		return []matter{
			{"layout", "%s"}, {"health", "%s"}, {"size", "%s"}, {"capacity", "%s full"},
			{"fragmentation", "%s fragmented"}, {"ashift", "ashift %s"},
		}
	case "block":
		return []matter{
			{"layer", "%s"}, {"size", "%s"}, {"model", "%s"}, {"transport", "%s"}, {"cloud_volume", "%s"},
			{"scheduler", "scheduler %s"}, {"read_ahead", "read-ahead %s"}, {"write_cache", "cache %s"},
		}
	case "host":
		return []matter{
			{"vm_swappiness", "swappiness %s"}, {"thp_enabled", "THP %s"}, {"vm_dirty_ratio", "dirty_ratio %s"},
			{"vm_overcommit_memory", "overcommit %s"},
		}
	}
	return nil
}

// said gives the words for what is known of a thing, joined by middle dots.
func (v facts) said(t *stack.Thing) string {
	var out []string
	for _, m := range matters(t.Ref.Kind) {
		if s := v.word(t, m); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " · ")
}

func (v facts) word(t *stack.Thing, m matter) string {
	val, ok := t.Get(m.fact)
	if !ok {
		return ""
	}
	if b, is := val.Bool(); is {
		yes, no, _ := strings.Cut(m.form, "|")
		if b {
			return yes
		}
		return no
	}
	if l, is := val.List(); is {
		return fmt.Sprintf(m.form, strings.Join(l, ","))
	}
	s := v.show(t.Ref.Kind, m.fact, val)
	if s == "" || s == "none" || s == `""` {
		return ""
	}
	return strings.Replace(m.form, "%s", s, 1)
}

// facts shows values with the units the catalogue gives them.
type facts struct{ cat *catalog.Catalog }

func (v facts) show(kind, name string, val stack.Value) string {
	return catalog.ShowAs(v.typeOf(kind, name), val)
}

func (v facts) typeOf(kind, name string) catalog.Type {
	if v.cat != nil {
		if f := v.cat.Fact(kind, name); f != nil {
			return f.Type
		}
	}
	return ""
}

// name gives a fact as people write it.
func (v facts) name(kind, name string) string {
	if v.cat != nil {
		if f := v.cat.Fact(kind, name); f != nil && f.Shown != "" {
			return f.Shown
		}
	}
	return name
}
