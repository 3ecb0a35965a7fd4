package provision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/provision/propose"
	"plumb/internal/provision/spec"
	"plumb/internal/view/kubernetes"
	"plumb/internal/view/playbook"
)

// emitForms lists the forms in which a plan can be written for hosts without plumb.
func emitForms() []string { return []string{"shell", "ansible", "k8s"} }

// emit prints the plan for hosts without plumb. It does nothing.
func (v *verbs) emit(ctx context.Context, flow propose.Flow, form string, sp spec.Spec) error {
	if !slices.Contains(emitForms(), form) {
		return hint.Usage(fmt.Sprintf("--emit %s is not known", form), "use "+strings.Join(emitForms(), ", "))
	}
	flow.Anywhere = form == "k8s"
	d, k, err := flow.Open()
	if err != nil {
		return err
	}
	defer d.Close()
	p, err := flow.Propose(ctx, d, k.Dir, sp)
	if err != nil {
		return err
	}
	var text string
	if form == "k8s" {
		if p.Layout.Volumes == nil {
			return hint.With(errors.New("the volumes are planned once the packages are installed"), "plumb provision installs them; --dry-run shows what comes next")
		}
		text, err = kubernetes.Manifests(kubernetes.Layout{Spec: sp, Volumes: p.Layout.Volumes, At: propose.MountedAt(sp)})
	} else {
		w := playbook.Provisioning{Plan: p.Plan, Files: map[string][]byte{}}
		if p.Home.Server.IsZero() {
			w.Later = "what comes after the packages: write it anew where the server runs"
		}
		for _, h := range p.Stack.OfKind("host") {
			w.Host = h.Ref.Name
		}
		for _, name := range playbook.EditedFiles(p.Plan) {
			raw, err := d.Raw(ctx, name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if err == nil {
				w.Files[name] = append([]byte{}, raw...)
			}
		}
		text, err = map[string]func() (string, error){"shell": w.Shell, "ansible": w.Ansible}[form]()
	}
	if err != nil {
		return err
	}
	return v.Print(text)
}
