package change

import (
	"context"
	"fmt"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Setter knows how the knobs of some kinds of things are set.
type Setter interface {
	// Kinds lists the kinds of things whose knobs it sets: "dataset".
	Kinds() []string
	// Recipe says what sets a knob, now and lastingly. It only reads. An error
	// that is a *Refusal says why it cannot be done here, and what helps.
	Recipe(ctx context.Context, h host.Reader, s *stack.Stack, w Want) (Recipe, error)
}

// Want is one knob and the value it shall have.
type Want struct {
	Knob stack.Knob
	To   stack.Value
	Fact *catalog.Fact // what is known of the knob
	// Image is set when h shows an unpacked image (--root): nothing runs, the
	// stack is empty, and only edits are wanted. Files are named as the image
	// will see them.
	Image bool
	// Passing is set for a value that is taken back soon: what makes it last is not
	// wanted, and neither are reasons why it could not.
	Passing bool
}

// Recipe is what sets one knob.
type Recipe struct {
	// Acts in their order: what runs first, because the server or kernel then
	// refuses a value that it cannot take before a file holds it; then what lasts.
	Acts []Act
	// Effect is when the value is in force: Now, or what it waits for.
	Effect catalog.Effect
	// Waits says what the value waits for, "" when it is in force at once:
	// "a restart of mariadb.service", "a remount of /data".
	Waits string
	// Restart does what it waits for; nil when Plumb does not know how here.
	// It is done only with --restart.
	Restart []Op
	// Shorten is done before it, so that what restarts stands still for less long: a checkpoint. Nothing depends on
	// it, so that it may fail, and an undo leaves it out.
	Shorten []Op
	// Lasts says what makes it last: "/etc/sysctl.d/99-zz-plumb.conf",
	// "the pool", "mysqld-auto.cnf".
	Lasts string
	// Notes are what a person should know before saying yes: "existing blocks
	// keep their size".
	Notes []string
	// Needs lists rights that are missing, in words: "root, to write
	// /proc/sys/vm/swappiness", "SYSTEM_VARIABLES_ADMIN for plumb@localhost".
	// A plan with any is refused whole. Files and /proc need not be listed: this
	// package finds those by itself.
	Needs []string
}

// Refusal is an error for a person: why a knob cannot be set, and what helps.
type Refusal struct {
	Why  string // "innodb_page_size is fixed when the server is initialised"
	What string // hint; may be ""

	of error // what it says in words; may be nil
}

// Refuse makes a refusal: what helps, and why it is one.
func Refuse(what, why string, args ...any) error {
	return &Refusal{Why: fmt.Sprintf(why, args...), What: what}
}

// Error implements error.
func (r *Refusal) Error() string { return r.Why }

// Unwrap is for errors.Is.
func (r *Refusal) Unwrap() error { return r.of }

// Hint says what a person can do.
func (r *Refusal) Hint() string { return r.What }
