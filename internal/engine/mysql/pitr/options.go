package pitr

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// optionFile is that of a base, by which mariadb-backup prepares it and a server reads its files.
const optionFile = "backup-my.cnf"

// options reads the option file of a base before a program here does: what mariadb-backup writes there has to do with InnoDB, and
// with the plugins without which an encrypted server cannot be read. Anything else could have the program load what somebody
// put into the base.
func (r *replaying) options() error {
	text, err := r.d.ReadFile(host.AsUser(r.ctx, r.a.UID, r.a.GID), path.Join(r.a.Data, optionFile))
	if err != nil {
		return fmt.Errorf("read the settings of the base: %w", err)
	}
	plugins, err := parseOptions(text)
	if err == nil && plugins != "" {
		if _, bad := host.OnlyOurs(plugins); bad != nil {
			err = fmt.Errorf("it has plugins loaded from %.200q: %w", plugins, bad)
		}
	}
	if err != nil {
		return hint.With(fmt.Errorf("%s of the base: %w", optionFile, err), "look at it, and restore the base by hand: --command 'mbstream -x -C DIR'")
	}
	return nil
}

// parseOptions reads an option file, and gives the directory that plugins are loaded from; "" where none is named.
func parseOptions(text []byte) (plugins string, err error) {
	var loaded []string // the names of plugins, whose own settings stand behind them
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line == "[mysqld]" {
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		key, value = strings.ToLower(strings.ReplaceAll(strings.TrimSpace(key), "-", "_")), strings.Trim(strings.TrimSpace(value), `"'`)
		switch {
		case key == "plugin_dir" && path.IsAbs(value):
			plugins = value
		case key == "plugin_load" && !strings.Contains(value, "/"):
			for one := range strings.SplitSeq(value, ";") {
				name, _, _ := strings.Cut(strings.ToLower(one), "=")
				if !strings.HasSuffix(name, "_key_management") && !strings.HasPrefix(name, "provider_") {
					return "", fmt.Errorf("it loads %.100q, without which data can be read", one)
				}
				loaded = append(loaded, name+"_")
			}
		case strings.HasPrefix(key, "innodb_"):
			if path.IsAbs(value) || strings.Contains(value, "..") || strings.Contains(value, ";/") {
				return "", fmt.Errorf("it says %.200q, which leads out of the base", line)
			}
		case !ofPlugin(key, loaded):
			return "", fmt.Errorf("it says %.200q, which mariadb-backup does not write", line)
		}
	}
	if len(loaded) > 0 && plugins == "" {
		return "", errors.New("it loads plugins, and does not say from where")
	}
	return plugins, nil
}

// ofPlugin tells whether a setting is one of a plugin that is loaded.
func ofPlugin(key string, loaded []string) bool {
	return slices.ContainsFunc(loaded, func(name string) bool { return strings.HasPrefix(key, name) })
}
