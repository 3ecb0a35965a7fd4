package ceph

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/stack"
)

// Cluster is what a cluster of Ceph tells those who read from it.
type Cluster struct {
	Pools    map[string]Pool
	Flags    []string // that hold back what the cluster does by itself
	Full     float64  // percent of an OSD in use at which nobody may write
	NearFull int      // OSDs over the first of the limits
	Hosts    []float64
	Used     float64 // percent of all OSDs; -1 when no manager has counted
	Scrubs   string  // between which hours, "0-0" at any; "" when that was not told
}

// Pool is how many copies a pool keeps.
type Pool struct {
	Size, MinSize int64
	Erasure       bool // pieces in place of copies
}

// flags are those that somebody sets for a repair and may forget; the others stay for good.
var flags = []string{"pauserd", "pausewr", "noup", "nodown", "noin", "noout", "nobackfill", "norecover", "norebalance", "noscrub", "nodeep-scrub"}

// hours joins the two ends of the time in which scrubs may begin; "" where one was not told.
func hours(begin, end []byte) string {
	var all []string
	for _, text := range [][]byte{begin, end} {
		hour := strings.Trim(strings.TrimSpace(string(text)), `"`)
		if hour == "" || strings.Trim(hour, "0123456789") != "" {
			return ""
		}
		all = append(all, hour)
	}
	return strings.Join(all, "-")
}

// parse reads `ceph osd dump`, `ceph osd tree` and `ceph df`, each with --format json.
func parse(dump, tree, df []byte) (*Cluster, error) {
	var d struct {
		Pools []struct {
			Name string `json:"pool_name"`
			Type int    `json:"type"`
			Size int64  `json:"size"`
			Min  int64  `json:"min_size"`
		} `json:"pools"`
		Flags []string `json:"flags_set"`
		Full  float64  `json:"full_ratio"`
		OSDs  []struct {
			State []string `json:"state"`
		} `json:"osds"`
	}
	var t struct {
		Nodes []node `json:"nodes"`
	}
	var f struct {
		Stats struct {
			Total float64 `json:"total_bytes"`
			Used  float64 `json:"total_used_raw_bytes"`
		} `json:"stats"`
	}
	if err := errors.Join(json.Unmarshal(dump, &d), json.Unmarshal(tree, &t), json.Unmarshal(df, &f)); err != nil {
		return nil, fmt.Errorf("what ceph printed is not understood: %w", err)
	}
	if len(d.Pools) == 0 || d.Full <= 0 || d.Full > 1 {
		return nil, errors.New("ceph osd dump tells no pools, or not when the cluster is full")
	}
	c := Cluster{Pools: map[string]Pool{}, Full: 100 * d.Full, Hosts: weights(t.Nodes), Used: -1}
	const replicated, erasure = 1, 3
	for _, p := range d.Pools {
		if (p.Type == replicated || p.Type == erasure) && p.Size > 0 && p.Min > 0 {
			c.Pools[p.Name] = Pool{Size: p.Size, MinSize: p.Min, Erasure: p.Type == erasure}
		}
	}
	for _, flag := range d.Flags {
		if slices.Contains(flags, flag) {
			c.Flags = append(c.Flags, flag)
		}
	}
	for _, o := range d.OSDs {
		if slices.ContainsFunc(o.State, func(s string) bool { return s == "nearfull" || s == "backfillfull" || s == "full" }) {
			c.NearFull++
		}
	}
	if f.Stats.Total > 0 && f.Stats.Used >= 0 && f.Stats.Used <= f.Stats.Total {
		c.Used = 100 * f.Stats.Used / f.Stats.Total
	}
	return &c, nil
}

// node is a node of the tree by which a cluster spreads its data.
type node struct {
	ID       int64   `json:"id"`
	Type     string  `json:"type"`
	Children []int64 `json:"children"`
	Weight   float64 `json:"crush_weight"` // TiB, of an OSD
}

// weights adds up what each host carries.
func weights(nodes []node) (hosts []float64) {
	of := map[int64]float64{}
	for _, n := range nodes {
		if n.Type == "osd" {
			of[n.ID] = n.Weight
		}
	}
	for _, n := range nodes {
		sum := 0.0
		for _, child := range n.Children {
			sum += of[child]
		}
		if n.Type == "host" && sum > 0 {
			hosts = append(hosts, sum)
		}
	}
	return hosts
}

// withoutHost is how full the others are when what the largest host holds lies on them, in
// percent; false when nobody knows, or there is no other.
func (c Cluster) withoutHost() (float64, bool) {
	sum := 0.0
	for _, w := range c.Hosts {
		sum += w
	}
	if len(c.Hosts) < 2 || c.Used < 0 {
		return 0, false
	}
	return c.Used * sum / (sum - slices.Max(c.Hosts)), true
}

// tell records of a mapped image what its cluster told.
func (c *Cluster) tell(t *stack.Thing, obs *stack.Observation) {
	const from = "ceph osd dump"
	pool := t.Text("ceph_pool")
	switch p, told := c.Pools[pool]; {
	case !told:
		obs.Gap(t.Ref, "the cluster that ceph is configured for has no pool "+pool+": the image is from another cluster", "", "ceph_*")
		return
	case p.Erasure:
		t.Absent(from, "ceph_copies", "ceph_min_copies")
	default:
		t.Set("ceph_copies", stack.Int(p.Size), from)
		t.Set("ceph_min_copies", stack.Int(p.MinSize), from)
	}
	t.Set("ceph_flags", stack.List(c.Flags), from)
	t.Set("ceph_nearfull_osds", stack.Int(int64(c.NearFull)), from)
	t.Set("ceph_full_at", stack.Float(c.Full), from)
	t.Set("ceph_hosts", stack.Int(int64(len(c.Hosts))), "ceph osd tree")
	c.room(t, obs)
	if c.Scrubs == "" {
		obs.Gap(t.Ref, "when Ceph scrubs is not known", "give the key the right to read the configuration: ceph config get osd osd_scrub_begin_hour", "ceph_scrub_hours")
		return
	}
	t.Set("ceph_scrub_hours", stack.Text(c.Scrubs), "ceph config get osd")
}

// room records how full the cluster is.
func (c *Cluster) room(t *stack.Thing, obs *stack.Observation) {
	const from = "ceph df"
	if c.Used < 0 {
		obs.Gap(t.Ref, "ceph df counts nothing: the cluster has no manager that runs", "", "ceph_used", "ceph_used_without_host")
		return
	}
	t.Set("ceph_used", stack.Float(c.Used), from)
	if left, ok := c.withoutHost(); ok {
		t.Set("ceph_used_without_host", stack.Float(left), from)
	} else {
		t.Absent(from, "ceph_used_without_host")
	}
}
