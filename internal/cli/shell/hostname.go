package shell

import "os"

// Hostname is what this machine calls itself, in what is written down for others to read.
func Hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return "unknown"
	}
	return name
}
