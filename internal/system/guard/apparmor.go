package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
)

// AppArmor lets a program go where its data are, in the local part of its profile. It gives nothing
// where AppArmor is off, or has no profile for the program.
func AppArmor(ctx context.Context, h host.Reader, program string, dirs []string) ([]change.Act, error) {
	on, err := h.ReadFile(ctx, "/sys/module/apparmor/parameters/enabled")
	if errors.Is(err, fs.ErrNotExist) || err == nil && strings.TrimSpace(string(on)) != "Y" {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("see whether AppArmor is on: %w", err)
	}
	var acts []change.Act
	// As distributions name profiles, and as Debian names that of MariaDB from 11.8.6 on.
	for _, name := range []string{strings.ReplaceAll(strings.TrimPrefix(program, "/"), "/", "."), path.Base(program)} {
		more, err := letIn(ctx, h, name, program, dirs)
		if err != nil {
			return nil, err
		}
		acts = append(acts, more...)
	}
	acts, err = toDo(ctx, h, acts)
	if err == nil && len(acts) > 0 {
		err = needs(ctx, h, "apparmor_parser", "apparmor")
	}
	return acts, err
}

// letIn gives the acts for one profile; none where it is not there.
func letIn(ctx context.Context, h host.Reader, name, program string, dirs []string) (acts []change.Act, err error) {
	profile := "/etc/apparmor.d/" + name
	text, err := h.ReadFile(ctx, profile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the profile of %s: %w", program, err)
	}
	if !confines(text) {
		return nil, nil // Debian's older one of MariaDB is a comment
	}
	local := "local/" + name
	if !includes(text, local) {
		return nil, &change.Refusal{Why: fmt.Sprintf("%s confines %s and includes no %s", profile, program, local), What: "let the profile say: include if exists <" + local + ">"}
	}
	parse := &change.Op{Argv: []string{"apparmor_parser", "-r", profile}}
	for _, dir := range dirs {
		if err := plainPath(dir); err != nil {
			return nil, err
		}
		for _, rule := range [][2]string{{dir + "/", "r,"}, {dir + "/**", "rwk,"}} {
			acts = append(acts, change.Act{Edit: &change.Edit{File: path.Join("/etc/apparmor.d", local), Form: edit.Rules, Key: rule[0], Value: rule[1], Ours: true,
				Note: "Where the server's data are.", Apply: parse}})
		}
	}
	return acts, nil
}

// confines tells whether a profile says anything.
func confines(text []byte) bool {
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// includes tells whether a profile includes a file below its directory.
func includes(text []byte, file string) bool {
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "#"))
		if len(words) > 0 && words[0] == "include" && strings.Trim(words[len(words)-1], `<>"`) == file {
			return true
		}
	}
	return false
}
