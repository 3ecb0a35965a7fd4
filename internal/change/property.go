package change

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/host"
	"plumb/internal/zfs"
)

// Property is a property of a dataset that an act of the same change made. The dataset is found by its GUID, which the
// journal has, whatever it is called by then. It is not found by a property of ours: whoever may set properties of other
// datasets could copy that, and one with a line break could look like the line of another dataset.
type Property struct {
	Made string   `json:"made"`     // the name under which it was made
	List []string `json:"list"`     // a command that prints names and GUIDs of all that it can be, and no text of users
	Name string   `json:"property"` // "name" for what it is called
	id   string   // by which it is known; "" before it was made
}

// of gives the inspection of the dataset with this identity.
func (l Inspection) of(id string) Inspection {
	if l.Of != nil {
		of := *l.Of
		of.id, l.Of = id, &of
	}
	return l
}

// identified gives the act with the identity of the dataset that it inspects, if that has been made.
func (c *Change) identified(a Act) Act {
	if a.Switch == nil || a.Switch.Inspect.Of == nil {
		return a
	}
	s := *a.Switch
	for _, made := range c.Acts {
		if m := made.Act.Make; m != nil && m.Dataset == s.Inspect.Of.Made && made.Identity != "" {
			s.Inspect = s.Inspect.of(made.Identity)
		}
	}
	a.Switch = &s
	return a
}

// read reads the property; None of a dataset that is not there.
func (p Property) read(ctx context.Context, h host.Reader) (string, error) {
	guid, ok := strings.CutPrefix(p.id, aGUID)
	if !ok {
		return None, nil
	}
	out, err := h.Output(ctx, p.List...)
	if err != nil {
		return "", err
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		name, its, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if its == guid && !strings.Contains(name, "@") {
			found = append(found, name)
		}
	}
	switch {
	case len(found) == 0:
		return None, nil
	case len(found) > 1:
		return "", fmt.Errorf("%s have one GUID", strings.Join(found, " and "))
	case p.Name == "name":
		return found[0], nil
	}
	out, err = h.Output(ctx, zfs.Value(p.Name, found[0])...)
	return strings.TrimSpace(string(out)), err
}

// known says why it cannot be read.
func (p Property) known() error {
	if p.Made == "" || p.Name == "" || len(p.List) == 0 {
		return errors.New("a property that does not say of what it is")
	}
	return nil
}
