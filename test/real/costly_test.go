package real

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"plumb/internal/product"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// TestStorageThatCosts finds what somebody did to the storage below a server:
// rules that bind the storage and not the server.
func TestStorageThatCosts(t *testing.T) {
	sandbox.NeedTime(t, "takes half a minute of servers: make test-real runs it")
	for _, c := range []struct {
		name, rule string
		start      func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server
	}{
		{"two_copies_of_each_block", "cross/zfs-copies", func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			return mysqlOn(t, b, dataset(t, b, nil, "recordsize=16K", "copies="+choose(sick, "2", "1")), bufferedOnZFS)
		}},
		{"gzip_9", "cross/zfs-gzip-heavy", func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			return mysqlOn(t, b, dataset(t, b, nil, "recordsize=16K", "compression="+choose(sick, "gzip-9", "gzip-1")), bufferedOnZFS)
		}},
		{"bfq", "block/scheduler-bfq", func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			dir := volume(t, b, "ext4")
			queue(t, dir, "scheduler", choose(sick, "bfq", "none"))
			return mysqlOn(t, b, dir, "")
		}},
		{"read_ahead_below_buffered_innodb", "cross/storage-readahead-mysql", func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			dir := volume(t, b, "ext4")
			queue(t, dir, "read_ahead_kb", choose(sick, "4096", "128"))
			return mysqlOn(t, b, dir, "innodb_flush_method=fsync\n")
		}},
		{"read_ahead_below_postgres", "cross/storage-readahead-postgres", func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			dir := volume(t, b, "ext4")
			queue(t, dir, "read_ahead_kb", choose(sick, "4096", "128"))
			return postgresOn(t, b, dir, "")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			for sick, name := range map[bool]string{true: "sick", false: "healthy"} {
				t.Run(name, func(t *testing.T) {
					b := box(t)
					server := c.start(t, b, sick)
					seen := look(t)
					own := refOf(t, seen, server)
					found := slices.DeleteFunc(verdicts(seen, c.rule, stack.Ref{}), func(v rule.Evaluation) bool { // of servers of others
						return slices.ContainsFunc(v.Things, func(r stack.Ref) bool { return product.IsServer(r.Kind) && r != own })
					})
					if len(found) == 0 {
						t.Fatalf("%s was not judged", c.rule)
					}
					fires := slices.ContainsFunc(found, func(v rule.Evaluation) bool { return v.Outcome == rule.Fires })
					if fires != sick {
						t.Errorf("%s fires: %v, want %v: %+v", c.rule, fires, sick, found)
					}
				})
			}
		})
	}
}

// queue sets an attribute of the loop device below a directory of the box. The
// device goes with the box, and the setting with it.
func queue(t *testing.T, dir, attribute, value string) {
	t.Helper()
	var st syscall.Stat_t
	check(t, syscall.Stat(filepath.Dir(dir), &st))
	device := fmt.Sprintf("/sys/dev/block/%d:%d", unix.Major(st.Dev), unix.Minor(st.Dev))
	if _, err := os.Stat(device + "/loop"); err != nil {
		t.Fatalf("%s lies on no loop device of the box: %v", dir, err)
	}
	err := os.WriteFile(device+"/queue/"+attribute, []byte(value), 0)
	if errors.Is(err, syscall.EINVAL) {
		t.Skipf("this kernel takes no %s %s", attribute, value)
	}
	check(t, err)
}
