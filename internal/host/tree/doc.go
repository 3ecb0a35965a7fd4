// Package tree reads and writes what lies below a directory, with root's rights in the midst of
// others' files. Every name is walked from a directory that is held open, part by part, and no link is ever
// followed: what a user renames or links there meanwhile leads nowhere else. Of
// what is no plain file, directory or link nothing is opened.
package tree
