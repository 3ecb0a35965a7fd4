package backup

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect/policy"
	view "plumb/internal/view/backup"
)

// made is a backup that was made.
type made struct {
	backup.Result
	by   backup.Backup
	to   []store.Store  // where it was to go, in the order of the command line
	have []backup.Vault // the places that have it
	keys []string       // files of this machine that open it
}

// kept returns the URLs of the places that have it.
func (m made) kept() (urls []string) {
	for _, v := range m.have {
		urls = append(urls, v.Store.URL())
	}
	return urls
}

// finish writes down that a backup was made, prints it, and returns an error for what is not as it was asked for.
func (v *verbs) finish(ctx context.Context, d *host.LiveDoer, o asked, m made) error {
	noted := o.note(ctx, d, m) // first, as the search for the log may take hours or never end
	behind, err := v.moments.Logs.Behind(ctx, m.have, m.Manifest)
	v.Warn("look for the log after the backup", err)
	if err := v.Answer(o.json, view.Document(m.kept(), m.Result, behind), view.Made(m.kept(), m.Result, shell.Screen(v.Out))); err != nil {
		return err
	}
	if b, is := behind[m.ID]; is && !b.Archived {
		fmt.Fprintf(v.Err, "warning: %s\n", view.Behind(b))
	}
	var bad []error
	if err := errors.Join(noted, v.remember(ctx, d, o, m)); err != nil {
		bad = append(bad, fmt.Errorf("the backup is made: %w", err))
	}
	bad = append(bad, m.lacking()...)
	if m.Twin != nil {
		bad = append(bad, m.Twin)
	}
	if bad == nil {
		return nil
	}
	return policy.Done(errors.Join(bad...)) // the backup is made, but not all places have it
}

// lacking says of each place that does not have the backup why, and how to bring it there.
func (m made) lacking() (all []error) {
	for _, l := range m.Lost {
		mend := fmt.Sprintf("plumb backup copy %s --from %s --to %s", m.ID, m.kept()[0], l.URL)
		if what := hint.Of(l.Err); what != "" {
			mend = what + "; then " + mend
		}
		all = append(all, hint.With(fmt.Errorf("%s does not have this backup: %w", l.URL, l.Err), mend))
	}
	return all
}

// note writes down which places have the backup.
func (o asked) note(ctx context.Context, d host.Doer, m made) error {
	memory, err := o.memory(d)
	if err != nil {
		return err
	}
	for i, s := range m.to {
		if slices.Contains(m.kept(), s.URL()) {
			err = errors.Join(err, memory.Made(ctx, o.spot(s, o.urls[i]), m.Manifest, m.keys))
		}
	}
	return err
}

// remember keeps the recovery sheets of the places that have the backup, and prints those that have changed.
func (v *verbs) remember(ctx context.Context, d *host.LiveDoer, o asked, m made) error {
	var news []backup.Sheet
	for i, at := range o.urls {
		if !slices.Contains(m.kept(), m.to[i].URL()) {
			continue
		}
		s := o.sheet(at)
		s.Host, s.Recipients, s.Public = m.by.Host, m.by.Words, m.by.Public
		if backup.KindOf(m.Manifest) == manifest.Btrfs {
			s.Kind = string(manifest.Btrfs)
		}
		is, err := s.Remember(ctx, d, m.by.Dir)
		if err != nil {
			return err
		}
		if is {
			news = append(news, s)
		}
	}
	switch {
	case len(news) == 0:
		return nil
	case o.json:
		_, err := fmt.Fprintln(v.Err, "The recovery sheet has changed: plumb backup sheet prints it.")
		return err
	}
	return v.Print("\n" + view.Sheets(news, shell.Screen(v.Out)))
}
