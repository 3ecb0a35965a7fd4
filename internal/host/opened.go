package host

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Descriptors gives the links in /proc of what a process has open, however much that is: more than one Glob gives is counted through,
// up to where the kernel says that the process's table ends. Links that lead nowhere are among them then.
func Descriptors(ctx context.Context, r Reader, pid string) (links []string, err error) {
	dir := "/proc/" + pid
	links, err = r.Glob(ctx, dir+"/fd/*")
	if !errors.Is(err, ErrTooLarge) {
		return links, err
	}
	text, err := r.ReadFile(ctx, dir+"/status")
	if err != nil {
		return nil, err
	}
	links = nil
	for i := range tableSize(text) {
		links = append(links, dir+"/fd/"+strconv.Itoa(i))
	}
	if len(links) == 0 {
		err = fmt.Errorf("%s/status does not say how many files it has room for", dir)
	}
	return links, err
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
