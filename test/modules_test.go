package test

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// TestNestedModulesVet vets what ./... does not reach: the modules of their
// own, which import ours or stand beside it.
func TestNestedModulesVet(t *testing.T) {
	files, err := filepath.Glob("../*/go.mod")
	if err != nil || len(files) < 2 {
		t.Fatalf("found only the modules %q, %v", files, err)
	}
	for _, file := range files {
		cmd := exec.Command("go", "vet", "./...")
		cmd.Dir = filepath.Dir(file)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: go vet: %v\n%s", cmd.Dir, err, out)
		}
	}
}
