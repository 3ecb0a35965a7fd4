package zfs

import (
	"regexp"
	"strconv"
	"strings"
)

var number = regexp.MustCompile(`^v?(\d{1,5}\.\d{1,5}(?:\.\d{1,5})?)(?:[^\d.]|$)`)

// VersionNumber takes the number out of a release: "2.1.11-1+deb12u1" is
// 2.1.11. It gives "" for what is none.
func VersionNumber(release string) string {
	m := number.FindStringSubmatch(strings.TrimSpace(release))
	if m == nil {
		return ""
	}
	return m[1]
}

// ParseVersion reads the commands' version from `zfs version`, whose first
// line is "zfs-2.3.4-1" and whose second names the module.
func ParseVersion(text []byte) string {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "zfs-kmod-") {
			continue
		}
		if release, ok := strings.CutPrefix(line, "zfs-"); ok {
			return VersionNumber(release)
		}
	}
	return ""
}

// AtLeast compares a version number with major.minor.
func AtLeast(v string, major, minor int) bool {
	parts := strings.Split(v, ".")
	if len(parts) < 2 {
		return false
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	return errA == nil && errB == nil && (a > major || a == major && b >= minor)
}
