package playbook

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
)

// Provisioning is the plan of a provision, written for a host without plumb.
type Provisioning struct {
	Plan provision.Plan
	Host string
	// Files are those that the plan edits, as they are now; nil of one that is not there.
	// Of their texts only digests and what is put in go into what is written.
	Files map[string][]byte
	// Later is what of the spec is planned only once this is done, in words; "": nothing.
	Later string
}

// EditedFiles lists the files that a plan edits.
func EditedFiles(p provision.Plan) (names []string) {
	for _, s := range p.Stages {
		for a := range actsOf(s) {
			if a.Edit != nil && !slices.Contains(names, a.Edit.File) {
				names = append(names, a.Edit.File)
			}
		}
	}
	return names
}

// actsOf gives the acts of a stage, in their order.
func actsOf(s provision.Stage) iter.Seq[change.Act] {
	return func(yield func(change.Act) bool) {
		for _, step := range s.Steps {
			for _, a := range step.Recipe.Acts {
				if !yield(a) {
					return
				}
			}
		}
	}
}

// actText is one act in words of a shell.
type actText struct {
	title    string
	text     string // that calls the functions of the library
	restarts bool   // what the acts before it wait for
}

// stageText is a stage whose acts are written.
type stageText struct {
	provision.Stage
	acts []actText
	owed string // the file that says that a restart is owed; "" when none waits for one
}

// provisioning gathers what is written of a plan.
type provisioning struct {
	Provisioning
	edits  map[string][]splice // by file, in their order
	next   map[string]int      // the next of these
	stages []stageText
	made   []string // directories that acts make
	left   []string // what only plumb does, in words; with the first of it the rest is left too
}

// splice is one edit of a file, known by the digests of the texts before and after.
type splice struct {
	edit.Splice
	before, after string
}

// write writes all acts. Acts of a kind that only plumb does end it there.
func (p Provisioning) write() (*provisioning, error) {
	w := &provisioning{Provisioning: p, edits: map[string][]splice{}, next: map[string]int{}}
	if err := w.fold(); err != nil {
		return nil, err
	}
	for _, s := range p.Plan.Stages {
		if s.Done {
			continue
		}
		if len(w.left) > 0 {
			w.left = append(w.left, s.Name)
			continue
		}
		if why := onlyPlumb(s); why != "" {
			w.left = append(w.left, s.Name+": "+why)
			continue
		}
		if err := w.stage(s); err != nil {
			return nil, err
		}
	}
	if w.Later != "" {
		w.left = append(w.left, w.Later)
	}
	return w, nil
}

// onlyPlumb says what in a stage a script does not do. Data are moved with two passes, proofs and a way back from any moment. A disk is
// erased once: a script that is run again could not tell what was made on it since, while its pool is not imported.
func onlyPlumb(s provision.Stage) string {
	for a := range actsOf(s) {
		if kind := a.Kind(); kind != "edit" && kind != "switch" && kind != "make" {
			return fmt.Sprintf("it has a %s, which only plumb can continue after a crash, and undo", kind)
		}
		if a.Make != nil && slices.ContainsFunc(a.Make.Do, func(op change.Op) bool { _, erases := disk.Proves(op); return erases }) {
			return "it erases a disk, and only plumb knows what was made there since"
		}
	}
	return ""
}

// fold makes the edits of each file in memory, in their order.
func (w *provisioning) fold() error {
	texts := map[string][]byte{}
	maps.Copy(texts, w.Files)
	for _, s := range w.Plan.Stages {
		for a := range actsOf(s) {
			if a.Edit == nil {
				continue
			}
			before := texts[a.Edit.File]
			after, diff, err := a.Edit.Result(before)
			if err != nil {
				return fmt.Errorf("write the edit of %s: %w", a.Edit.File, err)
			}
			s := splice{diff, diff.Before, diff.After}
			if before == nil {
				s.before = "none"
			}
			w.edits[a.Edit.File] = append(w.edits[a.Edit.File], s)
			texts[a.Edit.File] = after
		}
	}
	return nil
}

func (w *provisioning) stage(s provision.Stage) error {
	out := stageText{Stage: s}
	for _, step := range s.Steps {
		for _, a := range step.Recipe.Acts {
			text, err := w.act(a)
			if err != nil {
				return fmt.Errorf("write %s: %w", a.Place(), err)
			}
			out.acts = append(out.acts, actText{title: oneLineOf(a.Kind() + " " + a.Place()), text: text})
		}
		if s.Restart && step.Recipe.Restart != nil {
			once, err := restart(step.Recipe)
			if err != nil {
				return err
			}
			out.owed = "/run/plumb-restart-" + word26(w.Host+"\n"+s.Name)
			out.acts = slices.DeleteFunc(out.acts, func(x actText) bool { return x == once }) // once, after the last that needs it
			out.acts = append(out.acts, once)
		}
	}
	w.stages = append(w.stages, out)
	return nil
}

// restart writes the restart that a recipe waits for, as a call of the library.
func restart(r change.Recipe) (actText, error) {
	var ops strings.Builder
	for _, op := range r.Shorten {
		text, err := operation(op)
		if err != nil {
			return actText{}, err
		}
		ops.WriteString("{ " + text + "; } || :\n") // nothing depends on it
	}
	again, err := operations(r.Restart)
	if err != nil {
		return actText{}, err
	}
	ops.WriteString(again)
	return actText{oneLineOf(r.Waits), call("restart", oneLineOf(r.Waits), ops.String()), true}, nil
}

// act writes one act as a call of the library.
func (w *provisioning) act(a change.Act) (string, error) {
	switch {
	case a.Edit != nil:
		return w.edit(a.Edit)
	case a.Switch != nil:
		return w.switchText(a.Switch)
	case a.Make.Directory != nil:
		w.made = append(w.made, a.Make.Path)
	}
	return makeText(a.Make, w.mark(a))
}
