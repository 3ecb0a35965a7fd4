// Package fix applies advice so that it can be taken back: it chooses the steps,
// has package change prepare and do them, arms what undoes them unless they are
// confirmed, and reads the host again. Taking back is its other half. cli wires
// the adapters in; view/fix shows what came of it.
package fix
