package inventory

import (
	"errors"
	"strings"
	"testing"
	"time"

	"plumb/internal/inventory"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

var (
	at = time.Date(2026, 11, 21, 9, 31, 0, 0, time.UTC)

	things = []inventory.Thing{
		{Kind: inventory.Process, Name: "4711", Proof: map[string]string{"start": "991", "argv": "/usr/sbin/mariadbd --defaults-file=/var/tmp/lab/run/my.cnf"}},
		{Kind: inventory.Mount, Name: "/var/tmp/lab/v1", Proof: map[string]string{"source": "/dev/loop3"}},
		{Kind: inventory.Loop, Name: "/dev/loop3", Proof: map[string]string{"file": "/var/tmp/lab/v1.img"}},
		{Kind: inventory.Sysctl, Name: "vm.dirty_ratio", Proof: map[string]string{"before": "20", "value": "5"}},
	}
	lives = []inventory.Entry{
		{Thing: inventory.Thing{Kind: inventory.Dataset, Name: "tank/before", Proof: map[string]string{"guid": "1234"}, Life: &inventory.Life{Owner: "inventory adopt", Purpose: "the data of before the upgrade", Since: at}}, Whole: true},
		{Thing: inventory.Thing{Kind: inventory.File, Name: "/srv/copy", Life: &inventory.Life{Since: at}}, Whole: true},
	}
	dead    = inventory.Left{Run: "20261121-a1", Book: "/var/lib/plumb/lab/20261121-a1.book", Things: things}
	running = inventory.Left{Run: "20261121-b2", Book: "/var/lib/plumb/lab/20261121-b2.book", Live: true, Things: things[:1]}
	adopted = inventory.Left{Run: "adopted-1", Book: "/var/lib/plumb/lab/adopted-1.book", Living: lives}
)

const books = "/var/lib/plumb/lab"

var errUnread = errors.New("read a.book: damaged\nread b.book: damaged")

func TestLabLeft(t *testing.T) {
	left := []inventory.Left{dead, running, adopted}
	swept := []inventory.Swept{{Thing: things[0]}, {Thing: things[1]}, {Thing: things[2], Err: inventory.ErrForeign}, {Thing: things[3], Err: errors.New("write /proc/sys/vm/dirty_ratio: permission denied")}}
	s := page.Screen{Width: 80}
	viewtest.Golden(t, "lab-left.txt", Dead(books, left, nil, s)+"---\n"+Swept(swept, s)+"---\n"+Dead(books, left[2:], nil, s)+"---\n"+Dead(books, nil, errUnread, s))
}

func TestInventoryPages(t *testing.T) {
	s := page.Screen{Width: 80}
	var all []string
	for _, left := range [][]inventory.Left{{dead, running, adopted}, {adopted}, {running}, nil} {
		all = append(all, Text(books, left, nil, s))
	}
	all = append(all, Text(books, nil, errUnread, s))
	all = append(all, Removal(lives[0].Thing, "run zfs destroy tank/before", s), Removal(things[2], "", s), Forgetting(lives[0].Thing, s))
	viewtest.Golden(t, "inventory.txt", strings.Join(all, "---\n"))
}

// A name is one line and drives nothing, whoever chose it.
func TestNamesStayNames(t *testing.T) {
	odd := inventory.Thing{Kind: "file\n", Name: "/srv/x\nremoved all\x1b[2J", Life: &inventory.Life{Owner: "y\nz", Purpose: "p\n\x1b", Since: at}}
	left := []inventory.Left{{Run: "r", Living: []inventory.Entry{{Thing: odd, Whole: true}}, Things: []inventory.Thing{odd}}}
	wide := page.Screen{Width: 120}
	for line := range strings.Lines(Text(books, left, nil, wide) + Removal(odd, "remove it\nz", wide) + Forgetting(odd, wide)) {
		if line = strings.TrimSpace(line); strings.Contains(line, "\x1b") || strings.HasPrefix(line, "removed") || line == "z" || line == "file" || strings.HasPrefix(line, "z:") {
			t.Errorf("%q", line)
		}
	}
}

func TestDocumentFitsItsSchema(t *testing.T) {
	compiled := schema.Of("inventory")
	for _, left := range [][]inventory.Left{{dead, running, adopted}, nil} {
		b, err := page.JSON(Document(books, left, errUnread))
		if err != nil {
			t.Fatal(err)
		}
		viewtest.Validate(t, compiled, b)
		if left != nil {
			viewtest.Golden(t, "inventory.json", string(b))
		}
	}
}
