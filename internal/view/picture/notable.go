package picture

import (
	"cmp"
	"fmt"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// notableFact is one fact worth a word in the picture of a stack. form is the word
// with %s for the value. For truth values it is "when true|when false", and
// an empty side says nothing.
type notableFact struct {
	fact string
	form string
}

// notableFacts lists, kind by kind and in order, what a person wants to see at
// each level. A fact that is not known is simply not shown here: the check
// lists what could not be seen.
func notableFacts(kind string) []notableFact {
	switch kind {
	case product.MySQL:
		return []notableFact{
			{"innodb_page_size", "%s pages"}, {"innodb_flush_method", "flush method %s"}, {"innodb_doublewrite", "doublewrite %s"},
			{"innodb_buffer_pool_size", "buffer pool %s"}, {"innodb_redo_log_capacity", "redo %s"}, {"innodb_log_file_size", "redo files of %s"},
			{"innodb_flush_log_at_trx_commit", "flush_log_at_trx_commit %s"}, {"sync_binlog", "sync_binlog %s"},
			{"innodb_use_native_aio", "native AIO|no native AIO"},
		}
	case product.Postgres:
		return []notableFact{
			{"block_size", "%s pages"}, {"data_checksums", "checksums|no checksums"}, {"fsync", "|fsync OFF"},
			{"full_page_writes", "full page writes|full_page_writes OFF"}, {"shared_buffers", "shared buffers %s"},
			{"max_wal_size", "max_wal_size %s"}, {"synchronous_commit", "synchronous_commit %s"},
			{"wal_recycle", "WAL recycled|WAL not recycled"},
		}
	case product.Mongo:
		return []notableFact{{"cache_size", "WiredTiger cache %s"}, {"replica_set_state", "%s"}, {"replica_set", "of the set %s"}}
	case "filesystem":
		return []notableFact{
			{"fstype", "%s"}, {"mountpoint", "at %s"}, {"size", "%s"}, {"used_percent", "%s used"}, {"made_block_size", "%s blocks"},
			{"journal", "|no journal"}, {"read_only", "READ-ONLY|"}, {"data_profile", "data %s"}, {"compression", "%s"},
		}
	case "dataset":
		return []notableFact{
			{"recordsize", "%s records"}, {"volblocksize", "%s blocks"}, {"compression", "compression %s"}, {"compressratio", "ratio %s"},
			{"atime", "atime %s"}, {"sync", "sync %s"}, {"logbias", "logbias %s"}, {"primarycache", "primarycache %s"},
			{"redundant_metadata", "redundant_metadata %s"}, {"snapshots", "snapshots %s"},
		}
	case "pool":
		return []notableFact{
			{"layout", "%s"}, {"health", "%s"}, {"size", "%s"}, {"capacity", "%s full"},
			{"fragmentation", "%s fragmented"}, {"ashift", "ashift %s"},
		}
	case "block":
		return []notableFact{
			{"size", "%s"}, {"model", "%s"}, {"md_degraded", "%s missing"}, {"scheduler", "scheduler %s"},
			{"read_ahead_kb", "read-ahead %sK"}, {"write_cache", "cache %s"},
		}
	case "host":
		return []notableFact{
			{"vm_swappiness", "swappiness %s"}, {"thp_enabled", "huge pages %s"}, {"vm_dirty_ratio", "dirty_ratio %s"},
			{"vm_dirty_bytes", "dirty_bytes %s"}, {"vm_overcommit_memory", "overcommit %s"}, {"vm_nr_hugepages", "%s huge pages reserved"},
		}
	}
	return nil
}

// unremarkable are values that say nothing in the picture: they are what nearly
// every host has, or nothing at all.
func unremarkable(fact, shown string) bool {
	switch fact {
	case "sync":
		return shown == "standard"
	case "logbias":
		return shown == "latency"
	case "primarycache", "redundant_metadata":
		return shown == "all"
	case "snapshots", "md_degraded", "vm_dirty_bytes", "vm_nr_hugepages", "fragmentation":
		return strings.HasPrefix(shown, "0")
	case "compressratio":
		return shown == "1"
	case "scheduler":
		return false // none is a scheduler's name
	}
	return shown == "" || shown == "none" || shown == `""`
}

// Said gives the words for what is known of a thing, joined by middle dots.
func (v Facts) Said(t *stack.Thing) string {
	var out []string
	for _, m := range notableFacts(t.Ref.Kind) {
		if s := v.word(t, m); s != "" {
			out = append(out, s)
		}
	}
	return strings.Join(out, " · ")
}

// Words is said with, before it, what kind of thing it is.
func (v Facts) Words(t *stack.Thing) string {
	said := v.Said(t)
	switch t.Ref.Kind {
	case "pool":
		said = "pool · " + said
	case "filesystem":
		said += mountWords(t)
	case "block":
		said = blockWords(t) + " · " + said
		if virtual, _ := t.Bool("virtual_disk"); virtual {
			if _, known := t.Bool("solid_state"); !known {
				said += " · does not say what it is made of"
			}
		}
	}
	return strings.Trim(said, " ·")
}

// blockWords says what a block device is: the disk's character, or the kind
// of volume.
func blockWords(b *stack.Thing) string {
	switch layer := b.Text("layer"); layer {
	case "disk":
		return cmp.Or(diskKind(b), "disk")
	case "loop":
		text := "loop device"
		if f := b.Text("loop_file"); f != "" {
			text += " on " + f
		}
		if direct, known := b.Bool("loop_dio"); known && !direct {
			text += " · through the page cache"
		}
		return text
	default:
		return layerWord(b)
	}
}

// mountWords picks from the mount options those that matter to a database.
func mountWords(fs *stack.Thing) string {
	val, _ := fs.Get("options")
	list, _ := val.List()
	var out []string
	for _, o := range list {
		name, _, _ := strings.Cut(o, "=")
		switch name {
		case "noatime", "relatime", "strictatime", "discard", "sync", "data", "barrier", "nobarrier", "commit", "dax", "nodelalloc",
			"journal_async_commit", "journal_checksum", "compress", "compress-force", "nodatacow", "nodatasum", "autodefrag", "logbsize",
			"allocsize", "size":
			out = append(out, o)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return " · " + strings.Join(out, ",")
}

// Memory writes a memory budget in a line.
func (v Facts) Memory(m *stack.Thing) string {
	size := func(fact string) (string, bool) {
		val, ok := m.Get(fact)
		return v.Show("memory", fact, val), ok
	}
	var parts []string
	if s, ok := size("limit"); ok {
		parts = append(parts, "memory "+s)
	}
	low, ok := size("expected_low")
	high, _ := size("expected_high")
	if n, _ := m.Int("known"); ok {
		parts = append(parts, "expected "+low+" to "+high)
	} else if n > 0 {
		parts = append(parts, "expected at least "+units.Bytes(n))
	}
	if s, ok := size("worst_high"); ok {
		parts = append(parts, "worst case "+s)
	}
	if s, ok := size("measured"); ok {
		parts = append(parts, "measured "+s)
	}
	return strings.Join(parts, " · ")
}

func (v Facts) word(t *stack.Thing, m notableFact) string {
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
	s := v.Show(t.Ref.Kind, m.fact, val)
	if unremarkable(m.fact, s) {
		return ""
	}
	return strings.Replace(m.form, "%s", s, 1)
}

// Facts shows values with the units the catalogue gives them; without a catalogue, as they are.
type Facts struct{ Cat *catalog.Catalog }

// Show writes a value in the unit of its fact.
func (v Facts) Show(kind, name string, val stack.Value) string {
	if v.Cat == nil {
		return catalog.Show(nil, val)
	}
	return catalog.Show(v.Cat.Fact(kind, name), val)
}

// TypeOf gives the type of a fact; text where the catalogue does not know it.
func (v Facts) TypeOf(kind, name string) catalog.Type {
	if v.Cat != nil {
		if f := v.Cat.Fact(kind, name); f != nil {
			return f.Type
		}
	}
	return ""
}

// Name gives a fact as people write it.
func (v Facts) Name(kind, name string) string {
	if v.Cat != nil {
		if f := v.Cat.Fact(kind, name); f != nil && f.Shown != "" {
			return f.Shown
		}
	}
	return name
}

// EffectText says when a change takes effect.
func EffectText(e catalog.Effect) string {
	switch e {
	case catalog.Now:
		return "takes effect now"
	case catalog.Reload:
		return "takes effect at a reload"
	case catalog.NewWrites:
		return "for new writes only"
	case catalog.Remount:
		return "needs a remount"
	case catalog.Restart:
		return "needs a restart"
	case catalog.Recreate:
		return "only when it is created again"
	}
	return ""
}
