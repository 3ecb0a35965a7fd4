package processes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"plumb/internal/host"
)

// Descriptors gives the links in /proc of what a process has open, however much that is.
func Descriptors(ctx context.Context, r host.Reader, pid string) (links []string, err error) {
	return linksOf(ctx, r, "/proc/"+pid, "fd/*")
}

// Entries lists what all processes have of a name below /proc/PID: fd/* is what they have open. It asks one after the other, as a host
// can have more open than is listed at once. Those that have ended meanwhile, or may not be looked at, have nothing.
func Entries(ctx context.Context, h host.Reader, name string) (all []string, err error) {
	processes, err := h.Glob(ctx, "/proc/[0-9]*")
	if err != nil {
		return nil, err
	}
	for _, p := range processes {
		of, err := linksOf(ctx, h, p, name)
		if err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		all = append(all, of...)
	}
	return all, nil
}

// linksOf gives what is in the directory of a process under a name. More open files than one Glob gives are counted through, up to
// where the kernel says that the process's table ends. Links that lead nowhere are among them then.
func linksOf(ctx context.Context, r host.Reader, dir, name string) (links []string, err error) {
	links, err = r.Glob(ctx, dir+"/"+name)
	if !errors.Is(err, host.ErrTooLarge) {
		return links, err
	}
	text, unread := r.ReadFile(ctx, dir+"/status")
	if unread != nil {
		return nil, fmt.Errorf("%w, and how much there is cannot be seen: %v", err, unread)
	}
	links = nil
	for i := range tableSize(text) {
		links = append(links, dir+"/fd/"+strconv.Itoa(i))
	}
	if len(links) == 0 {
		return nil, fmt.Errorf("%s/status does not say how many files it has room for", dir)
	}
	return links, nil
}

// tableSize reads for how many files a process has room, from /proc/PID/status.
func tableSize(status []byte) int {
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "FDSize:"); ok {
			size, _ := strconv.Atoi(strings.TrimSpace(text)) // 0 where it is no number
			return size
		}
	}
	return 0
}
