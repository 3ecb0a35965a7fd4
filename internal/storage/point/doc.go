// Package point makes points in time on the storages that Plumb knows: each implements
// [plumb/internal/protect.Storage].
package point
