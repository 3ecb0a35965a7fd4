package pitr

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/backup/moment"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/stack"
)

// baseSettings are those of the base's own option file without which InnoDB reads its files wrongly, or not at all.
func baseSettings() []string {
	return []string{"innodb_checksum_algorithm", "innodb_data_file_path", "innodb_page_size", "innodb_undo_tablespaces"}
}

// Copied implements moment.Engine.
func (Engine) Copied(ctx context.Context, d host.Launcher, w moment.Way, a moment.At) (protect.Point, error) {
	in, ok := w.Inner.(inner)
	if !ok {
		return protect.Point{}, errors.New("it was planned by another")
	}
	text, err := d.ReadFile(host.AsUser(ctx, a.UID, a.GID), path.Join(a.Data, optionFile))
	if err != nil {
		return protect.Point{}, fmt.Errorf("read the settings of the base: %w", err)
	}
	sv := in.base.server
	sv.Ref, sv.UID, sv.GID, sv.Settings = stack.Ref{Kind: product.MySQL, Name: "restored"}, a.UID, a.GID, map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if slices.Contains(baseSettings(), name) {
			sv.Settings[name] = value
		}
	}
	return protect.Point{Server: sv}, nil
}
