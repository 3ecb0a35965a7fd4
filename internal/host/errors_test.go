package host

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestErrorsKeepTheirKind(t *testing.T) {
	for _, k := range errorKinds() {
		err := Answered(fmt.Errorf("read x: %w", k.kind))
		if KindOf(err) != k.name || !errors.Is(ErrorOf(k.name, "y"), k.kind) {
			t.Errorf("%s: %s", k.name, KindOf(err))
		}
	}
	if err := Answered(&fs.PathError{Op: "open", Path: "x", Err: fs.ErrPermission}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%v", err)
	}
}
