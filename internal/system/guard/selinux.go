package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"plumb/internal/change"
	"plumb/internal/host"
)

// Label is what SELinux calls a kind of files: mysqld_db_t.
type Label string

var labelName = regexp.MustCompile(`^[a-z0-9_]{1,64}_t$`)

// SELinux labels directories as a server's data, in the policy's list so that a relabelling keeps it, and at
// once. It gives nothing where SELinux is off. What is mounted in two places has to be given with both names: a relabelling
// goes by either.
func SELinux(ctx context.Context, h host.Reader, label Label, dirs []string) (acts []change.Act, err error) {
	if _, err := h.ReadFile(ctx, "/sys/fs/selinux/enforce"); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("see whether SELinux is on: %w", err)
	}
	policy, err := policyType(ctx, h)
	if err != nil {
		return nil, err
	}
	if !labelName.MatchString(string(label)) {
		return nil, fmt.Errorf("%q is not an SELinux type", label)
	}
	for _, dir := range dirs {
		if err := plainPath(dir); err != nil {
			return nil, err
		}
		says, err := h.Output(ctx, "matchpathcon", "-n", dir)
		if err != nil {
			if err := needs(ctx, h, "matchpathcon", "libselinux-utils, which Debian calls selinux-utils"); err != nil {
				return nil, err
			}
		} else if typeOf(string(says)) == string(label) {
			acts = append(acts, relabelled(label, dir)) // the policy itself has it so: of a second entry semanage says that it is there already
			continue
		}
		act := labelled(policy, label, dir)
		text, err := h.ReadFile(ctx, act.Switch.Inspect.File)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("see which labels were set: %w", err)
		}
		if m := regexp.MustCompile("(?m)" + act.Switch.Inspect.Match).FindSubmatch(text); m == nil || string(m[1]) != string(label) {
			if err := needs(ctx, h, "semanage", "policycoreutils-python-utils"); err != nil {
				return nil, err
			}
			acts = append(acts, act)
		}
	}
	if len(acts) > 0 {
		err = needs(ctx, h, "restorecon", "policycoreutils")
	}
	return acts, err
}

// relabelled is the act for a directory of which the policy says what it is. It is mounted when that is done: a filesystem that
// was just made has no labels.
func relabelled(label Label, dir string) change.Act {
	return change.Act{Switch: &change.Switch{On: "the SELinux label of " + dir, Exact: true, After: string(label),
		Inspect: change.Inspection{Argv: []string{"stat", "-c", "%C", dir}, Match: `^[^:\s]+:[^:\s]+:([a-z0-9_]+)`},
		Do:      []change.Op{{Argv: []string{"restorecon", "-R", "-F", dir}}},
		Undo:    []change.Op{{Argv: []string{"chcon", "-t", "{before}", dir}}}}}
}

// typeOf gives the third part of a label.
func typeOf(label string) string {
	if part := strings.Split(strings.TrimSpace(label), ":"); len(part) > 2 {
		return part[2]
	}
	return ""
}

// labelled is the act for one directory. What is below it is labelled once the list has it. It is not labelled anew once the list
// has it no more: what the server wrote there goes back to where it was, with its labels, and with others the server could not
// open it.
func labelled(policy string, label Label, dir string) change.Act {
	pattern := strings.ReplaceAll(dir, ".", `\.`) + "(/.*)?"
	return change.Act{Switch: &change.Switch{On: "the SELinux label of " + dir, Exact: true, After: string(label),
		Inspect:  change.Inspection{File: "/etc/selinux/" + policy + "/contexts/files/file_contexts.local", Match: "^" + regexp.QuoteMeta(pattern) + `[ \t]+[a-z_]+:[a-z_]+:([a-z0-9_]+).*$`},
		Do:       change.Commands([]string{"semanage", "fcontext", "-a", "-t", string(label), pattern}, []string{"restorecon", "-R", "-F", dir}),
		UndoNone: change.Commands([]string{"semanage", "fcontext", "-d", pattern}),
		Undo:     change.Commands([]string{"semanage", "fcontext", "-m", "-t", "{before}", pattern})}}
}

var policyLine = regexp.MustCompile(`(?m)^SELINUXTYPE=([a-z]+)[ \t]*$`)

// policyType reads which policy is in force: targeted, on most systems.
func policyType(ctx context.Context, h host.Reader) (string, error) {
	text, err := h.ReadFile(ctx, "/etc/selinux/config")
	if err != nil {
		return "", fmt.Errorf("see which policy of SELinux is in force: %w", err)
	}
	m := policyLine.FindSubmatch(text)
	if m == nil {
		return "", errors.New("/etc/selinux/config names no policy")
	}
	return string(m[1]), nil
}
