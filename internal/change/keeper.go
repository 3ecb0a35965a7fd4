package change

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/host"
	"plumb/internal/journal"
)

// Directory is where journals are kept: one file for each change, and the
// lock of the one writer.
const Directory = "/var/lib/plumb"

// Keeper changes a host, and keeps the journal of it.
type Keeper struct {
	Doer  host.Doer
	Dir   string // Directory, but for tests
	Plumb string // version
	Now   func() time.Time
}

// NewKeeper keeps the journal in Directory.
func NewKeeper(d host.Doer, plumb string) *Keeper {
	return &Keeper{Doer: d, Dir: Directory, Plumb: plumb, Now: time.Now}
}

// lock makes this process the one writer.
func (k *Keeper) lock(ctx context.Context) (func(), error) {
	unlock, err := k.Doer.Lock(ctx, path.Join(k.Dir, "lock"))
	if errors.Is(err, host.ErrLocked) {
		return nil, &Refusal{Why: "another Plumb is changing this host", What: "wait until it has ended; plumb history shows what it does"}
	}
	return unlock, err
}

// Changes reads all journals, oldest first.
func (k *Keeper) Changes(ctx context.Context) ([]*Change, error) {
	files, err := k.Doer.Glob(ctx, path.Join(k.Dir, "change-*.journal"))
	if err != nil {
		return nil, err
	}
	var all []*Change
	for _, file := range files {
		number, err := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(path.Base(file), "change-"), ".journal"))
		if err != nil {
			continue
		}
		c, err := k.read(ctx, number, file)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b *Change) int { return a.Number - b.Number })
	return all, nil
}

func (k *Keeper) read(ctx context.Context, number int, file string) (*Change, error) {
	text, err := k.Doer.Raw(ctx, file)
	if err != nil {
		return nil, err
	}
	c, err := replay(number, file, text)
	if err != nil {
		return nil, &Refusal{Why: err.Error(), What: "nothing was touched; the file can be read by people: what it says was done can be undone by hand, and then the file moved away"}
	}
	return c, nil
}

// begin opens the journal of a new change.
func (k *Keeper) begin(ctx context.Context, b Begin) (*Change, error) {
	all, err := k.Changes(ctx)
	if err != nil {
		return nil, err
	}
	number := 1
	if len(all) > 0 {
		number = all[len(all)-1].Number + 1
	}
	c := &Change{Number: number, file: path.Join(k.Dir, fmt.Sprintf("change-%06d.journal", number))}
	b.Version, b.Plumb = journal.Version, k.Plumb
	return c, k.note(ctx, c, kindBegin, b)
}

// note writes a record down; when it returns, the record is on disk.
func (k *Keeper) note(ctx context.Context, c *Change, kind string, body any) error {
	text, err := c.log.Append(k.Now(), kind, body)
	if err != nil {
		return err
	}
	if err := k.Doer.Append(ctx, c.file, text); err != nil {
		c.log.Drop()
		return fmt.Errorf("keep the journal: %w", err)
	}
	return c.take(c.log.Records[len(c.log.Records)-1])
}

// Confirm says that a change made with a time limit shall stay.
func (k *Keeper) Confirm(ctx context.Context, number int) (*Change, error) {
	unlock, err := k.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	all, err := k.Changes(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(all) {
		switch {
		case number != 0 && c.Number != number || c.Try.IsZero() || number == 0 && (c.Confirmed || !c.Open()):
		case c.Confirmed:
			return c, &Refusal{Why: fmt.Sprintf("change %d is confirmed already", c.Number)}
		case !c.Open():
			return c, &Refusal{Why: fmt.Sprintf("change %d is undone already", c.Number), What: "plumb fix makes it anew"}
		default:
			return c, k.note(ctx, c, kindConfirmed, struct{}{})
		}
	}
	return nil, &Refusal{Why: "no change waits for a confirmation", What: "plumb history lists them"}
}
