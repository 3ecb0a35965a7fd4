package zfs

import "strings"

// Missing tells whether a command failed because what it was about does not exist. That it ended with status 1 says nothing.
func Missing(err error) bool { return err != nil && strings.Contains(err.Error(), "does not exist") }
